import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.contracts.messages import ChatKind, InboundMessage
from ostiary.core.routing.bindings import AgentEntry, Binding, Peer, choose_agent, compile_bindings, default_agent, peer_from
from tests.unit.core.routing.inbound import direct, group, quick

AGENTS = tuple(AgentEntry(id=name) for name in ("main", "peer", "parent", "roles", "guild", "team", "account", "channel"))
LADDER = (
    Binding(agent="channel", channel="discord", account="*"),
    Binding(agent="account", channel="discord", account="work"),
    Binding(agent="team", channel="discord", account="*", team="t1"),
    Binding(agent="guild", channel="discord", account="*", guild="g1"),
    Binding(agent="roles", channel="discord", account="*", guild="g1", roles=("admin", "mod")),
    Binding(agent="parent", channel="discord", account="*", peer=Peer(kind=ChatKind.CHANNEL, id="c1")),
    Binding(agent="peer", channel="discord", account="*", peer=Peer(kind=ChatKind.CHANNEL, id="c2")),
)


def chosen(message: InboundMessage, *bindings: Binding, agents: tuple[AgentEntry, ...] = AGENTS) -> tuple[str, str]:
    result = choose_agent(message, compile_bindings(bindings, agents))
    return result.agent, result.matched_by


def in_room(chat: str, **more: object) -> InboundMessage:
    return group(chat, channel="discord", account="work", kind=ChatKind.CHANNEL, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (in_room("c2", guild="g1", roles=("mod",), team="t1", parent="c1"), ("peer", "binding.peer")),
        (in_room("c9", guild="g1", roles=("mod",), team="t1", parent="c1"), ("parent", "binding.peer.parent")),
        (in_room("c9", guild="g1", roles=("x", "mod"), team="t1"), ("roles", "binding.guild+roles")),
        (in_room("c9", guild="g1", roles=("x",), team="t1"), ("guild", "binding.guild")),
        (in_room("c9", guild="g2", team="t1"), ("team", "binding.team")),
        (in_room("c9"), ("account", "binding.account")),
        (group("c9", channel="discord", account="home", kind=ChatKind.CHANNEL), ("channel", "binding.channel")),
        (direct("1", channel="irc"), ("main", "default")),
    ],
)
def test_the_most_specific_tier_decides_and_says_so(message: InboundMessage, expected: tuple[str, str]) -> None:
    assert chosen(message, *LADDER) == expected


def test_a_binding_without_an_account_serves_the_default_account_only() -> None:
    binding = Binding(agent="account", channel="telegram")
    assert chosen(direct(account="default"), binding) == ("account", "binding.account")
    assert chosen(direct(account="work"), binding) == ("main", "default")


def test_a_message_without_an_account_belongs_to_the_default_one() -> None:
    assert chosen(direct(account=""), Binding(agent="account", channel="telegram")) == ("account", "binding.account")


def test_within_a_tier_the_first_in_the_list_wins_even_across_account_patterns() -> None:
    everywhere = Binding(agent="guild", channel="discord", account="*", guild="g1")
    here = Binding(agent="team", channel="discord", account="work", guild="g1")
    assert chosen(in_room("c9", guild="g1"), everywhere, here) == ("guild", "binding.guild")
    assert chosen(in_room("c9", guild="g1"), here, everywhere) == ("team", "binding.guild")


def test_all_fields_of_a_binding_must_match() -> None:
    binding = Binding(agent="peer", channel="discord", account="*", peer=Peer(kind=ChatKind.CHANNEL, id="c2"), guild="g1")
    assert chosen(in_room("c2", guild="g2"), binding) == ("main", "default")
    assert chosen(in_room("c2", guild="g1"), binding) == ("peer", "binding.peer")


def test_a_later_binding_of_the_tier_is_tried_when_the_first_does_not_fit() -> None:
    admins = Binding(agent="roles", channel="discord", account="*", guild="g1", roles=("admin",))
    mods = Binding(agent="guild", channel="discord", account="*", guild="g1", roles=("mod",))
    assert chosen(in_room("c9", guild="g1", roles=("mod",)), admins, mods) == ("guild", "binding.guild+roles")


def test_the_peer_of_a_direct_chat_is_the_sender_not_the_chat() -> None:
    binding = Binding(agent="peer", channel="telegram", peer=Peer(kind=ChatKind.DIRECT, id="123"))
    assert chosen(direct("123"), binding) == ("peer", "binding.peer")
    assert chosen(group("123"), binding) == ("main", "default")


def test_a_thread_inherits_the_binding_of_its_group_unless_it_has_its_own() -> None:
    whole = Binding(agent="parent", channel="telegram", peer=peer_from("group", "-100"))
    topic = Binding(agent="peer", channel="telegram", peer=peer_from("group", "-100:topic:7"))
    assert chosen(group("-100", thread="7"), whole, topic) == ("peer", "binding.peer")
    assert chosen(group("-100", thread="8"), whole, topic) == ("parent", "binding.peer.parent")
    assert chosen(group("-100"), whole, topic) == ("parent", "binding.peer")


def test_empty_ids_match_nothing() -> None:
    nameless = Binding(agent="peer", channel="telegram", peer=Peer(kind=ChatKind.DIRECT, id=""))
    assert chosen(direct(""), nameless) == ("main", "default")


@pytest.mark.parametrize(("kind", "peer_id"), [("direct", " "), ("crowd", "1"), ("", "")])
def test_a_slip_in_a_peer_never_widens_the_binding(kind: str, peer_id: str) -> None:
    binding = Binding(agent="peer", channel="telegram", peer=peer_from(kind, peer_id))
    assert chosen(direct("1"), binding) == chosen(direct(""), binding) == ("main", "default")
    assert "never matches" in compile_bindings([binding], AGENTS).notes[0]


def test_dm_is_another_word_for_direct() -> None:
    assert peer_from("DM", "5") == Peer(kind=ChatKind.DIRECT, id="5")


def test_an_unknown_agent_falls_to_the_default_agent_and_is_named() -> None:
    table = compile_bindings(
        [Binding(agent="ghost", channel="telegram")], [AgentEntry(id="main"), AgentEntry(id="home", default=True)]
    )
    assert choose_agent(direct(), table).agent == "home"
    assert "ghost" in table.notes[0]


def test_the_default_agent_is_the_marked_one_else_the_first_else_main() -> None:
    assert default_agent([AgentEntry(id="a"), AgentEntry(id="b", default=True)]) == "b"
    assert default_agent([AgentEntry(id="a"), AgentEntry(id="b")]) == "a"
    assert default_agent([]) == "main"


def test_a_binding_without_a_channel_never_matches_and_is_named() -> None:
    table = compile_bindings([Binding(agent="main", channel=" ")], AGENTS)
    assert choose_agent(direct(), table).matched_by == "default"
    assert "no channel" in table.notes[0]


words = st.sampled_from(["", "a", "b"])
any_binding = st.builds(
    Binding,
    agent=st.sampled_from(["main", "peer", "ghost"]),
    channel=st.sampled_from(["telegram", "discord"]),
    account=st.sampled_from(["", "*", "work"]),
    peer=st.none() | st.builds(Peer, kind=st.sampled_from(list(ChatKind)), id=st.sampled_from(["a", "b"]), thread=words),
    guild=words,
    team=words,
    roles=st.lists(st.sampled_from(["r", "s"]), max_size=2).map(tuple),
)


@quick
@given(st.lists(any_binding, max_size=8), words, words, words, st.sampled_from(["", "work"]), words)
def test_compiled_tables_agree_with_reading_the_list_from_top_to_bottom(
    bindings: list[Binding], chat: str, guild: str, team: str, account: str, thread: str
) -> None:
    message = group(chat, channel="discord", account=account, guild=guild, team=team, thread=thread, roles=("r",))
    assert chosen(message, *bindings) == read_slowly(message, bindings)


def read_slowly(message: InboundMessage, bindings: list[Binding]) -> tuple[str, str]:
    """The rule as a person would apply it: every binding against every tier."""
    own = Peer(kind=message.chat_kind, id=message.address.chat, thread=message.address.thread)
    parent = Peer(kind=message.chat_kind, id=message.address.chat)
    account = message.address.account or "default"
    fitting = [
        b
        for b in bindings
        if b.channel == message.address.channel
        and (b.account == "*" or (b.account or "default") == account)
        and (not b.guild or b.guild == message.guild)
        and (not b.team or b.team == message.team)
        and (not b.roles or set(b.roles) & set(message.roles))
    ]
    tiers = [
        ("binding.peer", [b for b in fitting if b.peer == own and own.id]),
        ("binding.peer.parent", [b for b in fitting if b.peer == parent and own.id and own.thread]),
        ("binding.guild+roles", [b for b in fitting if not b.peer and b.guild and b.roles]),
        ("binding.guild", [b for b in fitting if not b.peer and b.guild and not b.roles]),
        ("binding.team", [b for b in fitting if not b.peer and not b.guild and b.team]),
        ("binding.account", [b for b in fitting if not b.peer and not b.guild and not b.team and b.account != "*"]),
        ("binding.channel", [b for b in fitting if not b.peer and not b.guild and not b.team and b.account == "*"]),
    ]
    first = next(((found[0].agent, word) for word, found in tiers if found), ("main", "default"))
    return ("main" if first[0] == "ghost" else first[0], first[1])
