"""The door that plugins and built-ins both come in by."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from ostiary.contracts.channel import Channel
from ostiary.contracts.model import ModelClient
from ostiary.contracts.policy import Policy
from ostiary.contracts.records import dataclass
from ostiary.contracts.tool import Tool

Hook = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Facts that can be read without importing the plugin's code."""

    id: str
    name: str
    version: str = ""
    config_schema: Mapping[str, object] | None = None


class PluginHost(Protocol):
    """What `register(host)` may do. Adding a name twice raises BadInput naming both origins."""

    def add_tool(self, tool: Tool) -> None: ...

    def override_tool(self, name: str, make: Callable[[Tool], Tool]) -> None:
        """Put a tool in the place of one that ships with the house: `make` is given the original, to wrap it or not.

        It keeps the name, and the house treats it no more lightly than the original: effects of both are taken together;
        what only the original lacks (undoable, harmless_when, trusted output, repeatable, being open to others than the
        owner) is not granted. Raises BadInput for a name that is no built-in tool or that another plugin has overridden."""
        ...

    def add_channel(self, channel: Channel) -> None: ...

    def add_model(self, api: str, make: Callable[..., ModelClient]) -> None:
        """`api` is the wire's name in `models.providers.<name>.api`."""
        ...

    def add_policy(self, name: str, policy: Policy) -> None:
        """A plugin's policy can only narrow."""
        ...

    def add_command(self, command: Any) -> None:
        """A core.routing.commands.Command."""
        ...

    def add_hook(self, event: str, hook: Hook, *, priority: int = 0) -> None: ...
