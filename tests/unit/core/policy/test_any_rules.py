"""Whatever the rules are: properties of the whole policy over rules of every kind in every layer at once."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.unit.core.policy.acting import BOTH, CLEAN, EXECUTE, HOME, LOOK, OWNER_HERE, SEND, STRANGER, act, rank, tool

from ostiary.contracts.identity import Principal
from ostiary.contracts.messages import UserId
from ostiary.contracts.policy import Action, Allow, Deny
from ostiary.contracts.tool import Effect
from ostiary.core.policy.circumstances import DepthRules, SandboxRules
from ostiary.core.policy.guard import guard_layer
from ostiary.core.policy.judge import settle
from ostiary.core.policy.layers import Lists
from ostiary.core.policy.places import GroupRules
from ostiary.core.policy.rules import LAYERS, AgentRules, Rules, Runtime, compile_rules
from ostiary.core.policy.taint import TaintRules

PLUGINS = frozenset({"weather"})
IN_GROUP = Principal(user=UserId(channel="telegram", stable_id="7"), role="family")
PATTERNS = st.lists(
    st.sampled_from(
        [
            *("read", "exec", "bash", "EXEC", " Read ", "apply_patch", "apply-patch", "web_fetch", "message", "weather", "mail"),
            *("group:fs", "group:runtime", "GROUP:web", "group:plugins", "group:ostiary", "*", "web_*", "[!er]*", "?ead", "nope"),
        ]
    ),
    max_size=3,
).map(tuple)
NARROW = st.builds(Lists, allow=st.none() | PATTERNS, deny=PATTERNS)
PLACE = st.builds(
    Lists,
    profile=st.sampled_from([None, None, "coding", "messaging", "minimal", "full"]),
    allow=st.none() | PATTERNS,
    deny=PATTERNS,
    also_allow=PATTERNS,
)
BY_PROVIDER = st.fixed_dictionaries({"kit": PLACE}, optional={"kit/m": PLACE})
GROUP = st.builds(GroupRules, tools=NARROW, senders=st.fixed_dictionaries({"*": NARROW}, optional={"7": NARROW}))
SANDBOX = st.builds(
    SandboxRules,
    mode=st.sampled_from(["all", "non-main", "off"]),
    access=st.sampled_from(["none", "ro", "rw"]),
    lists=st.none() | NARROW,
)
RULES = st.builds(
    Rules,
    lists=st.builds(
        Lists,
        profile=st.sampled_from(["full", "full", "coding", "minimal"]),
        allow=st.none() | PATTERNS,
        deny=PATTERNS,
        also_allow=PATTERNS,
    ),
    by_provider=BY_PROVIDER,
    agents=st.fixed_dictionaries(
        {"ann": st.builds(AgentRules, lists=PLACE, by_provider=BY_PROVIDER, sandbox=st.none() | SANDBOX)}
    ),
    groups=st.fixed_dictionaries({"telegram": st.fixed_dictionaries({"100": GROUP}, optional={"*": GROUP})}),
    roles=st.fixed_dictionaries({"owner": PLACE, "family": PLACE}),
    sandbox=SANDBOX,
    depth=st.builds(DepthRules, max_depth=st.integers(0, 2), lists=PLACE),
    has_switches=st.booleans(),
    confirm=st.sampled_from(["danger", "always", "never"]),
    taint=st.builds(TaintRules, mode=st.sampled_from(["ask", "deny", "off"])),
    plugin_tools=st.just(PLUGINS),
)
WHERE: dict[str, Any] = {
    "scope": "telegram:group:100",
    "reply_to": HOME,
    "agent": "ann",
    "provider": "kit",
    "model": "m",
    "depth": 1,
}
ACTIONS = st.builds(
    lambda spec, who, where, label: act(spec, who, label=label, **where),
    st.sampled_from(
        [
            *(tool("read"), tool("exec", EXECUTE), tool("apply_patch", frozenset({Effect.WRITE}), undoable=True)),
            *(tool("web_fetch", LOOK), tool("message", SEND), tool("mail", SEND), tool("weather", LOOK), tool("sessions_spawn")),
            *(tool("login", owner_only=True), tool("their_own", frozenset(), is_client=True)),
        ]
    ),
    st.sampled_from([OWNER_HERE, STRANGER, IN_GROUP]),
    st.sampled_from([WHERE, {**WHERE, "model": "n", "is_attended": True}, {**WHERE, "arguments": {"path": ".env"}}, {}]),
    st.sampled_from([CLEAN, BOTH]),
)
# Each example is a whole configuration.
FEW = settings(max_examples=40, deadline=None)
RUNTIME = Runtime(guard=guard_layer())


def decide(rules: Rules, action: Action) -> Any:
    return compile_rules(rules, RUNTIME)(action)


Change = Callable[[Lists], Lists]


def changed(rules: Rules, change: Change) -> Iterator[Rules]:
    """The rules with one list changed, for every list there is."""
    yield replace(rules, lists=change(rules.lists))
    yield replace(rules, depth=replace(rules.depth, lists=change(rules.depth.lists)))
    yield replace(rules, sandbox=replace(rules.sandbox, lists=change(rules.sandbox.lists or Lists())))
    for name, lists in rules.by_provider.items():
        yield replace(rules, by_provider={**rules.by_provider, name: change(lists)})
    for role, lists in rules.roles.items():
        yield replace(rules, roles={**rules.roles, role: change(lists)})
    for agent, own in rules.agents.items():
        yield replace(rules, agents={**rules.agents, agent: replace(own, lists=change(own.lists))})
    for group, own in rules.groups.get("telegram", {}).items():
        for made in (
            replace(own, tools=change(own.tools)),
            *(replace(own, senders={**own.senders, who: change(lists)}) for who, lists in own.senders.items()),
        ):
            yield replace(rules, groups={"telegram": {**rules.groups["telegram"], group: made}})


def everywhere(rules: Rules, change: Change) -> Rules:
    """The rules with every list changed."""
    groups = {
        name: replace(own, tools=change(own.tools), senders={who: change(each) for who, each in own.senders.items()})
        for name, own in rules.groups.get("telegram", {}).items()
    }
    return replace(
        rules,
        lists=change(rules.lists),
        by_provider={name: change(each) for name, each in rules.by_provider.items()},
        agents={
            agent: replace(
                own, lists=change(own.lists), by_provider={name: change(each) for name, each in own.by_provider.items()}
            )
            for agent, own in rules.agents.items()
        },
        groups={"telegram": groups},
        roles={role: change(each) for role, each in rules.roles.items()},
        depth=replace(rules.depth, lists=change(rules.depth.lists)),
    )


def test_in_rules_of_this_kind_every_layer_has_something_to_say() -> None:
    """Otherwise what follows would prove nothing about it."""
    spoke: set[tuple[str, str]] = set()

    @settings(max_examples=150, phases=[Phase.generate], database=None, derandomize=True, deadline=None)
    @given(RULES, ACTIONS)
    def look(rules: Rules, action: Action) -> None:
        spoke.update((step.layer, step.outcome) for step in compile_rules(rules, RUNTIME).explain(action))

    look()
    assert {layer for layer, outcome in spoke if outcome in ("deny", "ask")} == set(LAYERS)
    assert {layer for layer, outcome in spoke if outcome in ("allow", "pass")} == set(LAYERS)


@FEW
@given(RULES, ACTIONS, PATTERNS)
def test_a_longer_deny_list_never_widens_wherever_it_stands(rules: Rules, action: Action, more: tuple[str, ...]) -> None:
    # Lists of one's own for the sandbox take the place of the usual ones.
    own = replace(rules, sandbox=replace(rules.sandbox, lists=rules.sandbox.lists or Lists()))
    before = min(rank(decide(rules, action)), rank(decide(own, action)))
    for each in changed(rules, lambda lists: replace(lists, deny=(*lists.deny, *more))):
        assert rank(decide(each, action)) >= before


@FEW
@given(RULES, ACTIONS, PATTERNS)
def test_an_allow_list_where_there_was_none_never_widens(rules: Rules, action: Action, allow: tuple[str, ...]) -> None:
    general = replace(rules, lists=replace(rules.lists, allow=None))
    assert rank(decide(replace(general, lists=replace(general.lists, allow=allow)), action)) >= rank(decide(general, action))


@FEW
@given(RULES, ACTIONS, PLACE)
def test_a_layer_that_said_nothing_only_narrows_when_it_speaks(rules: Rules, action: Action, lists: Lists) -> None:
    silent = replace(rules, by_provider={}, agents={}, groups={}, roles={})
    before = rank(decide(silent, action))
    narrow = replace(lists, also_allow=())
    for more in (
        {"by_provider": {"kit": lists}},
        {"agents": {"main": AgentRules(lists=narrow)}},
        {"agents": {"main": AgentRules(by_provider={"kit": lists})}},
        {"groups": {"telegram": {"100": GroupRules(tools=lists)}}},
        {"groups": {"telegram": {"100": GroupRules(senders={"*": lists})}}},
        {"roles": {"owner": lists}},
    ):
        assert rank(decide(replace(silent, **more), action)) >= before


@FEW
@given(RULES, ACTIONS, PATTERNS)
def test_what_the_house_denies_nothing_gives(rules: Rules, action: Action, more: tuple[str, ...]) -> None:
    denying = replace(rules, lists=replace(rules.lists, deny=(*more, action.tool.name.upper()), also_allow=("*",)))
    assert isinstance(decide(denying, action), Deny)


@FEW
@given(RULES, ACTIONS, st.randoms(use_true_random=False))
def test_the_order_of_rules_never_matters_in_any_layer(rules: Rules, action: Action, random: Any) -> None:
    def shuffled(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(random.sample(names, len(names)))

    def change(lists: Lists) -> Lists:
        allow = None if lists.allow is None else shuffled(lists.allow)
        return replace(lists, allow=allow, deny=shuffled(lists.deny), also_allow=shuffled(lists.also_allow))

    assert decide(everywhere(rules, change), action) == decide(rules, action)


@FEW
@given(RULES, ACTIONS)
def test_case_blanks_and_aliases_never_matter(rules: Rules, action: Action) -> None:
    aliases = {"exec": "Bash", "bash": "EXEC", "apply_patch": "APPLY-PATCH", "apply-patch": "apply_patch"}

    def spelt(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"  {aliases.get(name, name.upper())} " for name in names)

    def change(lists: Lists) -> Lists:
        allow = None if lists.allow is None else spelt(lists.allow)
        return replace(lists, allow=allow, deny=spelt(lists.deny), also_allow=spelt(lists.also_allow))

    assert decide(everywhere(rules, change), action) == decide(rules, action)


@FEW
@given(RULES, ACTIONS)
def test_what_is_explained_is_what_is_decided_whatever_the_rules(rules: Rules, action: Action) -> None:
    judge = compile_rules(rules, RUNTIME)
    steps = judge.explain(action)
    assert settle(steps) == judge(action)
    assert isinstance(steps[0].decision, Allow) or isinstance(judge(action), Deny)
