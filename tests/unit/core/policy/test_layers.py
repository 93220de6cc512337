import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.policy.acting import HOME, OWNER_HERE, SESSION, STRANGER, act, rank, tool

from ostiary.contracts.content import Trust
from ostiary.contracts.errors import BadInput
from ostiary.contracts.policy import Action, Allow, Decision, Deny
from ostiary.core.policy.layers import GRANTABLE, Lists, list_layer, lists_layer, profile_layer, visible_tools
from ostiary.core.policy.names import GROUPS, PROFILES
from ostiary.core.policy.rules import Rules, compile_rules

NAMES = sorted({*frozenset().union(*GROUPS.values()), "image", "mcp__time__now", "Exec", "bash", "session_status"})
PATTERNS = st.lists(st.sampled_from([*NAMES, "*", "mcp__*", "group:fs", "group:runtime", "group:ostiary"]), max_size=6)


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
    layer = profile_layer(profile)
    assert {name for name in NAMES if isinstance(layer(act(name)), Allow)} == allowed


def test_what_a_profile_does_not_hold_is_denied_in_its_name() -> None:
    assert profile_layer("minimal")(act("exec")) == Deny(layer="profile", reason="exec is not in the profile minimal")


def test_also_allow_adds_to_a_profile() -> None:
    layer = profile_layer("minimal", ["bash", "web_*"])
    granted = [name for name in ("exec", "apply_patch", "web_fetch", "read") if isinstance(layer(act(name)), Allow)]
    assert granted == ["exec", "apply_patch", "web_fetch"]


def test_a_tool_the_client_brought_is_granted() -> None:
    brought = Allow(layer="profile", reason="the caller brought this tool and runs it")
    assert profile_layer("minimal")(act(tool("lookup", is_client=True))) == brought


def test_a_profile_nobody_knows_is_refused() -> None:
    with pytest.raises(BadInput, match="everything") as refused:
        profile_layer("everything")
    assert "minimal" in refused.value.hint


def test_a_standing_grant_answers_only_these_layers() -> None:
    assert set(GRANTABLE) == {"confirm", "switch"}


def test_deny_wins_over_allow() -> None:
    layer = list_layer("tools", allow=["exec"], deny=["group:runtime"])
    assert layer(act("exec")) == Deny(layer="tools", reason="exec is on the deny list")


def test_an_alias_names_the_same_tool_in_every_list() -> None:
    assert isinstance(list_layer("tools", allow=None, deny=["bash"])(act("exec")), Deny)


def test_letter_case_does_not_slip_past_a_deny_list() -> None:
    layer = list_layer("tools", allow=None, deny=["EXEC", "Web_*"])
    assert {type(layer(act(name))) for name in ("exec", "Exec", "BASH", "web_fetch", "WEB_FETCH")} == {Deny}


def test_an_absent_allow_list_says_nothing_and_an_empty_one_allows_nothing() -> None:
    assert list_layer("tools", allow=None)(act("read")) is None
    assert list_layer("tools", allow=[])(act("read")) == Deny(layer="tools", reason="read is not on the allow list")


def test_what_is_on_the_allow_list_says_so() -> None:
    assert list_layer("tools", allow=["read"])(act("read")) == Allow(layer="tools", reason="on the allow list")


def test_an_allow_list_leaves_a_clients_own_tool_alone_and_a_deny_list_does_not() -> None:
    own = act(tool("lookup", is_client=True))
    assert not isinstance(list_layer("tools", allow=[])(own), Deny)
    assert isinstance(list_layer("tools", allow=None, deny=["lookup"])(own), Deny)


def test_apply_patch_follows_exec_in_allow_lists_only() -> None:
    assert not isinstance(list_layer("tools", allow=["exec"])(act("apply_patch")), Deny)
    assert list_layer("tools", allow=None, deny=["exec"])(act("apply_patch")) is None


def test_a_list_of_plugin_tools_alone_does_not_switch_off_the_house() -> None:
    plugins = frozenset({"weather"})
    assert list_layer("tools", allow=["weather"], plugin_tools=plugins)(act("read")) is None
    assert lists_layer("agent", Lists(allow=("weather",)), plugin_tools=plugins)(act("read")) is None
    assert isinstance(list_layer("tools", allow=["weather", "ls"], plugin_tools=plugins)(act("read")), Deny)


def test_denying_the_plugins_denies_what_they_brought() -> None:
    layer = list_layer("tools", allow=None, deny=["group:plugins"], plugin_tools=frozenset({"weather"}))
    assert (type(layer(act("weather"))), layer(act("read"))) == (Deny, None)


def test_allowing_the_plugins_with_others_allows_what_they_brought() -> None:
    layer = list_layer("tools", allow=["group:plugins", "ls"], plugin_tools=frozenset({"weather"}))
    assert (type(layer(act("weather"))), type(layer(act("read")))) == (Allow, Deny)


@pytest.mark.parametrize(
    ("name", "decision"),
    [
        ("session_status", "allow"),
        ("ls", "allow"),
        ("read", "deny"),
        ("grep", "deny"),
    ],
)
def test_a_place_with_a_profile_and_lists_needs_both(name: str, decision: str) -> None:
    layer = lists_layer("agent", Lists(profile="minimal", also_allow=("ls", "grep"), deny=("grep",)))
    found = layer(act(name))
    assert found is not None
    assert (type(found).__name__.lower(), found.layer) == (decision, "agent")


def test_a_place_without_a_profile_is_its_lists() -> None:
    layer = lists_layer("agent", Lists(also_allow=("ls",), deny=("grep",)))
    assert (layer(act("read")), type(layer(act("grep")))) == (None, Deny)


def test_a_places_profile_knows_the_plugins() -> None:
    lists = Lists(profile="minimal", also_allow=("group:plugins",))
    layer = lists_layer("agent", lists, plugin_tools=frozenset({"weather"}))
    assert not isinstance(layer(act("weather")), Deny)


@pytest.mark.parametrize(
    ("lists", "silent"),
    [
        (Lists(), True),
        (Lists(also_allow=("x",)), True),
        (Lists(profile="full"), False),
        (Lists(allow=()), False),
        (Lists(deny=("x",)), False),
    ],
)
def test_lists_that_say_nothing_are_silent(lists: Lists, silent: bool) -> None:
    assert lists.is_silent is silent


def test_a_tool_that_is_not_allowed_is_not_shown_and_the_rest_are_in_order() -> None:
    specs = [tool("write"), tool("read"), tool("exec"), tool("ls")]
    judge = compile_rules(Rules(lists=Lists(profile="minimal", also_allow=("read", "ls"))))
    shown = visible_tools(specs, judge=judge, principal=OWNER_HERE, session=SESSION, channel="api")
    assert [spec.name for spec in shown] == ["ls", "read"]


def test_a_stranger_is_shown_no_tool() -> None:
    judge = compile_rules(Rules(lists=Lists(profile="full")))
    assert visible_tools([tool("read")], judge=judge, principal=STRANGER, session=SESSION, channel="irc") == ()


def test_what_is_shown_is_judged_in_the_turns_own_circumstances() -> None:
    seen: list[Action] = []

    def judge(action: Action) -> Decision:
        seen.append(action)
        return Allow(layer="x")

    visible_tools(
        [tool("read")],
        judge=judge,
        principal=OWNER_HERE,
        session=SESSION,
        channel="telegram",
        provider="kit",
        model="m",
        reply_to=HOME,
        is_attended=True,
        depth=2,
    )
    (action,) = seen
    facts = (action.provider, action.model, action.reply_to, action.is_attended, action.depth, action.channel)
    assert facts == ("kit", "m", HOME, True, 2, "telegram")
    assert (action.label.trust, dict(action.arguments)) == (Trust.SYSTEM, {})


def test_without_a_word_nobody_is_there_and_nobody_was_spawned() -> None:
    seen: list[Action] = []

    def judge(action: Action) -> Decision:
        seen.append(action)
        return Allow(layer="x")

    visible_tools([tool("read")], judge=judge, principal=OWNER_HERE, session=SESSION, channel="api")
    (action,) = seen
    facts = (action.provider, action.model, action.reply_to, action.is_attended, action.depth)
    assert facts == ("", "", None, False, 0)


@given(st.none() | PATTERNS, PATTERNS, st.randoms(), st.sampled_from(NAMES))
def test_the_order_of_rules_within_a_layer_does_not_matter(allow, deny, random, name) -> None:  # type: ignore[no-untyped-def]
    shuffled_allow = None if allow is None else random.sample(allow, len(allow))
    one = list_layer("tools", allow=allow, deny=deny)
    other = list_layer("tools", allow=shuffled_allow, deny=random.sample(deny, len(deny)))
    assert one(act(name)) == other(act(name))


@given(st.sampled_from(sorted(PROFILES)), PATTERNS, PATTERNS, st.sampled_from(NAMES))
def test_a_longer_deny_list_never_widens(profile, deny, more, name) -> None:  # type: ignore[no-untyped-def]
    before = compile_rules(Rules(lists=Lists(profile=profile, deny=tuple(deny))))(act(name))
    after = compile_rules(Rules(lists=Lists(profile=profile, deny=(*deny, *more))))(act(name))
    assert rank(after) >= rank(before)
