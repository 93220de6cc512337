"""Whether replies of a session may leave the house. A rule that denies beats every rule that allows."""

from collections.abc import Sequence
from typing import Literal

from ostiary.contracts.identity import SessionKey
from ostiary.contracts.records import dataclass

Action = Literal["allow", "deny"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SendRule:
    """Every field that is set must match. `key_prefix` is compared with the scope, `raw_key_prefix` with the whole key."""

    action: Action
    channel: str = ""
    chat_type: str = ""
    key_prefix: str = ""
    raw_key_prefix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendPolicy:
    rules: Sequence[SendRule] = ()
    default: Action = "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class SendVerdict:
    allowed: bool
    reason: str


def may_send(key: SessionKey, *, channel: str, chat_type: str, policy: SendPolicy, override: str = "") -> SendVerdict:
    """`override` is the session's own `send` setting: `on`, `off`, or empty to follow the rules.

    An action, default or override that is none of the known words denies.
    """
    if override:
        return SendVerdict(allowed=override == "on", reason=f"/send {override}")
    allowed_by = ""
    for place, rule in enumerate(policy.rules):
        if not _matches(rule, key, channel, chat_type):
            continue
        if rule.action != "allow":
            return SendVerdict(allowed=False, reason=f"session.sendPolicy.rules[{place}]")
        allowed_by = allowed_by or f"session.sendPolicy.rules[{place}]"
    if allowed_by:
        return SendVerdict(allowed=True, reason=allowed_by)
    return SendVerdict(allowed=policy.default == "allow", reason="session.sendPolicy.default")


def _matches(rule: SendRule, key: SessionKey, channel: str, chat_type: str) -> bool:
    whole, scope = str(key).lower(), key.scope.lower()
    prefix = rule.key_prefix.strip().lower()
    raw_prefix = rule.raw_key_prefix.strip().lower()
    if prefix.startswith("agent:"):
        # Older files wrote whole keys under this name.
        scope = whole
    return (
        (not rule.channel or rule.channel.strip().lower() == channel.strip().lower())
        and (not rule.chat_type or _chat_type(rule.chat_type) == _chat_type(chat_type))
        and scope.startswith(prefix)
        and whole.startswith(raw_prefix)
    )


def _chat_type(text: str) -> str:
    word = text.strip().lower()
    return "direct" if word == "dm" else word
