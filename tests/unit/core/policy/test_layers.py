import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import EXTERNAL, OWNER, Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.policy import Action, Allow, Ask, Decision, Deny
from ostiary.contracts.tool import Effect, ToolSpec
from ostiary.core.policy.layers import GROUPS, PROFILES, Layer, NameSet, Rules, combine, compile_rules, list_layer, visible_tools

SESSION = SessionKey("main", "main")
OWNER_HERE = Principal(user=UserId(channel="api", stable_id="me"), role=OWNER)
STRANGER = Principal(user=UserId(channel="irc", stable_id="x"), role=EXTERNAL)
NAMES = sorted({*frozenset().union(*GROUPS.values()), "image", "mcp__time__now", "Exec", "bash", "session_status"})


def tool(name: str, *, owner_only: bool = False, is_client: bool = False) -> ToolSpec:
    schema = ToolSchema(name=name, description="", parameters={"type": "object"})
    return ToolSpec(schema=schema, effects=frozenset({Effect.READ}), owner_only=owner_only, is_client=is_client)


def act(name: str, principal: Principal = OWNER_HERE, **marks: bool) -> Action:
    return Action(
        principal=principal,
        session=SESSION,
        channel="api",
        tool=tool(name, **marks),
        arguments={},
        label=Label(trust=Trust.OWNER),
    )


def rank(decision: Decision) -> int:
    return (Allow, Ask, Deny).index(type(decision))


@pytest.mark.parametrize("name", ["session_status", "read", "ls", "find", "grep"])
def test_by_default_the_owner_may_use_the_read_only_tools(name: str) -> None:
    assert isinstance(compile_rules(Rules())(act(name)), Allow)


@pytest.mark.parametrize("name", ["write", "exec", "web_fetch", "message", "memory_search", "mcp__x__read", "unheard_of", ""])
def test_by_default_everything_else_is_denied(name: str) -> None:
    assert isinstance(compile_rules(Rules())(act(name)), Deny)


@pytest.mark.parametrize("name", NAMES)
def test_external_people_get_no_tools_even_in_the_full_profile(name: str) -> None:
    assert isinstance(compile_rules(Rules(profile="full"))(act(name, STRANGER)), Deny)


@pytest.mark.parametrize(
    ("profile", "allowed"),
    [
        ("minimal", {"session_status"}),
        ("coding", GROUPS["fs"] | GROUPS["runtime"] | GROUPS["sessions"] | GROUPS["memory"] | {"image", "bash", "Exec"}),
        ("messaging", {"message", "sessions_list", "sessions_history", "sessions_send", "session_status"}),
        ("full", set(NAMES)),
    ],
)
def test_each_profile_grants_its_tools_and_no_other(profile: str, allowed: set[str]) -> None:
    judge = compile_rules(Rules(profile=profile, also_allow=()))
    assert {name for name in NAMES if isinstance(judge(act(name)), Allow)} == allowed


def test_deny_wins_over_every_way_of_allowing() -> None:
    judge = compile_rules(Rules(profile="full", also_allow=("exec",), allow=("exec",), deny=("group:runtime",)))
    assert judge(act("exec")) == Deny(layer="tools", reason="exec is on the deny list")


def test_an_alias_names_the_same_tool_in_every_list() -> None:
    judge = compile_rules(Rules(profile="full", deny=("bash",)))
    assert isinstance(judge(act("exec")), Deny)


def test_letter_case_does_not_slip_past_a_deny_list() -> None:
    judge = compile_rules(Rules(profile="full", deny=("EXEC", "Web_*")))
    assert {type(judge(act(name))) for name in ("exec", "Exec", "BASH", "web_fetch", "WEB_FETCH")} == {Deny}


def test_globs_match_whole_names() -> None:
    names = NameSet(["mcp__time__*", "web_?etch"])
    assert [name in names for name in ("mcp__time__now", "x_mcp__time__now", "web_fetch", "web_fetch2")] == [
        True,
        False,
        True,
        False,
    ]


def test_an_empty_allow_list_allows_nothing() -> None:
    assert isinstance(compile_rules(Rules(profile="full", allow=()))(act("read")), Deny)


def test_apply_patch_follows_exec_in_allow_lists_only() -> None:
    follows = compile_rules(Rules(profile="full", allow=("exec",)))
    own_deny = compile_rules(Rules(profile="full", deny=("exec",)))
    assert (type(follows(act("apply_patch"))), type(own_deny(act("apply_patch")))) == (Allow, Allow)


def test_a_group_nobody_knows_is_refused_when_rules_are_compiled() -> None:
    with pytest.raises(BadInput, match="group:runtme"):
        compile_rules(Rules(deny=("group:runtme",)))


def test_a_profile_nobody_knows_is_refused_when_rules_are_compiled() -> None:
    with pytest.raises(BadInput, match="everything"):
        compile_rules(Rules(profile="everything"))


def test_plugin_tools_form_a_group() -> None:
    judge = compile_rules(Rules(also_allow=("group:plugins",), plugin_tools=frozenset({"weather"})))
    assert (type(judge(act("weather"))), type(judge(act("exec")))) == (Allow, Deny)


def test_a_tool_the_owners_client_brought_is_allowed_and_a_strangers_is_not() -> None:
    judge = compile_rules(Rules())
    assert (type(judge(act("lookup", is_client=True))), type(judge(act("lookup", STRANGER, is_client=True)))) == (Allow, Deny)


def test_a_layer_besides_the_built_in_ones_narrows_too() -> None:
    work_only_looks = list_layer("agent work", allow=("ls",))
    judge = compile_rules(Rules(), [("agent work", work_only_looks)])
    assert (type(judge(act("ls"))), judge(act("read"))) == (
        Allow,
        Deny(layer="agent work", reason="read is not on the allow list"),
    )


def test_without_a_granting_layer_nothing_is_allowed() -> None:
    assert isinstance(combine(None, [("x", lambda _: Allow(layer="x"))])(act("read")), Deny)


def test_a_granting_layer_that_says_nothing_grants_nothing() -> None:
    assert isinstance(combine(("profile", lambda _: None))(act("read")), Deny)


def test_a_layer_that_raises_denies_in_its_own_name() -> None:
    def broken(_: Action) -> Decision | None:
        raise ZeroDivisionError

    decision = combine(("profile", lambda _: Allow(layer="profile")), [("sender", broken)])(act("read"))
    assert decision == Deny(layer="sender", reason="the layer failed (ZeroDivisionError)")


def test_a_layer_that_answers_nonsense_denies() -> None:
    nonsense: Layer = lambda _: True  # type: ignore[assignment, return-value]  # noqa: E731
    assert isinstance(combine(("profile", lambda _: Allow(layer="profile")), [("odd", nonsense)])(act("read")), Deny)


def test_a_tool_that_is_not_allowed_is_not_shown() -> None:
    specs = [tool("write"), tool("read"), tool("exec"), tool("session_status")]
    shown = visible_tools(specs, judge=compile_rules(Rules()), principal=OWNER_HERE, session=SESSION, channel="api")
    assert [spec.name for spec in shown] == ["read", "session_status"]


def test_a_stranger_is_shown_no_tool() -> None:
    shown = visible_tools(
        [tool("read")], judge=compile_rules(Rules(profile="full")), principal=STRANGER, session=SESSION, channel="irc"
    )
    assert shown == ()


ANSWERS = st.sampled_from([None, Allow(layer="l"), Ask(layer="l", reason="?"), Deny(layer="l", reason="no")])
PATTERNS = st.lists(st.sampled_from([*NAMES, "*", "mcp__*", "group:fs", "group:runtime", "group:ostiary"]), max_size=6)


@given(ANSWERS, st.lists(ANSWERS, max_size=5), ANSWERS, st.integers(min_value=0, max_value=5))
def test_adding_a_layer_never_widens(
    grant: Decision | None, answers: list[Decision | None], added: Decision | None, place: int
) -> None:
    before: list[tuple[str, Layer]] = [("l", lambda _, answer=answer: answer) for answer in answers]  # type: ignore[misc]
    after = [*before[:place], ("new", lambda _: added), *before[place:]]
    granting: tuple[str, Layer] = ("grant", lambda _: grant)
    assert rank(combine(granting, after)(act("read"))) >= rank(combine(granting, before)(act("read")))


@given(st.none() | PATTERNS, PATTERNS, st.randoms(), st.sampled_from(NAMES))
def test_the_order_of_rules_within_a_layer_does_not_matter(allow, deny, random, name) -> None:  # type: ignore[no-untyped-def]
    shuffled_allow = None if allow is None else random.sample(allow, len(allow))
    one = list_layer("tools", allow=allow, deny=deny)
    other = list_layer("tools", allow=shuffled_allow, deny=random.sample(deny, len(deny)))
    assert one(act(name)) == other(act(name))


@given(st.sampled_from(sorted(PROFILES)), PATTERNS, PATTERNS, st.sampled_from(NAMES))
def test_a_longer_deny_list_never_widens(profile, deny, more, name) -> None:  # type: ignore[no-untyped-def]
    before = compile_rules(Rules(profile=profile, deny=tuple(deny)))(act(name))
    after = compile_rules(Rules(profile=profile, deny=(*deny, *more)))(act(name))
    assert rank(after) >= rank(before)
