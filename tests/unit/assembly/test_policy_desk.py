"""Questions about the rules and their answers."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ostiary.assembly.policy_desk import PolicyAtDesk, builtin_specs, desk_of_configuration
from ostiary.contracts.errors import BadInput, ConfigInvalid
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.tool import Effect, ToolSpec
from ostiary.core.policy.rules import LAYERS, Runtime
from ostiary.gateway.protocol.policy import ExplainPolicy, Explanation, ListTools

ANN = "telegram:77"


def desk(tmp_path: Path, config: dict[str, Any] | None = None, *on: str) -> PolicyAtDesk:
    path = tmp_path / "ostiary.json5"
    path.write_text(json.dumps(config or {}))
    path.chmod(0o600)
    return desk_of_configuration(tmp_path, {}, Runtime(is_on=on.__contains__))


async def explained(tmp_path: Path, config: dict[str, Any] | None = None, *on: str, **asked: Any) -> Explanation:
    return await desk(tmp_path, config, *on).explain(ExplainPolicy(**asked))


def deciding(found: Explanation) -> list[str]:
    return [step.layer for step in found.steps if step.decides]


async def test_by_default_the_owner_at_the_page_asks(tmp_path: Path) -> None:
    found = await explained(tmp_path, tool="exec", arguments={"command": "ls"})
    facts = (found.who, found.role, found.channel, found.session, found.visible, found.effects)
    assert facts == ("webchat:owner", "owner", "webchat", "agent:main:main", True, ["execute"])
    assert (found.outcome, found.layer, deciding(found)) == ("ask", "confirm", ["confirm"])
    assert tuple(step.layer for step in found.steps) == LAYERS


async def test_a_person_is_who_configuration_says(tmp_path: Path) -> None:
    config = {"commands": {"ownerAllowFrom": [ANN]}}
    known, unknown = [await explained(tmp_path, each, tool="read", who=ANN) for each in (config, {})]
    assert [(each.role, each.channel, each.outcome) for each in (known, unknown)] == [
        ("owner", "telegram", "allow"),
        ("external", "telegram", "deny"),
    ]
    assert [deciding(each) for each in (known, unknown)] == [["profile"], ["role"]]


async def test_on_a_channel_the_switch_counts(tmp_path: Path) -> None:
    off = await explained(tmp_path, tool="exec", channel="telegram")
    on = await explained(tmp_path, {}, "exec", tool="exec", channel="telegram")
    here = await explained(tmp_path, tool="exec", channel="telegram", attended=True)
    assert [(each.outcome, each.layer, each.visible) for each in (off, on, here)] == [
        ("deny", "switch", False),
        ("ask", "confirm", True),
        ("ask", "confirm", True),
    ]


async def test_every_layer_that_asks_is_marked(tmp_path: Path) -> None:
    found = await explained(tmp_path, tool="exec", arguments={"network": True}, tainted=True, private=True)
    assert deciding(found) == ["confirm", "taint"]


async def test_of_those_that_deny_the_first_is_marked_and_the_others_are_told(tmp_path: Path) -> None:
    found = await explained(tmp_path, {"tools": {"deny": ["exec"]}}, tool="exec", who="external", channel="irc")
    assert deciding(found) == ["tools"]
    assert [step.layer for step in found.steps if step.outcome == "deny"] == ["tools", "role", "switch"]


async def test_taint_needs_both_halves(tmp_path: Path) -> None:
    asked = {"tool": "web_fetch", "arguments": {"url": "https://x.example"}}
    halves = [await explained(tmp_path, **asked, **half) for half in ({"tainted": True}, {"private": True}, {})]
    both = await explained(tmp_path, **asked, tainted=True, private=True)
    assert ([each.outcome for each in halves], both.outcome) == (["allow"] * 3, "ask")


async def test_a_stranger_by_role_is_a_contact(tmp_path: Path) -> None:
    config = {"posture": "team", "tools": {"roles": {"manager": {"profile": "full"}}}}
    asked = {"tool": "web_fetch", "arguments": {"url": "https://x.example"}, "private": True}
    found = [await explained(tmp_path, config, **asked, who=who) for who in ("manager", "owner")]
    assert [each.outcome for each in found] == ["ask", "allow"]


async def test_a_groups_session_brings_the_groups_rules(tmp_path: Path) -> None:
    config = {"channels": {"telegram": {"groups": {"-100": {"tools": {"deny": ["read"]}}}}}}
    sessions = ["telegram:group:-100", "agent:main:telegram:x:group:-100", "telegram:group:-200", ""]
    found = [await explained(tmp_path, config, tool="read", session=each) for each in sessions]
    assert [each.layer for each in found] == ["group", "group", "profile", "profile"]


async def test_the_default_agent_is_asked_unless_a_session_names_another(tmp_path: Path) -> None:
    config = {"agents": {"list": [{"id": "a"}, {"id": "b", "default": True, "tools": {"deny": ["read"]}}]}}
    found = [await explained(tmp_path, config, tool="read", session=each) for each in ("", "main", "agent:a:main")]
    assert [(each.session, each.outcome) for each in found] == [
        ("agent:b:main", "deny"),
        ("agent:b:main", "deny"),
        ("agent:a:main", "allow"),
    ]


async def test_providers_and_depth_are_passed_on(tmp_path: Path) -> None:
    small = await explained(tmp_path, tool="grep", provider="embedded", model="m")
    child = await explained(tmp_path, tool="session_status", depth=1)
    assert [(each.outcome, each.layer) for each in (small, child)] == [("deny", "provider"), ("deny", "depth")]


async def test_a_tool_that_is_not_there_needs_its_effects(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no tool") as refused:
        await explained(tmp_path, tool="exce")
    assert "Did you mean exec?" in refused.value.hint
    found = await explained(tmp_path, tool="mcp__mail__send", effects=["send"], who="owner")
    assert (found.outcome, found.effects) == ("ask", ["send"])


@pytest.mark.parametrize(("who", "session"), [("a b", ""), ("telegram:", ""), ("*:*", ""), ("owner", "agent::x")])
async def test_nobody_and_nowhere_are_refused(tmp_path: Path, who: str, session: str) -> None:
    with pytest.raises(BadInput):
        await explained(tmp_path, tool="read", who=who, session=session)


async def test_the_guard_stands_also_without_a_gateway(tmp_path: Path) -> None:
    found = [await explained(tmp_path, tool="read", arguments={"path": each}) for each in (".ssh/id_rsa", "notes.md")]
    assert [(each.outcome, each.layer) for each in found] == [("deny", "guard"), ("allow", "profile")]


async def test_a_broken_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid):
        desk(tmp_path, {"tools": {"confirm": "never"}})


async def test_tools_are_visible_asked_about_or_hidden(tmp_path: Path) -> None:
    mine = {row.name: row.standing for row in (await desk(tmp_path).tools(ListTools())).tools}
    chat = {row.name: row.standing for row in (await desk(tmp_path).tools(ListTools(channel="telegram"))).tools}
    assert {mine[name] for name in ("read", "write", "ls")} == {"visible"}
    assert (mine["exec"], chat["exec"], chat["write"]) == ("asked", "hidden", "visible")


async def test_a_message_is_listed_by_what_it_can_do_at_worst(tmp_path: Path) -> None:
    schema = ToolSchema(name="message", description="", parameters={"type": "object"})
    spec = ToolSpec(schema=schema, effects=frozenset({Effect.SEND}))
    found = replace(desk(tmp_path), specs=lambda: {"message": spec})
    (row,) = (await found.tools(ListTools())).tools
    assert (row.standing, row.layer) == ("asked", "confirm")


def test_what_the_house_has_is_known_without_building_it() -> None:
    specs = builtin_specs()
    assert {"read", "ls", "find", "grep", "session_status", "write", "edit", "apply_patch"} <= specs.keys()
    assert all(name == spec.name for name, spec in specs.items())
