from dataclasses import replace
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.messages import Address, ChatKind, InboundMessage, UserId
from ostiary.core.routing import scopes
from ostiary.core.routing.scopes import DmScope, Place, ScopeRules, compile_links, parse_key, place_of, scope_of, session_key
from tests.unit.core.routing.inbound import direct, group, quick

LINKS = compile_links({"ana": ["telegram:123", "email:ana@x.org"]})


@pytest.mark.parametrize(
    ("dm", "scope"),
    [
        ("main", "main"),
        ("per-peer", "direct:telegram:5"),
        ("per-channel-peer", "telegram:direct:5"),
        ("per-account-channel-peer", "telegram:default:direct:5"),
    ],
)
def test_each_dm_scope_has_its_shape(dm: DmScope, scope: str) -> None:
    assert scope_of(direct("5"), ScopeRules(dm=dm, links=LINKS)) == scope


@pytest.mark.parametrize("dm", ["per-peer", "per-channel-peer", "per-account-channel-peer"])
def test_identity_links_join_one_persons_channels(dm: DmScope) -> None:
    rules = ScopeRules(dm=dm, links=LINKS)
    assert scope_of(direct("123"), rules) == scope_of(direct("ana@x.org", channel="email"), rules) == "direct:~ana"


def test_identity_links_do_not_apply_under_main() -> None:
    assert scope_of(direct("123"), ScopeRules(dm="main", links=LINKS)) == "main"


def test_a_stranger_whose_id_is_a_linked_name_does_not_become_that_person() -> None:
    rules = ScopeRules(dm="per-peer", links=LINKS)
    assert scope_of(direct("ana", channel="irc"), rules) == "direct:irc:ana"
    assert scope_of(direct("~ana", channel="irc"), ScopeRules(dm="per-channel-peer", links=LINKS)) == "irc:direct:%7Eana"


def test_the_same_number_on_two_channels_is_two_people() -> None:
    rules = ScopeRules(dm="per-peer")
    assert scope_of(direct("5"), rules) != scope_of(direct("5", channel="discord"), rules)


def test_groups_rooms_threads_and_accounts_are_isolated() -> None:
    rules = ScopeRules()
    assert scope_of(group("-100"), rules) == "telegram:group:-100"
    assert scope_of(group("-100", thread="7"), rules) == "telegram:group:-100:thread:7"
    assert scope_of(group("C1", channel="slack", kind=ChatKind.CHANNEL), rules) == "slack:channel:C1"
    assert scope_of(group("#a", channel="irc", account="oftc"), rules) == "irc:oftc:group:#a"


def test_threads_of_direct_chats_that_share_main_stay_apart() -> None:
    one = scope_of(direct("5", thread="7"), ScopeRules())
    other = scope_of(direct("6", thread="7"), ScopeRules())
    assert one == "main:thread:telegram:default:5:7"
    assert one != other


def test_the_other_sources_have_their_own_prefixes() -> None:
    assert scopes.cron_scope("daily") == "cron:daily"
    assert scopes.cron_scope("daily", "run_1") == "cron:daily:run_1"
    assert scopes.hook_scope("mail") == "hook:mail"
    assert scopes.node_scope("phone") == "node-phone"
    assert scopes.subagent_scope("s1") == "subagent:s1"
    assert scopes.call_scope("c1") == "call:c1"


def test_an_api_user_cannot_name_a_channels_conversation() -> None:
    assert scopes.api_scope("telegram:group:-100") == "api:telegram%3Agroup%3A-100"
    assert scopes.api_scope("main", client="laptop") == "api:laptop:main"
    assert scopes.api_scope("laptop:main") != scopes.api_scope("main", client="laptop")


@pytest.mark.parametrize(
    "make", [scopes.hook_scope, scopes.node_scope, scopes.subagent_scope, scopes.api_scope, scopes.cron_scope]
)
def test_a_scope_without_a_name_is_refused(make: object) -> None:
    with pytest.raises(BadInput):
        make("")  # type: ignore[operator]


def test_messages_without_ids_are_refused_rather_than_joined() -> None:
    with pytest.raises(BadInput):
        scope_of(direct(""), ScopeRules(dm="per-peer"))
    with pytest.raises(BadInput):
        scope_of(group(""), ScopeRules())


@pytest.mark.parametrize("links", [{"ana": ["123"]}, {"ana": ["telegram:"]}, {"": ["telegram:1"]}, {"a": ["t:1"], "b": ["t:1"]}])
def test_identity_links_that_are_ambiguous_are_refused(links: dict[str, list[str]]) -> None:
    with pytest.raises(BadInput):
        compile_links(links)


@pytest.mark.parametrize(
    ("typed", "scope"),
    [
        ("agent:main:telegram:dm:5", "telegram:direct:5"),
        ("agent:main:dm:5", "direct:5"),
        ("agent:main:telegram:work:dm:5", "telegram:work:direct:5"),
        ("agent:main:telegram:group:dm", "telegram:group:dm"),
        ("agent:main:telegram:group:-100:topic:7", "telegram:group:-100:thread:7"),
        ("agent:main:api:dm:x", "api:dm:x"),
        ("agent:main:main", "main"),
        (" agent:main:cron:dm:topic:1 ", "cron:dm:topic:1"),
    ],
)
def test_older_spellings_are_read_as_ours(typed: str, scope: str) -> None:
    assert parse_key(typed) == SessionKey("main", scope)


@pytest.mark.parametrize(
    ("scope", "place"),
    [
        ("main", Place(source="main")),
        ("main:thread:telegram:default:5:7", Place(source="main", is_thread=True)),
        ("direct:~ana", Place(source="direct")),
        ("direct:~ana:thread:telegram:default:5:7", Place(source="direct", is_thread=True)),
        ("direct:telegram:thread", Place(source="direct", channel="telegram")),
        ("telegram:direct:5", Place(source="direct", channel="telegram", account="default")),
        ("irc:oftc:group:#a", Place(source="group", channel="irc", account="oftc")),
        ("slack:channel:C1:thread:9", Place(source="channel", channel="slack", account="default", is_thread=True)),
        ("cron:group:x", Place(source="cron")),
        ("api:direct:x", Place(source="api")),
        ("node-phone", Place(source="node")),
        ("something", Place(source="other")),
        ("some:thing", Place(source="other")),
    ],
)
def test_a_scope_tells_where_it_belongs(scope: str, place: Place) -> None:
    assert place_of(scope) == place


# Everything a hostile id might be made of: our separators, our words, our escapes.
hostile = st.lists(
    st.sampled_from([":", "%", "~", "%3A", "direct", "group", "thread", "main", "api", "a", "A", "5", " ", "\n", "é", "\ud800"]),
    min_size=1,
    max_size=5,
).map("".join)
names = st.sampled_from(["telegram", "direct", "group", "main", "api", "cron", "thread", "node-a", "call", "dm"])
accounts = st.sampled_from(["", "default", "work", "group", "direct", "thread"]) | hostile
places = st.builds(
    lambda kind, channel, account, chat, thread: InboundMessage(
        id="1",
        address=Address(channel=channel, account=account, chat=chat, thread=thread),
        sender=UserId(channel=channel, stable_id=chat),
        text="",
        at=0.0,
        chat_kind=kind,
    ),
    st.sampled_from(list(ChatKind)),
    names,
    accounts,
    hostile,
    st.just("") | hostile,
)


def identity(message: InboundMessage) -> tuple[object, ...]:
    return (message.chat_kind, replace(message.address, account=message.address.account or "default"))


def test_no_combination_of_hostile_words_makes_two_places_one() -> None:
    rules = ScopeRules(dm="per-account-channel-peer")
    words = ["a", "group", "direct", "thread", "channel", "a:group:a", "%3A", "~a"]
    made = {
        scope_of(group(chat, sender=chat, channel=channel, account=account, thread=thread, kind=kind), rules)
        for channel, account, chat in product(words[:5], ["", *words], words)
        for thread, kind in product(["", *words], ChatKind)
    }
    assert len(made) == 5 * 9 * 8 * 9 * 3


@quick
@given(places, places)
def test_two_places_never_share_a_key(one: InboundMessage, other: InboundMessage) -> None:
    assume(identity(one) != identity(other))
    rules = ScopeRules(dm="per-account-channel-peer")
    assert scope_of(one, rules) != scope_of(other, rules)


@quick
@given(
    places, hostile, st.just("") | hostile, st.sampled_from(["main", "per-peer", "per-channel-peer", "per-account-channel-peer"])
)
def test_no_channel_message_reaches_an_internal_conversation(
    message: InboundMessage, name: str, client: str, dm: DmScope
) -> None:
    made = scope_of(message, ScopeRules(dm=dm))
    internal = {
        scopes.api_scope(name, client=client),
        scopes.cron_scope(name, client),
        scopes.hook_scope(name),
        scopes.node_scope(name),
        scopes.subagent_scope(name),
        scopes.call_scope(name),
    }
    assert made not in internal


@quick
@given(places, st.sampled_from(["main", "per-peer", "per-channel-peer", "per-account-channel-peer"]))
def test_every_key_we_make_can_be_read_back(message: InboundMessage, dm: DmScope) -> None:
    key = session_key("main", message, ScopeRules(dm=dm))
    assert SessionKey.parse(str(key)) == key == parse_key(str(key))
    assert place_of(key.scope).source in (message.chat_kind.value, "main")


@quick
@given(st.text(min_size=60, max_size=3000), st.text(min_size=60, max_size=3000))
def test_huge_ids_keep_keys_short_and_different(one: str, other: str) -> None:
    assume(one != other)
    message, second = (
        group(one, channel="c" * 64, account="w" * 64, thread=one),
        group(other, channel="c" * 64, account="w" * 64, thread=one),
    )
    key = session_key("main", message, ScopeRules())
    assert SessionKey.parse(str(key)) == key
    assert key != session_key("main", second, ScopeRules())
