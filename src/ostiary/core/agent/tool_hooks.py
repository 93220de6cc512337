"""Hooks around a call (before: change what it is given, or block it; after: see how it went).

A hook before a call is a transform: it cannot remove a label or widen a rule, since everything it changes is validated and
judged afterwards. One that fails or is late blocks the call. One after a call only looks; nothing waits for it longer than
a moment, and its failure changes nothing.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence

import anyio

from ostiary.contracts.plugin import Hook
from ostiary.contracts.tool import ToolResult

log = logging.getLogger("ostiary.plugins")

BEFORE = "before_tool_call"
AFTER = "after_tool_call"
SECONDS = 5.0


class Blocked(Exception):
    """A hook does not want this call; the text says why."""


class ToolHooks:
    """`hooks` gives those of an event, the one to run first first."""

    def __init__(self, hooks: Callable[[str], Sequence[Hook]] = lambda event: ()) -> None:
        self._hooks = hooks

    @property
    def may_change(self) -> bool:
        """Whether what a call is given may be something else than the model wrote."""
        return bool(self._hooks(BEFORE))

    async def before(self, name: str, arguments: Mapping[str, object], about: Mapping[str, object]) -> Mapping[str, object]:
        """The arguments as the hooks leave them. Raises Blocked."""
        for hook in self._hooks(BEFORE):
            try:
                with anyio.fail_after(SECONDS):
                    said = await hook({"tool": name, "arguments": _plain(arguments), **about})
            except TimeoutError:
                raise Blocked(f"a hook did not answer within {SECONDS:g} s") from None
            except Exception as error:
                log.exception("a hook before %s failed", name)
                raise Blocked(f"a hook failed ({type(error).__name__})") from None
            if not said:
                continue
            if said.get("block"):
                raise Blocked(str(said["block"])[:500])
            if "arguments" in said:
                arguments = _plain(said["arguments"])
        return arguments

    async def after(
        self, name: str, arguments: Mapping[str, object], result: ToolResult, seconds: float, about: Mapping[str, object]
    ) -> None:
        for hook in self._hooks(AFTER):
            seen = {
                "tool": name,
                "arguments": _plain(arguments),
                "result": result.text,
                "is_error": result.is_error,
                "seconds": seconds,
                **about,
            }
            try:
                with anyio.move_on_after(SECONDS):
                    await hook(seen)
            except Exception:
                log.exception("a hook after %s failed", name)


def _plain(arguments: object) -> dict[str, object]:
    """A copy that nobody else holds: what is judged, shown and approved is what is called. Raises Blocked."""
    try:
        copied = json.loads(json.dumps(arguments, allow_nan=False)) if isinstance(arguments, Mapping) else None
        if isinstance(copied, dict):
            json.dumps(copied, ensure_ascii=False).encode()
            return copied
    except (TypeError, ValueError, RecursionError):
        pass
    raise Blocked("a hook gave arguments that are no plain data")
