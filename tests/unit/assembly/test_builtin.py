"""The door for plugins: names are taken once, a broken one leaves nothing behind, the rest come in."""

from collections.abc import Callable
from importlib import metadata
from typing import Any

import pytest

from ostiary.assembly.builtin import ENTRY_POINTS, Host, register_strangers
from ostiary.contracts.errors import BadInput
from ostiary.contracts.policy import Action, Decision, Deny
from ostiary.core.routing.commands import Command, CommandCall, CommandReply
from ostiary.kit.channels import MemoryChannel
from tests.unit.core.engines import Tool

Register = Callable[[Host], None]


class Entry:
    """An installed plugin, as the standard library lists it."""

    def __init__(self, name: str, register: Register) -> None:
        self.name = name
        self._register = register

    def load(self) -> Register:
        return self._register


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def install(**plugins: Register) -> None:
        entries = [Entry(name, register) for name, register in plugins.items()]
        monkeypatch.setattr(metadata, "entry_points", lambda *, group: entries if group == ENTRY_POINTS else [])

    return install


class No:
    async def decide(self, action: Action) -> Decision:
        return Deny(layer="no", reason="no")


async def run(call: CommandCall) -> CommandReply:
    return CommandReply(text="ok")


def whole(host: Host) -> None:
    host.add_tool(Tool("weather"))
    host.add_policy("weather-hours", No())


def half(host: Host) -> None:
    host.add_tool(Tool("danger"))
    host.add_channel(MemoryChannel("danger"))
    host.add_command(Command(name="danger", summary="", run=run))
    raise RuntimeError("before its policy was added")


def strangers(host: Host, **more: Any) -> list[str]:
    return register_strangers(host, **{"allow": (), "deny": (), "own": {}, **more})


def test_a_plugin_comes_in_by_its_entry_point(installed: Callable[..., None]) -> None:
    installed(weather=whole)
    host = Host()
    assert strangers(host) == ["weather"]
    assert (list(host.tools), [name for name, _ in host.policies]) == (["weather"], ["weather-hours"])
    assert host.plugin_tools == frozenset({"weather"})


def test_a_plugin_that_breaks_half_way_leaves_nothing_behind(installed: Callable[..., None]) -> None:
    installed(broken=half, weather=whole)
    host = Host()
    assert strangers(host) == ["weather"]
    assert (list(host.tools), list(host.channels), host.commands.find("danger")) == (["weather"], [], None)
    assert host.plugin_tools == frozenset({"weather"})


@pytest.mark.parametrize(
    "switches", [{"deny": ("weather",)}, {"allow": ("other",)}, {"own": {"weather": False}}], ids=["denied", "not allowed", "off"]
)
def test_a_plugin_that_is_switched_off_is_not_even_loaded(installed: Callable[..., None], switches: dict[str, Any]) -> None:
    installed(weather=half)
    host = Host()
    assert strangers(host, **switches) == []
    assert host.tools == {}


def test_a_plugin_cannot_take_the_name_of_something_that_is_there(installed: Callable[..., None]) -> None:
    installed(weather=whole)
    host = Host()
    ours = Tool("weather")
    host.add_tool(ours)
    assert strangers(host) == []
    assert (host.tools, host.plugin_tools) == ({"weather": ours}, frozenset())


def test_two_origins_that_want_one_name_are_both_named() -> None:
    host = Host()
    host.add_tool(Tool("read"))
    host.origin = "plugin reader"
    with pytest.raises(BadInput, match=r"plugin reader.*built in"):
        host.add_tool(Tool("read"))
