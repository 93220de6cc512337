"""What ships in the house. Built-ins come in by the same door as strangers: `register(host)`."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ostiary.assembly.overriding import renamed, standing_in
from ostiary.contracts.channel import Channel
from ostiary.contracts.errors import BadInput
from ostiary.contracts.model import ModelClient
from ostiary.contracts.plugin import Hook
from ostiary.contracts.policy import Policy
from ostiary.contracts.tool import Tool
from ostiary.core.routing.commands import Command, Commands

log = logging.getLogger("ostiary.plugins")

ENTRY_POINTS = "ostiary.plugins"
BUILT_IN = "built in"


@dataclass(slots=True)
class Host:
    """Implements contracts.plugin.PluginHost. `origin` names who is registering, for the error when two want one name."""

    origin: str = BUILT_IN
    tools: dict[str, Tool] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)
    wires: dict[str, Callable[..., ModelClient]] = field(default_factory=dict)
    policies: list[tuple[str, Policy]] = field(default_factory=list)
    commands: Commands = field(default_factory=Commands)
    hooks: dict[str, list[tuple[int, Hook]]] = field(default_factory=dict)
    _origins: dict[tuple[str, str], str] = field(default_factory=dict)

    def add_tool(self, tool: Tool) -> None:
        self._take("tool", tool.spec.name)
        self.tools[tool.spec.name] = tool

    def override_tool(self, name: str, make: Callable[[Tool], Tool]) -> None:
        origin = self._origins.get(("tool", name))
        if origin != BUILT_IN:
            what = f"comes from {origin}" if origin else "does not exist"
            raise BadInput(
                f"{self.origin} cannot override the tool {name}: it {what}", hint="Only built-in tools can be overridden."
            )
        self._take("override of", name)
        original = self.tools[name]
        self.tools[name] = standing_in(original, make(original))

    def rename_tool(self, name: str, to: str) -> None:
        self._take("tool", to)
        self.tools[to] = renamed(self.tools.pop(name), to)

    def add_channel(self, channel: Channel) -> None:
        self._take("channel", channel.name)
        self.channels[channel.name] = channel

    def add_model(self, api: str, make: Callable[..., ModelClient]) -> None:
        self._take("model wire", api)
        self.wires[api] = make

    def add_policy(self, name: str, policy: Policy) -> None:
        self._take("policy", name)
        self.policies.append((name, policy))

    def add_command(self, command: Command) -> None:
        self.commands.add(command)

    def add_hook(self, event: str, hook: Hook, *, priority: int = 0) -> None:
        self.hooks.setdefault(event, []).append((priority, hook))

    def hooks_of(self, event: str) -> list[Hook]:
        """Those with the higher priority first; of equals, the one that was added first."""
        return [hook for _, hook in sorted(self.hooks.get(event, ()), key=lambda pair: -pair[0])]

    @property
    def plugin_tools(self) -> frozenset[str]:
        """Tools that did not ship with the house, for `group:plugins`."""
        return frozenset(name for (kind, name), origin in self._origins.items() if kind == "tool" and origin != BUILT_IN)

    def snapshot(self) -> Callable[[], None]:
        """What puts everything back as it is now, in place: others hold these mappings already."""
        commands = self.commands
        maps: tuple[dict[Any, Any], ...] = (self.tools, self.channels, self.wires, self._origins, commands._by_word)
        lists: tuple[list[Any], ...] = (self.policies, commands._listed)
        kept = [(each, dict(each)) for each in maps]
        rows = [(each, list(each)) for each in lists]
        hooks = {event: list(each) for event, each in self.hooks.items()}

        def restore() -> None:
            for each, then in (*kept, (self.hooks, hooks)):
                each.clear()
                each.update(then)
            for row, was in rows:
                row[:] = was

        return restore

    def _take(self, kind: str, name: str) -> None:
        taken = self._origins.setdefault((kind, name), self.origin)
        if taken != self.origin:
            raise BadInput(f"the {kind} {name} of {self.origin} is already there from {taken}")


def register_strangers(host: Host, *, allow: tuple[str, ...], deny: tuple[str, ...], own: Mapping[str, Any]) -> list[str]:
    """Third parties by entry point. One that is broken is reported and skipped; gives the ids that came in."""
    from importlib.metadata import entry_points

    registered: list[str] = []
    for entry in entry_points(group=ENTRY_POINTS):
        if entry.name in deny or (allow and entry.name not in allow) or not own.get(entry.name, True):
            continue
        host.origin, restore = f"plugin {entry.name}", host.snapshot()
        try:
            entry.load()(host)
        except Exception:
            # A stranger's fault must not keep the house from opening, and half a plugin may lack the half that guards it.
            log.exception("plugin %s was skipped", entry.name)
            restore()
            continue
        registered.append(entry.name)
    host.origin = BUILT_IN
    return registered
