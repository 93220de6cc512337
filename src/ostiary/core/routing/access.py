"""Who may speak: one pure decision, and the only one. Absent, empty or unknown means no."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from ostiary.contracts.identity import Principal
from ostiary.contracts.messages import ChatKind, InboundMessage, UserId
from ostiary.contracts.records import dataclass

DmPolicy = Literal["pairing", "allowlist", "open", "disabled"]
GroupPolicy = Literal["open", "allowlist", "disabled"]
DropReason = Literal[
    "no_policy", "no_sender_id", "not_the_sender", "no_chat_id", "dm_disabled", "not_paired", "not_on_allowlist",
    "group_disabled", "group_not_listed", "not_on_group_allowlist", "not_mentioned",
]  # fmt: skip

ANYONE = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRule:
    """What is set for one group; None leaves it to the channel."""

    require_mention: bool | None = None
    allow_from: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakPolicy:
    """One account's rules. Ids are stable ids, bare or as `channel:id`; `*` means anyone.

    `paired` holds those whose pairing was approved: it opens direct chats and nothing else.
    Without `group_allow_from` the configured `allow_from` counts in groups too.
    Once `groups` names any, the others are closed; `*` there stands for all.
    """

    dm: DmPolicy = "pairing"
    group: GroupPolicy = "allowlist"
    allow_from: frozenset[str] = frozenset()
    group_allow_from: frozenset[str] | None = None
    paired: frozenset[str] = frozenset()
    groups: Mapping[str, GroupRule] = field(default_factory=dict)
    require_mention: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """`by` says which rule let the message in."""

    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """`not_mentioned` comes from somebody who may speak: the message may be kept as context for the next one."""

    reason: DropReason


def may_speak(
    message: InboundMessage,
    principal: Principal,
    policy: SpeakPolicy | None,
    *,
    activation: str = "",
    is_command: bool = False,
) -> Heard | Dropped:
    """`activation` is the session's own setting (`mention`, `always` or empty).

    `is_command` lets the owner's slash command through where only a mention is missing.
    """
    if policy is None:
        return Dropped(reason="no_policy")
    if not message.sender.stable_id.strip():
        return Dropped(reason="no_sender_id")
    if message.sender != principal.user:
        return Dropped(reason="not_the_sender")
    if message.chat_kind is ChatKind.DIRECT:
        return _direct(principal, policy)
    if not message.address.chat:
        return Dropped(reason="no_chat_id")
    heard = _group(message, principal, policy)
    if isinstance(heard, Dropped):
        return heard
    excused = message.mentions_us or (is_command and principal.is_owner)
    if not excused and _needs_mention(message, policy, activation):
        return Dropped(reason="not_mentioned")
    return heard


def _direct(principal: Principal, policy: SpeakPolicy) -> Heard | Dropped:
    if policy.dm == "open":
        return Heard(by="open")
    if policy.dm not in ("pairing", "allowlist"):
        return Dropped(reason="dm_disabled")
    if principal.is_owner:
        return Heard(by="owner")
    if _listed(principal.user, policy.allow_from):
        return Heard(by="allowlist")
    if policy.dm == "allowlist":
        return Dropped(reason="not_on_allowlist")
    return Heard(by="paired") if _listed(principal.user, policy.paired - {ANYONE}) else Dropped(reason="not_paired")


def _group(message: InboundMessage, principal: Principal, policy: SpeakPolicy) -> Heard | Dropped:
    if policy.group not in ("open", "allowlist"):
        return Dropped(reason="group_disabled")
    rule = _rule(message, policy)
    if policy.groups and rule is None:
        return Dropped(reason="group_not_listed")
    if policy.group == "open" and (rule is None or rule.allow_from is None):
        return Heard(by="open")
    if principal.is_owner:
        return Heard(by="owner")
    allowed = policy.allow_from if policy.group_allow_from is None else policy.group_allow_from
    if rule is not None and rule.allow_from is not None:
        allowed = rule.allow_from
    return Heard(by="allowlist") if _listed(principal.user, allowed) else Dropped(reason="not_on_group_allowlist")


def _needs_mention(message: InboundMessage, policy: SpeakPolicy, activation: str) -> bool:
    if activation in ("always", "mention"):
        return activation == "mention"
    rule = _rule(message, policy)
    if rule is not None and rule.require_mention is not None:
        return rule.require_mention
    return policy.require_mention


def _rule(message: InboundMessage, policy: SpeakPolicy) -> GroupRule | None:
    for name in (message.address.chat, message.parent, ANYONE):
        if name and name in policy.groups:
            return policy.groups[name]
    return None


def _listed(user: UserId, ids: frozenset[str]) -> bool:
    if ANYONE in ids:
        return True
    prefix = f"{user.channel.lower()}:"
    # An id that happens to begin like `channel:` must not pass for the entry of somebody else.
    is_bare = not user.stable_id.lower().startswith(prefix)
    return prefix + user.stable_id in ids or (is_bare and user.stable_id in ids)
