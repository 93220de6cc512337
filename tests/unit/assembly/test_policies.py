"""Every key about tools has its effect in the judge that is made of the configuration."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ostiary.assembly.config.load import understand
from ostiary.assembly.policies import judge_of, tool_rules
from ostiary.assembly.postures import POSTURES
from ostiary.contracts.errors import ConfigInvalid, OstiaryError
from ostiary.contracts.identity import Principal
from ostiary.contracts.messages import Address, UserId
from ostiary.contracts.tool import Effect, ToolSpec
from ostiary.core.policy.judge import Judge
from ostiary.core.policy.rules import Runtime
from tests.unit.core.policy.acting import (
    BOTH,
    BROWSER,
    EXECUTE,
    HOME,
    LOOK,
    OWNER_HERE,
    PROCESS,
    SEND,
    STRANGER,
    WRITE,
    act,
    layer_of,
    tool,
)

EXEC = tool("exec", EXECUTE)
WRITER = tool("write", WRITE, undoable=True)
MESSAGE = tool("message", SEND)
FETCH = tool("web_fetch", LOOK)
BUILT_IN = (
    *(tool(name) for name in ("read", "ls", "find", "grep", "session_status", "sessions_list", "sessions_history", "image")),
    *(tool(name, WRITE, undoable=True) for name in ("write", "edit", "apply_patch")),
    *(tool(name, LOOK) for name in ("web_fetch", "web_search")),
    EXEC,
    PROCESS,
    BROWSER,
    MESSAGE,
)


def judge(config: dict[str, Any], *, posture: str = "team", runtime: Runtime | None = None, **more: Any) -> Judge:
    """`team` by default: it has no switches, so that one layer at a time can be seen."""
    text = json.dumps({"posture": posture, **config})
    loaded = understand(text, {}, source=Path("ostiary.json5"))
    assert not [each for each in loaded.warnings if "no effect" in each]
    return judge_of(loaded.config, runtime=runtime, **more)


def nested(path: str, value: object) -> dict[str, Any]:
    for name in reversed(path.split("/")):
        value = {name: value}
    assert isinstance(value, dict)
    return value


def names(found: Judge, **more: Any) -> set[str]:
    return {spec.name for spec in BUILT_IN if layer_of(found(act(spec, **more)))[0] != "deny"}


AGENT = {"agents": {"list": [{"id": "main"}, {"id": "work"}]}}


@pytest.mark.parametrize(
    ("path", "value", "layer"),
    [
        ("tools/profile", "minimal", "profile"),
        ("tools/byProvider/kit", {"profile": "minimal"}, "provider profile"),
        ("tools/deny", ["group:web"], "tools"),
        ("tools/allow", ["read"], "tools"),
        ("tools/byProvider/kit", {"deny": ["web_fetch"]}, "provider"),
        ("tools/byProvider/kit", {"allow": ["read"]}, "provider"),
        ("agents/list", [{"id": "main", "tools": {"deny": ["web_fetch"]}}], "agent"),
        ("agents/list", [{"id": "main", "tools": {"profile": "minimal"}}], "agent"),
        ("agents/list", [{"id": "main", "tools": {"byProvider": {"kit/m": {"deny": ["web_*"]}}}}], "agent provider"),
        ("channels/telegram/groups/100", {"tools": {"deny": ["web_fetch"]}}, "group"),
        ("channels/telegram/groups/100", {"toolsBySender": {"*": {"allow": []}}}, "sender"),
        ("tools/roles/owner", {"deny": ["web_fetch"]}, "role"),
        ("tools/sandbox/tools", {"deny": ["web_fetch"]}, "sandbox"),
        ("agents/list", [{"id": "main", "tools": {"sandbox": {"tools": {"allow": ["read"]}}}}], "sandbox"),
        ("tools/subagents/tools", {"deny": ["web_fetch"]}, "depth"),
        ("tools/taint", {"mode": "deny"}, "taint"),
        ("tools/taint", {"mode": "off", "byRole": {"owner": "deny"}}, "taint"),
    ],
)
def test_each_key_denies_in_the_name_of_its_layer(path: str, value: object, layer: str) -> None:
    action = act(
        FETCH,
        scope="telegram:group:100",
        provider="kit",
        model="m",
        reply_to=HOME,
        depth=1,
        label=BOTH,
        arguments={"url": "https://x.example/"},
    )
    assert layer_of(judge(nested(path, value))(action)) == ("deny", layer)
    assert layer_of(judge({"tools": {"taint": {"mode": "off"}}})(action)) == ("allow", "profile")


def test_an_agents_own_lists_narrow_that_agent_alone() -> None:
    found = judge({"agents": {"list": [{"id": "main"}, {"id": "work", "tools": {"deny": ["read"]}}]}})
    assert [layer_of(found(act("read", agent=agent)))[0] for agent in ("main", "work")] == ["allow", "deny"]


@pytest.mark.parametrize(
    ("general", "own", "agent", "allowed"),
    [
        ("full", {}, "ann", True),
        ("full", {"profile": "minimal"}, "ann", False),
        ("full", {"profile": "minimal"}, "main", True),
        ("full", {"profile": "minimal", "alsoAllow": ["read"]}, "ann", True),
        ("minimal", {"profile": "full"}, "ann", False),
        ("minimal", {"alsoAllow": ["read"]}, "ann", True),
        ("minimal", {"alsoAllow": ["read"]}, "main", False),
    ],
)
def test_an_agents_profile_takes_away_and_its_also_allow_adds(
    general: str, own: dict[str, Any], agent: str, allowed: bool
) -> None:
    found = judge({"tools": {"profile": general}, "agents": {"list": [{"id": "main"}, {"id": "ann", "tools": own}]}})
    assert (layer_of(found(act("read", agent=agent)))[0] == "allow") is allowed


def test_an_agent_may_be_sandboxed_otherwise_than_the_rest() -> None:
    config = {"agents": {"list": [{"id": "main"}, {"id": "free", "sandbox": {"mode": "off"}}]}}
    found = judge(config, posture="open")
    seen = [layer_of(found(act(BROWSER, agent=agent, scope="api:x"))) for agent in ("main", "free", "unheard")]
    assert seen == [("deny", "sandbox"), ("allow", "profile"), ("deny", "sandbox")]


def test_an_agents_sandbox_list_beats_that_of_all() -> None:
    own = {"id": "work", "tools": {"sandbox": {"tools": {"deny": []}}}}
    found = judge({"agents": {"list": [{"id": "main"}, own]}, "tools": {"sandbox": {"tools": {"deny": ["read"]}}}})
    assert [layer_of(found(act("read", agent=agent)))[0] for agent in ("main", "work")] == ["deny", "allow"]


def test_a_read_only_workspace_is_not_written() -> None:
    found = judge({"agents": {"defaults": {"sandbox": {"workspaceAccess": "ro"}}}})
    assert names(found) & {"write", "edit", "apply_patch", "read"} == {"read"}


def test_how_deep_sub_agents_go_is_read() -> None:
    spawn = tool("sessions_spawn")
    deep = judge({"agents": {"defaults": {"subagents": {"maxSpawnDepth": 2}}}})
    flat = judge({})
    assert [layer_of(each(act(spawn, depth=1)))[0] for each in (deep, flat)] == ["allow", "deny"]


def test_a_role_has_what_configuration_gives_it() -> None:
    found = judge({"tools": {"roles": {"external": {"allow": ["web_search", "web_fetch"]}}}})
    assert names(found, principal=STRANGER) == {"web_search", "web_fetch"}
    assert names(judge({}), principal=STRANGER) == set()


def test_confirm_is_read() -> None:
    fetch = act(FETCH, arguments={"url": "https://x.example"})
    asked = [layer_of(judge({"tools": {"confirm": mode}})(fetch))[0] for mode in ("danger", "always")]
    assert asked == ["allow", "ask"]


def test_a_listed_recipient_is_fine_and_another_is_asked_about() -> None:
    found = judge({"tools": {"message": {"recipients": ["telegram:7"]}, "taint": {"mode": "deny"}}})
    decided = [layer_of(found(act(MESSAGE, label=BOTH, reply_to=HOME, arguments={"to": to}))) for to in ("telegram:7", "irc:8")]
    assert decided == [("ask", "confirm"), ("deny", "taint")]


@pytest.mark.parametrize("posture", ["personal", "team", "vault"])
def test_only_the_posture_open_can_leave_out_the_questions(posture: str) -> None:
    with pytest.raises(ConfigInvalid, match=r"tools\.confirm"):
        judge({"tools": {"confirm": "never"}}, posture=posture)


@pytest.mark.parametrize(
    "config",
    [
        nested("tools/deny", ["group:none"]),
        nested("tools/byProvider/kit", {"deny": ["group:none"]}),
        nested("tools/roles/owner", {"deny": ["group:none"]}),
        nested("tools/sandbox/tools", {"deny": ["group:none"]}),
        nested("tools/subagents/tools", {"deny": ["group:none"]}),
        nested("channels/irc/groups/a", {"tools": {"deny": ["group:none"]}}),
        nested("channels/irc/groups/a", {"toolsBySender": {"1": {"deny": ["group:none"]}}}),
        {"agents": {"list": [{"id": "main", "tools": {"deny": ["group:none"]}}]}},
        {"agents": {"list": [{"id": "main", "tools": {"alsoAllow": ["group:none"]}}]}},
        {"agents": {"list": [{"id": "main", "tools": {"byProvider": {"kit": {"deny": ["group:none"]}}}}]}},
        {"agents": {"list": [{"id": "main", "tools": {"sandbox": {"tools": {"deny": ["group:none"]}}}}]}},
    ],
)
def test_a_group_nobody_knows_is_refused_wherever_it_stands(config: dict[str, Any]) -> None:
    with pytest.raises(OstiaryError, match="group:none"):
        judge(config)


def test_a_sender_is_not_known_by_a_name() -> None:
    with pytest.raises(ConfigInvalid, match="toolsBySender"):
        judge(nested("channels/telegram/groups/100", {"toolsBySender": {"@ann": {"deny": ["exec"]}}}))


def test_the_rules_themselves_refuse_to_leave_out_the_questions() -> None:
    config = understand('{posture: "team"}', {}, source=Path("ostiary.json5")).config
    with pytest.raises(ConfigInvalid, match=r"tools\.confirm"):
        tool_rules(replace(config, tools=replace(config.tools, confirm="never")))


def test_a_list_of_plugin_tools_alone_is_warned_about_and_takes_nothing_away() -> None:
    found = judge({"tools": {"allow": ["weather"]}}, plugin_tools=frozenset({"weather"}))
    assert layer_of(found(act("read"))) == ("allow", "profile")
    (warning,) = found.warnings
    assert warning.startswith("tools.allow names tools of plugins alone")


PERSON = Principal(user=UserId(channel="telegram", stable_id="1"), role="owner")
CHAT: dict[str, Any] = {"principal": PERSON, "channel": "telegram", "reply_to": Address(channel="telegram", account="", chat="1")}
ACTING = {"exec", "process", "browser", "message"}


def test_in_personal_a_channel_sees_what_acts_only_when_it_is_switched_on() -> None:
    everything = {spec.name for spec in BUILT_IN}
    assert names(judge({}, posture="personal"), **CHAT) == everything - ACTING
    on = Runtime(is_on=lambda name: name == "exec")
    assert names(judge({}, posture="personal", runtime=on), **CHAT) == everything - ACTING | {"exec"}


def test_in_personal_the_owner_before_the_house_sees_everything_and_is_asked() -> None:
    found = judge({}, posture="personal")
    assert names(found, is_attended=True) == {spec.name for spec in BUILT_IN}
    assert layer_of(found(act(EXEC, is_attended=True))) == ("ask", "confirm")
    strict = judge({}, posture="personal", runtime=Runtime(is_strict=lambda: True))
    assert names(strict, is_attended=True) == {spec.name for spec in BUILT_IN} - ACTING


def test_in_personal_the_embedded_model_has_seven_tools() -> None:
    seen = names(judge({}, posture="personal"), provider="embedded", model="qwen", is_attended=True)
    assert seen == {"read", "ls", "write", "edit", "exec", "web_fetch", "session_status"}


@pytest.mark.parametrize(
    ("posture", "spec", "outcome"),
    [
        ("personal", FETCH, ("ask", "taint")),
        ("team", FETCH, ("ask", "taint")),
        ("open", FETCH, ("allow", "profile")),
        ("personal", EXEC, ("ask", "confirm")),
        ("team", EXEC, ("ask", "confirm")),
        ("open", EXEC, ("allow", "profile")),
        ("vault", EXEC, ("deny", "profile")),
        ("personal", WRITER, ("allow", "profile")),
    ],
)
def test_each_posture_has_its_own_caution(posture: str, spec: ToolSpec, outcome: tuple[str, str]) -> None:
    action = act(spec, label=BOTH, is_attended=True, arguments={"url": "https://x.example"} if spec is FETCH else {})
    assert layer_of(judge({}, posture=posture)(action)) == outcome


@pytest.mark.parametrize("posture", POSTURES)
def test_strangers_have_no_tools_in_any_posture(posture: str) -> None:
    assert names(judge({}, posture=posture), principal=STRANGER, channel="irc") == set()


def test_the_guard_is_one_of_the_layers() -> None:
    from ostiary.contracts.policy import Deny

    found = judge({}, runtime=Runtime(guard=lambda action: Deny(layer="guard", reason="a secret")))
    assert layer_of(found(act("read", OWNER_HERE))) == ("deny", "guard")


def test_spending_is_asked_about_by_both_who_care() -> None:
    pay = tool("pay", frozenset({Effect.SPEND}))
    decision = judge({})(act(pay, label=BOTH))
    assert getattr(decision, "layers", ()) == ("confirm", "taint")
