"""The fifteen layers together: their order, what each is told, and that together they only narrow."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.policy.acting import BOTH, CLEAN, EXECUTE, HOME, LOOK, OWNER_HERE, SEND, STRANGER, act, layer_of, rank, tool

from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import Principal
from ostiary.contracts.messages import UserId
from ostiary.contracts.policy import Allow, Ask, Deny
from ostiary.contracts.tool import Effect
from ostiary.core.policy.circumstances import DepthRules, SandboxRules
from ostiary.core.policy.judge import settle
from ostiary.core.policy.layers import Lists
from ostiary.core.policy.places import GroupRules
from ostiary.core.policy.rules import LAYERS, AgentRules, Rules, Runtime, compile_rules, not_strict, nothing_on
from ostiary.core.policy.taint import TaintRules

FULL = Lists(profile="full")
NOTHING = Lists(allow=())
EXEC = tool("exec", EXECUTE)
IN_GROUP: dict[str, Any] = {"scope": "telegram:group:100", "reply_to": HOME, "provider": "kit", "model": "m", "depth": 1}

# Each changes the rules so that its own layer, and no other, denies `exec` in a tainted group chat.
DENYING: dict[str, dict[str, Any]] = {
    "profile": {"lists": Lists(profile="minimal")},
    "provider profile": {"by_provider": {"kit": Lists(profile="minimal")}},
    "tools": {"lists": Lists(profile="full", deny=("exec",))},
    "provider": {"by_provider": {"kit": NOTHING}},
    "agent": {"agents": {"main": AgentRules(lists=NOTHING)}},
    "agent provider": {"agents": {"main": AgentRules(by_provider={"kit": NOTHING})}},
    "group": {"groups": {"telegram": {"100": GroupRules(tools=NOTHING)}}},
    "sender": {"groups": {"telegram": {"100": GroupRules(senders={"*": NOTHING})}}},
    "role": {"roles": {"owner": NOTHING}},
    "sandbox": {"sandbox": SandboxRules(lists=NOTHING)},
    "depth": {"depth": DepthRules(lists=NOTHING)},
    "switch": {"has_switches": True},
    "taint": {"taint": TaintRules(mode="deny")},
}


def test_the_layers_stand_in_the_stated_order() -> None:
    assert compile_rules(Rules()).layers == LAYERS
    assert len(LAYERS) == 15


@pytest.mark.parametrize("layer", DENYING)
def test_each_layer_can_deny_by_itself(layer: str) -> None:
    action = act(tool("exec", frozenset({Effect.EXECUTE, Effect.SPEND})), label=BOTH, **IN_GROUP)
    rules = Rules(**{"lists": FULL, "taint": TaintRules(mode="off"), "confirm": "never", **DENYING[layer]})
    judge = compile_rules(rules)
    assert layer_of(judge(action)) == ("deny", layer)
    assert [step.layer for step in judge.explain(action) if step.outcome == "deny"] == [layer]


def test_without_any_rule_the_owner_has_the_minimal_profile_and_others_nothing() -> None:
    judge = compile_rules(Rules())
    assert layer_of(judge(act("session_status"))) == ("allow", "profile")
    assert layer_of(judge(act("read"))) == ("deny", "profile")
    assert layer_of(judge(act("session_status", STRANGER))) == ("deny", "role")


def test_what_is_not_said_is_cautious() -> None:
    assert (Rules().confirm, Rules().has_switches, nothing_on("exec"), not_strict()) == ("danger", False, False, False)
    judge = compile_rules(Rules(lists=FULL, has_switches=True, confirm="never"))
    assert [layer_of(judge(act(EXEC, is_attended=here)))[0] for here in (False, True)] == ["deny", "allow"]


def test_a_missing_profile_is_the_smallest() -> None:
    assert layer_of(compile_rules(Rules(lists=Lists()))(act("read"))) == ("deny", "profile")


@pytest.mark.parametrize(
    ("provider", "model", "denied"),
    [
        ("kit", "m", True),
        ("KIT", "M", True),
        ("kit", "kit/m", True),
        ("kit", "other", False),
        ("kit", "", False),
        ("other", "m", False),
        ("", "", False),
    ],
)
def test_rules_for_a_model_hold_for_that_model(provider: str, model: str, denied: bool) -> None:
    judge = compile_rules(Rules(lists=FULL, by_provider={" Kit/M ": Lists(deny=("read",))}))
    assert isinstance(judge(act("read", provider=provider, model=model)), Deny) is denied


def test_a_model_beats_its_provider_in_each_layer_where_it_says_something() -> None:
    by_provider = {"kit": Lists(deny=("read",), profile="minimal"), "kit/m": Lists(allow=("read",))}
    judge = compile_rules(Rules(lists=FULL, by_provider=by_provider))
    assert layer_of(judge(act("read", provider="kit", model="m"))) == ("deny", "provider profile")
    assert layer_of(judge(act("session_status", provider="kit", model="m"))) == ("deny", "provider")
    assert layer_of(judge(act("session_status", provider="kit", model="n"))) == ("allow", "profile")


def test_a_providers_also_allow_adds_to_its_profile_and_grants_nothing() -> None:
    by_provider = {"kit": Lists(profile="minimal", also_allow=("read", "exec"))}
    wide, narrow = (compile_rules(Rules(lists=lists, by_provider=by_provider)) for lists in (FULL, Lists(profile="minimal")))
    assert layer_of(wide(act("read", provider="kit"))) == ("allow", "profile")
    assert layer_of(wide(act("ls", provider="kit"))) == ("deny", "provider profile")
    assert layer_of(narrow(act("read", provider="kit"))) == ("deny", "profile")


def test_an_agents_also_allow_grants_to_that_agent() -> None:
    rules = Rules(agents={"ann": AgentRules(lists=Lists(also_allow=("group:plugins", "bash")))}, plugin_tools=frozenset({"w"}))
    judge = compile_rules(rules)
    assert judge(act("w", agent="ann")) == Allow(layer="profile", reason="given to the agent ann besides its profile")
    assert layer_of(judge(act("apply_patch", agent="ann")))[0] == "allow"
    assert [layer_of(judge(act(name, agent=agent)))[0] for name, agent in (("w", "main"), ("read", "ann"))] == ["deny", "deny"]


def test_an_agents_rules_are_not_anothers() -> None:
    agents = {"ann": AgentRules(lists=NOTHING, by_provider={"kit": NOTHING}), "bob": AgentRules()}
    judge = compile_rules(Rules(lists=FULL, agents=agents))
    found = [layer_of(judge(act("read", agent=agent, provider="kit")))[0] for agent in ("ann", "bob", "main")]
    assert found == ["deny", "allow", "allow"]


def test_an_agents_sandbox_is_its_own_or_that_of_all() -> None:
    rules = Rules(agents={"ann": AgentRules(sandbox=SandboxRules(mode="off")), "bob": AgentRules()})
    assert [rules.sandbox_of(agent).mode for agent in ("ann", "bob", "main")] == ["off", "all", "all"]


def test_commands_count_as_fenced_only_where_the_sandbox_holds() -> None:
    rules = Rules(lists=FULL, confirm="never", agents={"ann": AgentRules(sandbox=SandboxRules(mode="non-main"))})
    judge = compile_rules(rules)
    found = [
        layer_of(judge(act(EXEC, label=BOTH, agent=a, scope=s)))[0] for a, s in (("ann", "main"), ("ann", "x"), ("m", "main"))
    ]
    assert found == ["ask", "allow", "allow"]


def test_what_changes_at_runtime_is_asked_at_runtime() -> None:
    on: set[str] = set()
    strict: list[bool] = []
    judge = compile_rules(
        Rules(lists=FULL, has_switches=True, confirm="never"),
        Runtime(is_on=on.__contains__, is_strict=lambda: bool(strict)),
    )
    seen = [layer_of(judge(act(EXEC)))[0], layer_of(judge(act(EXEC, is_attended=True)))[0]]
    on.add("exec")
    seen.append(layer_of(judge(act(EXEC)))[0])
    on.clear()
    strict.append(True)
    seen.append(layer_of(judge(act(EXEC, is_attended=True)))[0])
    assert seen == ["deny", "allow", "allow", "deny"]


def test_without_switches_nothing_needs_one() -> None:
    judge = compile_rules(Rules(lists=FULL, confirm="never"), Runtime(is_on=lambda name: False, is_strict=lambda: True))
    assert layer_of(judge(act(EXEC))) == ("allow", "profile")


def test_a_switch_that_breaks_denies() -> None:
    def broken(name: str) -> bool:
        raise OSError

    judge = compile_rules(Rules(lists=FULL, has_switches=True), Runtime(is_on=broken))
    assert layer_of(judge(act(EXEC))) == ("deny", "switch")


def test_what_the_conversation_knows_comes_at_runtime() -> None:
    fetch = act(tool("web_fetch", LOOK), label=BOTH, arguments={"url": "https://x.example"})
    send = act(tool("message", SEND), label=BOTH, reply_to=HOME, arguments={"to": "irc:somebody"})
    rules = Rules(lists=FULL, confirm="never")
    blank = compile_rules(rules)
    knows = compile_rules(rules, Runtime(is_known_url=lambda action, url: True, is_named=lambda action, name: True))
    assert [layer_of(judge(action))[0] for judge in (blank, knows) for action in (fetch, send)] == [
        "ask",
        "ask",
        "allow",
        "allow",
    ]


def test_a_guard_stands_between_the_switch_and_the_questions() -> None:
    judge = compile_rules(Rules(lists=FULL), Runtime(guard=lambda action: Deny(layer="guard", reason="a secret")))
    assert layer_of(judge(act("read"))) == ("deny", "guard")
    assert layer_of(judge(act(EXEC))) == ("deny", "guard")


def test_a_guard_that_breaks_denies() -> None:
    def broken(action: object) -> None:
        raise OSError

    assert layer_of(compile_rules(Rules(lists=FULL), Runtime(guard=broken))(act("read"))) == ("deny", "guard")


def test_several_layers_may_ask_and_one_answer_is_for_all() -> None:
    decision = compile_rules(Rules(lists=FULL))(act(tool("mail", SEND), label=BOTH))
    assert isinstance(decision, Ask)
    assert decision.layers == ("confirm", "taint")


def test_a_deny_beats_the_questions_before_it() -> None:
    rules = Rules(lists=FULL, taint=TaintRules(mode="deny"))
    assert layer_of(compile_rules(rules)(act(tool("mail", SEND), label=BOTH))) == ("deny", "taint")


def test_an_owner_only_tool_is_denied_to_others_by_role() -> None:
    rules = Rules(lists=FULL, roles={"external": Lists(profile="full")})
    login = tool("login", owner_only=True)
    found = [layer_of(compile_rules(rules)(act(login, who))) for who in (OWNER_HERE, STRANGER)]
    assert found == [("allow", "profile"), ("deny", "role")]


PLUGIN = Lists(allow=("weather",))
SOMEBODY = Principal(user=UserId(channel="telegram", stable_id="me"), role="owner")


@pytest.mark.parametrize(
    ("rules", "place"),
    [
        ({"lists": Lists(profile="full", allow=("weather",))}, "tools"),
        ({"by_provider": {"kit": PLUGIN}}, "tools.byProvider.kit"),
        ({"roles": {"owner": PLUGIN}}, "tools.roles.owner"),
        ({"agents": {"ann": AgentRules(lists=PLUGIN)}}, "agents.list.ann.tools"),
        ({"agents": {"ann": AgentRules(by_provider={"kit": PLUGIN})}}, "agents.list.ann.tools.byProvider.kit"),
        ({"groups": {"irc": {"a": GroupRules(tools=PLUGIN)}}}, "channels.irc.groups.a.tools"),
    ],
)
def test_a_list_of_plugin_tools_alone_is_warned_about(rules: dict[str, Any], place: str) -> None:
    given = {"lists": FULL, "plugin_tools": frozenset({"weather"}), **rules}
    (warning,) = compile_rules(Rules(**given)).warnings
    assert warning == (
        f"{place}.allow names tools of plugins alone; the tools of the house stay as they are. "
        f"Use {place}.alsoAllow to give a plugin's tool besides them"
    )
    assert compile_rules(Rules(**{**given, "plugin_tools": frozenset()})).warnings == ()


@pytest.mark.parametrize(
    ("layer", "rules", "who"),
    [
        ("role", {"roles": {"external": PLUGIN}}, STRANGER),
        ("sender", {"groups": {"telegram": {"100": GroupRules(senders={"*": NOTHING, "me": PLUGIN})}}}, SOMEBODY),
    ],
)
def test_whoever_is_given_a_plugins_tool_alone_has_nothing_else(layer: str, rules: dict[str, Any], who: Principal) -> None:
    judge = compile_rules(Rules(**{"lists": FULL, "plugin_tools": frozenset({"weather"}), **rules}))
    where = {"scope": "telegram:group:100", "reply_to": HOME}
    assert [layer_of(judge(act(name, who, **where))) for name in ("weather", "read")] == [("allow", "profile"), ("deny", layer)]
    assert judge.warnings == ()


TYPO = Lists(deny=("exce",))


@pytest.mark.parametrize(
    ("rules", "place"),
    [
        ({"lists": Lists(profile="full", deny=("exce",))}, "tools.deny"),
        ({"lists": Lists(profile="full", allow=("exce",))}, "tools.allow"),
        ({"lists": Lists(profile="full", also_allow=("exce",))}, "tools.alsoAllow"),
        ({"by_provider": {"kit": TYPO}}, "tools.byProvider.kit.deny"),
        ({"roles": {"owner": TYPO}}, "tools.roles.owner.deny"),
        ({"roles": {"external": TYPO}}, "tools.roles.external.deny"),
        ({"agents": {"ann": AgentRules(lists=TYPO)}}, "agents.list.ann.tools.deny"),
        ({"agents": {"ann": AgentRules(by_provider={"kit": TYPO})}}, "agents.list.ann.tools.byProvider.kit.deny"),
        ({"groups": {"irc": {"a": GroupRules(tools=TYPO)}}}, "channels.irc.groups.a.tools.deny"),
        ({"groups": {"irc": {"a": GroupRules(senders={"7": TYPO})}}}, "channels.irc.groups.a.toolsBySender.7.deny"),
        ({"sandbox": SandboxRules(lists=TYPO)}, "tools.sandbox.tools.deny"),
        ({"depth": DepthRules(lists=TYPO)}, "tools.subagents.tools.deny"),
    ],
)
def test_a_misspelt_tool_is_warned_about_in_every_list(rules: dict[str, Any], place: str) -> None:
    (warning,) = compile_rules(Rules(**{"lists": FULL, **rules})).warnings
    assert warning == f"{place} names 'exce', and no tool is called that. Did you mean exec?"


BAD = Lists(deny=("group:none",))


@pytest.mark.parametrize(
    "rules",
    [
        {"lists": BAD},
        {"lists": Lists(profile="full", also_allow=("group:none",))},
        {"by_provider": {"kit": BAD}},
        {"by_provider": {"kit": Lists(profile="full", also_allow=("group:none",))}},
        {"agents": {"ann": AgentRules(lists=BAD)}},
        {"agents": {"ann": AgentRules(by_provider={"kit": BAD})}},
        {"agents": {"ann": AgentRules(sandbox=SandboxRules(lists=BAD))}},
        {"groups": {"irc": {"a": GroupRules(tools=BAD)}}},
        {"groups": {"irc": {"a": GroupRules(senders={"7": BAD})}}},
        {"roles": {"x": BAD}},
        {"sandbox": SandboxRules(mode="off", lists=BAD)},
        {"depth": DepthRules(lists=BAD)},
    ],
)
def test_a_group_nobody_knows_is_refused_in_every_layer(rules: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="group:none"):
        compile_rules(Rules(**rules))


LAYER_CHOICES = st.lists(st.sampled_from(sorted(DENYING)), unique=True)
TOOLS = st.sampled_from(
    [tool("read"), EXEC, tool("write", frozenset({Effect.WRITE}), undoable=True), tool("mail", SEND), tool("web_fetch", LOOK)]
)
WHERE = st.sampled_from([{}, IN_GROUP, {"depth": 2}, {"provider": "kit"}, {"is_attended": True}])
LABELS = st.sampled_from([CLEAN, BOTH])


def with_layers(names: list[str]) -> Rules:
    values: dict[str, Any] = {"lists": FULL, "taint": TaintRules(mode="off"), "confirm": "never"}
    for name in names:
        values.update(DENYING[name])
    return Rules(**values)


@given(LAYER_CHOICES, st.sampled_from(sorted(DENYING)), TOOLS, WHERE, LABELS)
def test_no_rule_added_to_any_layer_widens(names, added, spec, where, label) -> None:  # type: ignore[no-untyped-def]
    action = act(spec, label=label, **where)
    untouched = [each for each in names if not DENYING[each].keys() & DENYING[added].keys()]
    before, after = compile_rules(with_layers(untouched)), compile_rules(with_layers([*untouched, added]))
    assert rank(after(action)) >= rank(before(action))


@given(
    LAYER_CHOICES, TOOLS, WHERE, LABELS, st.sampled_from(["danger", "always", "never"]), st.sampled_from([OWNER_HERE, STRANGER])
)
def test_what_is_explained_is_what_is_decided(names, spec, where, label, confirm, who) -> None:  # type: ignore[no-untyped-def]
    from dataclasses import replace

    judge = compile_rules(replace(with_layers(names), confirm=confirm, taint=TaintRules()))
    action = act(spec, who, label=label, **where)
    steps = judge.explain(action)
    assert settle(steps) == judge(action)
    assert tuple(step.layer for step in steps) == LAYERS
