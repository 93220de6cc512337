"""Layers about where people talk: the rules of a group, and of single senders in it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import TypeVar

from ostiary.contracts.errors import BadInput
from ostiary.contracts.messages import Address, ChatKind, InboundMessage, UserId
from ostiary.contracts.policy import Action, Decision
from ostiary.contracts.records import dataclass
from ostiary.core.policy.judge import Layer, joined
from ostiary.core.policy.layers import Lists, lists_layer
from ostiary.core.routing.scopes import ScopeRules, place_of, scope_of

Key = TypeVar("Key")

EVERY = "*"
_BY_NAME = ("name:", "username:", "user:")
_BY_ID = ("id:", "e164:")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRules:
    """What configuration says of one group. `senders` by stable id, `*` for those not named."""

    tools: Lists = field(default_factory=Lists)
    senders: Mapping[str, Lists] = field(default_factory=dict)


Groups = Mapping[str, Mapping[str, GroupRules]]
"""By channel, then by the group's stable id, `*` for those not named."""


def group_layer(groups: Groups, *, plugin_tools: frozenset[str] = frozenset()) -> Layer:
    """Narrow by the group an action belongs to. Raises BadInput."""
    layers = {
        place: lists_layer("group", rules.tools, plugin_tools=plugin_tools)
        for place, rules in _by_place(groups)
        if not rules.tools.is_silent
    }

    def judge(action: Action) -> Decision | None:
        found = (_first(layers, places) for places in _belongs(action))
        return _strictest(layer(action) for layer in found if layer is not None)

    return judge


def sender_layer(groups: Groups, *, plugin_tools: frozenset[str] = frozenset()) -> Layer:
    """Narrow by who speaks in a group. Senders are told apart by stable ids alone. Raises BadInput."""
    layers = {
        (*place, _sender(key, place[0])): lists_layer("sender", lists, plugin_tools=plugin_tools, of_people=True)
        for place, rules in _by_place(groups)
        for key, lists in rules.senders.items()
    }

    def judge(action: Action) -> Decision | None:
        user = action.principal.user
        found = []
        for places in _belongs(action):
            # An id means somebody only on its own channel.
            ids = (user.stable_id, EVERY) if user.channel.lower() == places[0][0] else (EVERY,)
            found.append(_first(layers, [(*place, each) for place in places for each in ids]))
        return _strictest(layer(action) for layer in found if layer is not None)

    return judge


def _by_place(groups: Groups) -> Iterator[tuple[tuple[str, str], GroupRules]]:
    for channel, of_channel in groups.items():
        for group, rules in of_channel.items():
            yield (channel.lower(), EVERY if group == EVERY else part_of(group)), rules


def _sender(key: str, channel: str) -> str:
    """A stable id as configuration may write it. Raises BadInput for a name: anybody can take a name."""
    text = key.strip()
    if text == EVERY:
        return EVERY
    if text.lower().startswith(_BY_NAME) or (text.startswith("@") and ":" not in text):
        raise BadInput(
            f"toolsBySender names {key[:80]!r}, which is no stable id", hint="Use the platform's own id, never a name."
        )
    for prefix in (*_BY_ID, f"{channel}:"):
        if text.lower().startswith(prefix):
            text = text[len(prefix) :].strip()
    if not text:
        raise BadInput("toolsBySender has an entry without an id", hint="Use the platform's own id.")
    return text


def part_of(group: str) -> str:
    """A group's id as session keys spell it. Raises BadInput for an empty one."""
    nobody = UserId(channel="x", stable_id="x")
    address = Address(channel="x", account="", chat=group)
    message = InboundMessage(id="", address=address, sender=nobody, text="", at=0.0, chat_kind=ChatKind.GROUP)
    return scope_of(message, ScopeRules()).rpartition(":")[2]


def _belongs(action: Action) -> Iterator[list[tuple[str, str]]]:
    """The places an action belongs to, each with its fallback: that of its session and, for what a group's session started,
    that where its answer goes."""
    place = place_of(action.session.scope)
    is_group = place.source in ("group", "channel")
    if is_group:
        parts = action.session.scope.split(":")
        at = 1 if parts[1] in ("group", "channel") else 2
        yield _with_fallback(place.channel, parts[at + 1])
    home = action.reply_to
    if home is None or not home.chat:
        return
    # A sub-agent that does not plainly answer one person may well answer a group.
    may_be_group = is_group or (place.source == "subagent" and home.chat != action.principal.user.stable_id)
    places = _with_fallback(home.channel, part_of(home.chat))
    yield places if may_be_group else places[:1]


def _with_fallback(channel: str, part: str) -> list[tuple[str, str]]:
    return [(channel.lower(), part), (channel.lower(), EVERY)]


def _first(layers: Mapping[Key, Layer], keys: Iterable[Key]) -> Layer | None:
    """The most specific rule that says anything."""
    return next((layers[key] for key in keys if key in layers), None)


def _strictest(answers: Iterable[Decision | None]) -> Decision | None:
    decision: Decision | None = None
    for answer in answers:
        decision = answer if decision is None else joined(decision, answer)
    return decision
