"""Which agent answers a message: bindings in eight tiers, the most specific first.

Bindings are compiled once per configuration generation; a message then costs a few dictionary lookups.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import NamedTuple

from ostiary.contracts.identity import is_id
from ostiary.contracts.messages import ChatKind, InboundMessage
from ostiary.contracts.records import dataclass

DEFAULT_ACCOUNT = "default"
DEFAULT_AGENT = "main"
EVERY_ACCOUNT = "*"
_CHAT_KINDS = {"dm": ChatKind.DIRECT, **{kind.value: kind for kind in ChatKind}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One person (direct), group or channel by its stable id; with `thread`, only that thread or topic of it."""

    kind: ChatKind
    id: str
    thread: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """Every field that is set must match; of `roles` any one. No `account` means the default account, `*` all of them.

    `peer` is the place itself and, unless a thread has a binding of its own, its threads; `parent` only the threads of it."""

    agent: str
    channel: str
    account: str = ""
    peer: Peer | None = None
    parent: Peer | None = None
    guild: str = ""
    team: str = ""
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEntry:
    id: str
    default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """`matched_by` is one of the stable words `binding.peer` ... `binding.channel`, `default`."""

    agent: str
    matched_by: str


class _Key(NamedTuple):
    tier: str
    channel: str
    account: str
    subject: Peer | str


class _Candidate(NamedTuple):
    order: int
    binding: Binding
    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingTable:
    """`notes` names the bindings that can never match or that name an unknown agent, one sentence each."""

    default_agent: str
    candidates: Mapping[_Key, tuple[_Candidate, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def peer_from(kind: str, peer_id: str) -> Peer:
    """A peer as configuration writes it: `dm` means direct; `<chat>:topic:<id>` and `<chat>:thread:<id>` name a thread.

    Of an unknown kind or without an id it matches nothing, so that a slip of the pen never widens a binding."""
    chat_kind = _CHAT_KINDS.get(kind.strip().lower())
    name = peer_id.strip()
    if chat_kind is None or not name:
        return Peer(kind=ChatKind.DIRECT, id="")
    for mark in (":topic:", ":thread:"):
        chat, found, thread = name.rpartition(mark)
        if found and chat and thread:
            return Peer(kind=chat_kind, id=chat, thread=thread)
    return Peer(kind=chat_kind, id=name)


def default_agent(agents: Sequence[AgentEntry]) -> str:
    """The agent marked default, else the first, else `main`."""
    usable = [agent for agent in agents if is_id(agent.id)]
    marked = next((agent.id for agent in usable if agent.default), "")
    return marked or (usable[0].id if usable else DEFAULT_AGENT)


def compile_bindings(bindings: Sequence[Binding], agents: Sequence[AgentEntry]) -> BindingTable:
    """Never raises: a binding that cannot match is left out and named in `notes`."""
    fallback = default_agent(agents)
    known = {agent.id for agent in agents if is_id(agent.id)} or {DEFAULT_AGENT}
    table: dict[_Key, list[_Candidate]] = {}
    notes: list[str] = []
    for order, binding in enumerate(bindings):
        if not binding.channel.strip():
            notes.append(f"bindings[{order}] names no channel and never matches")
            continue
        if any(peer is not None and not peer.id for peer in (binding.peer, binding.parent)):
            notes.append(f"bindings[{order}] names a peer without a known kind and an id, and never matches")
            continue
        agent = binding.agent.strip().lower()
        if agent not in known:
            notes.append(f"bindings[{order}] names the unknown agent {binding.agent[:64]!r}; {fallback!r} answers instead")
            agent = fallback
        table.setdefault(_key(binding), []).append(_Candidate(order, binding, agent))
    return BindingTable(
        default_agent=fallback,
        candidates=MappingProxyType({key: tuple(found) for key, found in table.items()}),
        notes=tuple(notes),
    )


def choose_agent(message: InboundMessage, table: BindingTable) -> Chosen:
    """The first tier with a matching binding decides; within a tier the first in the list."""
    if not table.candidates:
        return Chosen(agent=table.default_agent, matched_by="default")
    for tier, subject in _subjects(message):
        found = _first_match(message, table, tier, subject)
        if found is not None:
            return Chosen(agent=found.agent, matched_by=tier)
    return Chosen(agent=table.default_agent, matched_by="default")


def _key(binding: Binding) -> _Key:
    channel = binding.channel.strip().lower()
    account = binding.account.strip() or DEFAULT_ACCOUNT
    if binding.peer is not None:
        return _Key("binding.peer", channel, account, binding.peer)
    if binding.parent is not None:
        return _Key("binding.peer.parent", channel, account, binding.parent)
    if binding.guild:
        return _Key("binding.guild+roles" if binding.roles else "binding.guild", channel, account, binding.guild)
    if binding.team:
        return _Key("binding.team", channel, account, binding.team)
    if account == EVERY_ACCOUNT:
        return _Key("binding.channel", channel, account, "")
    return _Key("binding.account", channel, account, "")


def _subjects(message: InboundMessage) -> list[tuple[str, Peer | str]]:
    """The tiers this message can match in, each with what must be looked up there. Empty ids match nothing."""
    subjects: list[tuple[str, Peer | str]] = []
    place = _place(message)
    if place:
        subjects.append(("binding.peer", Peer(kind=message.chat_kind, id=place, thread=message.address.thread)))
    parent = _parent(message)
    if parent is not None:
        subjects.append(("binding.peer.parent", parent))
    if message.guild:
        subjects.append(("binding.guild+roles", message.guild))
        subjects.append(("binding.guild", message.guild))
    if message.team:
        subjects.append(("binding.team", message.team))
    subjects.append(("binding.account", ""))
    subjects.append(("binding.channel", ""))
    return subjects


def _place(message: InboundMessage) -> str:
    return message.sender.stable_id if message.chat_kind is ChatKind.DIRECT else message.address.chat


def _parent(message: InboundMessage) -> Peer | None:
    """What the message's thread hangs on; None outside threads."""
    parent = message.parent or (_place(message) if message.address.thread else "")
    return Peer(kind=message.chat_kind, id=parent) if parent else None


def _first_match(message: InboundMessage, table: BindingTable, tier: str, subject: Peer | str) -> _Candidate | None:
    channel = message.address.channel.strip().lower()
    listed_as = ("binding.peer", tier) if tier == "binding.peer.parent" else (tier,)
    accounts = (message.address.account or DEFAULT_ACCOUNT, EVERY_ACCOUNT)
    best: _Candidate | None = None
    for key in (_Key(name, channel, account, subject) for name in listed_as for account in accounts):
        found = next((each for each in table.candidates.get(key, ()) if _rest_matches(each.binding, message)), None)
        if found is not None and (best is None or found.order < best.order):
            best = found
    return best


def _rest_matches(binding: Binding, message: InboundMessage) -> bool:
    if binding.parent is not None and binding.parent != _parent(message):
        return False
    if binding.guild and binding.guild != message.guild:
        return False
    if binding.team and binding.team != message.team:
        return False
    return not binding.roles or not set(binding.roles).isdisjoint(message.roles)
