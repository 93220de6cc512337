"""Which conversation a message belongs to: the scope of its session key.

    main                                        every direct chat, under dmScope main
    direct:<channel>:<id>                       one person, under per-peer
    direct:~<name>                              one person known by identity links, on all their channels
    <channel>[:<account>]:direct:<id>           per-channel-peer, per-account-channel-peer
    <channel>[:<account>]:group|channel:<id>    a group or a room; the account is left out if it is the default one
    ...:thread:<id>                             a thread or topic of one of the above
    cron:<job>[:<run>]  hook:<name>  node-<id>  subagent:<id>  api:[<client>:]<user>  call:<id>

Ids come from strangers, so each part is escaped and reserved words cannot stand where a channel or account stands:
two different places never share a key, and no id can spell another place's key.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal
from urllib.parse import quote, unquote

from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.messages import ChatKind, InboundMessage, UserId
from ostiary.contracts.records import dataclass
from ostiary.core.routing.bindings import DEFAULT_ACCOUNT
from ostiary.core.routing.people import parse_user_id

DmScope = Literal["main", "per-peer", "per-channel-peer", "per-account-channel-peer"]
Source = Literal["main", "direct", "group", "channel", "cron", "hook", "node", "subagent", "api", "call", "other"]

MAIN = "main"
_KEPT = "@+!#=$*,()"
_LONGEST_PART = 66
_SOURCES: Mapping[str, Source] = {
    "direct": "direct",
    "dm": "direct",
    "group": "group",
    "channel": "channel",
    "cron": "cron",
    "hook": "hook",
    "subagent": "subagent",
    "api": "api",
    "call": "call",
}
_OF_NO_CHANNEL = frozenset({"cron", "hook", "subagent", "api", "call"})
_RESERVED = frozenset({MAIN, "thread", "topic", "node", "agent", "global", "unknown", *_SOURCES})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeRules:
    """`links` maps a person's channel ids to one name; see `compile_links`."""

    dm: DmScope = "main"
    links: Mapping[UserId, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a scope says about itself. `channel` is empty for scopes that belong to no channel."""

    source: Source
    channel: str = ""
    account: str = ""
    is_thread: bool = False


def compile_links(links: Mapping[str, Sequence[str]]) -> Mapping[UserId, str]:
    """`{"ana": ["telegram:1", "email:ana@x"]}` turned round. Raises BadInput if an id has no channel or two names."""
    found: dict[UserId, str] = {}
    for name, ids in links.items():
        if not name.strip():
            raise BadInput("session.identityLinks has an empty name", hint="Give every linked person a name.")
        for text in ids:
            user = parse_user_id(text)
            if found.setdefault(user, name) != name:
                raise BadInput(f"session.identityLinks gives {text[:80]!r} to both {found[user]!r} and {name!r}")
    return found


def session_key(agent: str, message: InboundMessage, rules: ScopeRules) -> SessionKey:
    """The conversation a channel's message belongs to. Raises BadInput if sender or chat has no id."""
    return SessionKey(agent, scope_of(message, rules))


def scope_of(message: InboundMessage, rules: ScopeRules) -> str:
    address = message.address
    if message.chat_kind is not ChatKind.DIRECT:
        if not address.chat:
            raise BadInput("a group message came without its chat's id")
        base = ":".join((*_house(address.channel, address.account), message.chat_kind.value, _part(address.chat)))
        return f"{base}:thread:{_part(address.thread)}" if address.thread else base
    base = _direct(message, rules)
    if not address.thread:
        return base
    # A direct scope may join channels and accounts, whose thread ids mean nothing to each other: name the whole place.
    place = (address.channel, address.account or DEFAULT_ACCOUNT, address.chat or message.sender.stable_id, address.thread)
    return ":".join((base, "thread", *map(_part, place)))


def cron_scope(job: str, run: str = "") -> str:
    """An isolated run of a job names `run` and so gets a conversation of its own."""
    return ":".join(("cron", *_filled(job), *((_part(run),) if run else ())))


def hook_scope(name: str) -> str:
    return ":".join(("hook", *_filled(name)))


def subagent_scope(child: str) -> str:
    return ":".join(("subagent", *_filled(child)))


def node_scope(node: str) -> str:
    return "node-" + "".join(_filled(node))


def api_scope(user: str, *, client: str = "") -> str:
    """The conversation that an API caller names by `user`. `client` keeps the callers of different tokens apart."""
    return ":".join(("api", *(_filled(client) if client else ()), *_filled(user)))


def call_scope(call: str) -> str:
    """A conversation of one stateless request."""
    return ":".join(("call", *_filled(call)))


def parse_key(text: str) -> SessionKey:
    """Read a key that a person typed: older spellings (`dm`, `topic`) become ours. Raises BadInput."""
    key = SessionKey.parse(text.strip())
    parts = key.scope.split(":")
    head = 0 if parts[0] in ("direct", "dm") else _kind_at(parts)
    if head is None or parts[0] == MAIN or parts[0] in _OF_NO_CHANNEL:
        return key
    if parts[head] == "dm":
        parts[head] = "direct"
    if len(parts) > head + 3 and parts[-2] == "topic":
        parts[-2] = "thread"
    return SessionKey(key.agent, ":".join(parts))


def place_of(scope: str) -> Place:
    """Read a scope back as far as rules need it. Never raises; what we did not make is `other`."""
    parts = scope.split(":")
    if parts[0] == MAIN:
        return Place(source="main", is_thread=len(parts) > 1)
    if len(parts) == 1:
        return Place(source="node" if scope.startswith("node-") else "other")
    if parts[0] in _OF_NO_CHANNEL:
        return Place(source=_SOURCES[parts[0]])
    if parts[0] == "direct":
        is_named = parts[1].startswith("~") or len(parts) == 2
        thread = parts[2:3] if is_named else parts[3:4]
        return Place(source="direct", channel="" if is_named else unquote(parts[1]), is_thread=thread == ["thread"])
    at = _kind_at(parts)
    if at is None:
        return Place(source="other")
    return Place(
        source=_SOURCES[parts[at]],
        channel=unquote(parts[0]),
        account=unquote(parts[1]) if at == 2 else DEFAULT_ACCOUNT,
        is_thread=len(parts) > at + 3 and parts[at + 2] == "thread",
    )


def _direct(message: InboundMessage, rules: ScopeRules) -> str:
    if rules.dm == "main":
        return MAIN
    sender = message.sender
    if not sender.stable_id:
        raise BadInput("a direct message came without its sender's id")
    name = rules.links.get(UserId(channel=sender.channel.strip().lower(), stable_id=sender.stable_id))
    if name is not None:
        return f"direct:~{_part(name)}"
    if rules.dm == "per-peer":
        return f"direct:{_head(sender.channel)}:{_part(sender.stable_id)}"
    if rules.dm == "per-channel-peer":
        return f"{_head(message.address.channel)}:direct:{_part(sender.stable_id)}"
    account = message.address.account or DEFAULT_ACCOUNT
    return f"{_head(message.address.channel)}:{_head(account, fold=False)}:direct:{_part(sender.stable_id)}"


def _house(channel: str, account: str) -> tuple[str, ...]:
    if not account or account == DEFAULT_ACCOUNT:
        return (_head(channel),)
    return (_head(channel), _head(account, fold=False))


def _kind_at(parts: Sequence[str]) -> int | None:
    """Where the word direct, group or channel stands; words of ours are never spelled by a channel or an account."""
    for at in (1, 2):
        if len(parts) > at + 1 and parts[at] in ("direct", "dm", "group", "channel"):
            return at
    return None


def _part(text: str) -> str:
    """One part of a scope: no colon, no control character, no leading `~`, bounded, and different for different texts."""
    if not text:
        return "%00"
    safe = quote(text, safe=_KEPT, errors="surrogatepass").replace("~", "%7E")
    if len(safe) <= _LONGEST_PART:
        return safe
    # "%~" cannot come out of quoting, so a long id never looks like a short one.
    return "%~" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _head(text: str, *, fold: bool = True) -> str:
    """A channel or an account: as `_part`, and never one of the words that give a scope its shape."""
    part = _part(text.strip().lower() if fold else text)
    if part.lower() in _RESERVED or part.startswith("node-"):
        return f"%{ord(part[0]):02X}{part[1:]}"
    return part


def _filled(text: str) -> tuple[str]:
    if not text:
        raise BadInput("a session needs a name")
    return (_part(text),)
