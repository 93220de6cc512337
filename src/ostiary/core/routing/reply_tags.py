"""Which message a reply answers: the tags a model may write, and the channel's habit where it writes none."""

import re
from typing import Literal

from ostiary.contracts.records import dataclass

ReplyToMode = Literal["off", "first", "all"]
_TAG = re.compile(r"\[\[\s*reply_to(?:_current|\s*:\s*([^\]\s][^\]\n]{0,127}?))\s*\]\][ \t]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged:
    """`text` without tags. `reply_to` is what the first tag names, empty without one."""

    text: str
    reply_to: str = ""


def read_reply_tag(text: str, current: str) -> Tagged:
    """`current` is the id of the message being answered. Tags inside code stay: there they are text."""
    if "[[" not in text:
        return Tagged(text=text)
    found: list[str] = []

    def take(tag: re.Match[str]) -> str:
        found.append((tag[1] or current).strip())
        return ""

    pieces = re.split(r"(```.*?(?:```|\Z)|`[^`\n]*`)", text, flags=re.DOTALL)
    pieces[::2] = [_TAG.sub(take, piece) for piece in pieces[::2]]
    return Tagged(text="".join(pieces).strip() if found else text, reply_to=found[0] if found else "")


def reply_targets(mode: ReplyToMode, tagged: str, current: str, messages: int) -> list[str]:
    """What each of the messages of one reply answers, empty for nothing.

    A tag always counts and marks the first message, in `all` mode every one; without a tag `off` marks none."""
    target = tagged or (current if mode != "off" else "")
    return [target if place == 0 or mode == "all" else "" for place in range(messages)]


def response_prefix(settings: tuple[str | None, ...], *, first: bool = True) -> str:
    """The most specific prefix that is set (account, channel, general; an empty text means none), with a space behind it.

    Only the first message of a reply carries it."""
    chosen = next((each for each in settings if each is not None), "")
    return f"{chosen.rstrip()} " if chosen.strip() and first else ""
