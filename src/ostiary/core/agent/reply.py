"""What people are told when a turn is over."""

from ostiary.contracts.events import TurnStatus
from ostiary.contracts.model import Usage
from ostiary.core.agent.shaping import shape_reply
from ostiary.core.sessions.session import Turn


def closing_reply(
    turn: Turn, status: TurnStatus, reason: str, *, hint: str = "", notices: tuple[str, ...] = (), partial: str = ""
) -> str:
    """The text of the reply; empty means silence."""
    match status:
        case "completed":
            text = shape_reply(turn.texts[-1] if turn.texts else "", failed_tool=turn.failed_tool)
        case "aborted":
            text = partial
        case "timeout":
            text = f"{partial}\n\nI stopped: {reason}.".strip()
        case _:
            sentence = reason[:1].upper() + reason[1:].rstrip(".")
            text = f"I could not answer. {sentence}. {hint}".strip()
    return "\n\n".join((*notices, text)) if text else ""


def usage_footer(setting: str, usage: Usage) -> str:
    if setting not in ("tokens", "full", "cost"):
        return ""
    read = usage.input + usage.cache_read + usage.cache_write
    tokens = f"{read:,} tokens in, {usage.output:,} out"
    cost = "" if usage.cost is None else f"${usage.cost:.4f}"
    shown = {"tokens": tokens, "cost": cost or "cost unknown", "full": ", ".join(filter(None, (tokens, cost)))}[setting]
    return f"\n\n_{shown}_"
