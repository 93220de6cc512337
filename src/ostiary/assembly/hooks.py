"""The webhooks' door, built when the first delivery comes to a house that takes any."""

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ostiary.assembly.house import House
    from ostiary.gateway.asgi import App
    from ostiary.gateway.auth import Gate
    from ostiary.gateway.hooks.door import Hooks


class HookDoor:
    """`gate` is the door's own: wrong tokens of hooks count in the one budget of failures."""

    def __init__(self, house: "House", gate: "Gate") -> None:
        self._house = house
        self._gate = gate
        self._made: Hooks | None = None

    def page(self, path: str) -> "App | None":
        """What serves this path, if a hook does. Hooks prove their own callers: ask after `check_place`, before `identify`."""
        hooks = self._house.newest.live.current.config.hooks
        if not hooks.enabled or not path.startswith(f"{hooks.path.rstrip('/')}/"):
            return None
        if self._made is None:
            self._made = self._build()
        return self._made.page(path)

    def _build(self) -> "Hooks":
        from ostiary.assembly.hook_rules import NewestHooks
        from ostiary.gateway.hooks.door import Hooks

        house = self._house
        return Hooks(
            engine=house.engine,
            store=house.store,
            catalogue=house.catalogue,
            gate=self._gate,
            rules=NewestHooks(house),
            now=time.time,
            monotonic=time.monotonic,
        )
