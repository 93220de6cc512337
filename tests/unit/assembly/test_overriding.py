"""A plugin in the place of a built-in tool: it is given the original, and is judged no more lightly."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from ostiary.assembly.builtin import Host
from ostiary.assembly.overriding import narrowed
from ostiary.contracts import tool as port
from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import OWNER, Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.contracts.tool import Binding, Effect, ToolContext, ToolResult, ToolSpec
from tests.unit.core.engines import Tool

CONTEXT = ToolContext(
    principal=Principal(user=UserId(channel="api", stable_id="me"), role=OWNER),
    session=SessionKey("main", "main"),
    turn="turn_1",
    call_key="turn_1:1:1",
)


class Louder:
    """Wraps the original and says its result twice; claims to do nothing but read."""

    def __init__(self, original: port.Tool, **claims: object) -> None:
        self._original = original
        self.spec = replace(original.spec, **claims)  # type: ignore[arg-type]

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        said = await self._original.call(arguments, context)
        return replace(said, text=f"{said.text} {said.text}")


class Bound(Tool):
    def __init__(self, value: str, name: str = "probe") -> None:
        super().__init__(name)
        self._value = value

    async def bind(self, arguments: Mapping[str, object], context: ToolContext) -> Mapping[str, str]:
        return {"cwd": self._value}


def with_probe(original: port.Tool | None = None) -> Host:
    host = Host()
    host.add_tool(original or Tool("probe"))
    host.origin = "plugin loud"
    return host


def spec_of(**claims: object) -> ToolSpec:
    return replace(Tool("probe").spec, **claims)  # type: ignore[arg-type]


async def test_the_new_tool_has_the_name_and_the_original_to_call() -> None:
    host = with_probe()
    host.override_tool("probe", Louder)
    assert (await host.tools["probe"].call({"n": 1}, CONTEXT)).text == "result 1 result 1"
    assert host.tools["probe"].spec.name == "probe"
    assert host.plugin_tools == frozenset()


def test_it_cannot_declare_less_than_the_original_does() -> None:
    host = with_probe()
    host.override_tool("probe", lambda original: Louder(original, effects=frozenset({Effect.NETWORK})))
    assert host.tools["probe"].spec.effects == {Effect.WRITE, Effect.NETWORK}


@pytest.mark.parametrize(
    ("claims", "field", "kept"),
    [
        ({"undoable": True}, "undoable", False),
        ({"repeatable": True}, "repeatable", False),
        ({"is_client": True}, "is_client", False),
        ({"harmless_when": {"n": frozenset({"1"})}}, "harmless_when", {}),
    ],
)
def test_it_is_not_granted_what_the_original_lacks(claims: dict[str, object], field: str, kept: object) -> None:
    assert getattr(narrowed(spec_of(), spec_of(**claims)), field) == kept


@pytest.mark.parametrize("field", ["untrusted_output", "owner_only"])
def test_a_caution_of_the_original_stays(field: str) -> None:
    assert getattr(narrowed(spec_of(**{field: True}), spec_of(**{field: False})), field) is True


def test_it_is_harmless_only_where_both_are() -> None:
    ours = spec_of(harmless_when={"action": frozenset({"list", "poll"}), "mode": frozenset({"dry"})}, undoable=True)
    theirs = spec_of(harmless_when={"action": frozenset({"poll", "write"})}, undoable=True)
    made = narrowed(ours, theirs)
    assert (made.harmless_when, made.undoable) == ({"action": frozenset({"poll"})}, True)


async def test_an_approval_stays_bound_to_what_the_original_binds_to() -> None:
    host = with_probe(Bound("/here"))
    host.override_tool("probe", Louder)
    bound = host.tools["probe"]
    assert isinstance(bound, Binding)
    assert await bound.bind({}, CONTEXT) == {"cwd": "/here"}


async def test_what_the_new_tool_binds_to_stands_beside_it() -> None:
    host = with_probe(Bound("/here"))
    host.override_tool("probe", lambda original: Bound("/there"))
    bound = host.tools["probe"]
    assert isinstance(bound, Binding)
    assert await bound.bind({}, CONTEXT) == {"cwd": "/here", "cwd (plugin)": "/there"}


def test_a_tool_that_binds_to_nothing_gets_no_binding() -> None:
    host = with_probe()
    host.override_tool("probe", Louder)
    assert not isinstance(host.tools["probe"], Binding)


def test_another_name_is_refused() -> None:
    host = with_probe()
    with pytest.raises(BadInput, match="must keep its name"):
        host.override_tool("probe", lambda original: Tool("other"))
    assert isinstance(host.tools["probe"], Tool)


def test_only_a_built_in_tool_can_be_overridden_and_only_by_one_plugin() -> None:
    host = with_probe()
    with pytest.raises(BadInput, match="does not exist"):
        host.override_tool("nothing", Louder)
    host.add_tool(Tool("theirs"))
    with pytest.raises(BadInput, match="comes from plugin loud"):
        host.override_tool("theirs", Louder)
    host.override_tool("probe", Louder)
    host.origin = "plugin louder"
    with pytest.raises(BadInput, match="plugin louder is already there from plugin loud"):
        host.override_tool("probe", Louder)


def test_what_a_broken_plugin_overrode_is_put_back() -> None:
    host = with_probe()
    restore, original = host.snapshot(), host.tools["probe"]
    host.override_tool("probe", Louder)
    restore()
    assert host.tools["probe"] is original
