"""Whom a call would send to. Only the tool `message` says it in a way that can be trusted to be all of it."""

from collections.abc import Iterable

from ostiary.contracts.policy import Action
from ostiary.contracts.tool import Effect

_TELLING = 5


def is_reply(action: Action, effects: frozenset[Effect]) -> bool:
    """Whether all it does is to say something where the turn's answer goes anyway."""
    if action.tool.name != "message" or not effects <= {Effect.READ, Effect.SEND}:
        return False
    if not action.arguments.get("to") and not action.arguments.get("channel"):
        return True
    home = action.reply_to
    if home is None:
        return False
    where = f"{home.channel}:{home.chat}"
    return recipient(action) == (f"{where}:{home.thread}" if home.thread else where)


def recipient(action: Action) -> str:
    """`channel:chat[:thread]` as the call names it; empty if it names none, or not by a text."""
    to, channel = action.arguments.get("to"), action.arguments.get("channel")
    if not isinstance(to, str) or not to or not isinstance(channel, str | None):
        return ""
    if not channel:
        return to
    return to if to.startswith(f"{channel}:") else f"{channel}:{to}"


def spellings(action: Action) -> tuple[str, ...]:
    """How a person may have named the recipient: in full or, if that is long enough to mean nobody else, without its
    channel."""
    full = recipient(action)
    bare = full.partition(":")[2]
    return tuple(each for each in (full, bare) if len(each) >= _TELLING)


def is_listed(action: Action, recipients: Iterable[str]) -> bool:
    """Whether configuration names the recipient, in full."""
    full = recipient(action)
    return bool(full) and full in recipients
