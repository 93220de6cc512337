"""A conversation in a few lines, for the daily note: what it was about, how it began and ended, what was decided.

Made by rules alone: the same conversation gives the same lines, it costs nothing, and nothing in it was made up.
"""

import re
from collections.abc import Iterable, Sequence

from ostiary.contracts.content import AssistantMessage, Label, Message, Text, Trust, UserMessage
from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.patterns import late
from ostiary.contracts.records import dataclass
from ostiary.core.memory.text import visible
from ostiary.core.sessions.session import labels

LEAST_TURNS = 1
MOST_DECISIONS = 6
MOST_CHARACTERS = 2_500
_LINE = 240
_SENTENCE = late(r"(?<=[.!?])\s+|\n+")
_DECIDED = late(
    r"\b(decid\w+|agreed?|will|let'?s|going to|prefers?|remember|always|never|from now on|deadline|due|must|booked|bought|chose|"
    r"chosen|plan(?:s|ned)? to|wir|ich werde|entschied\w*|immer|nie|merk\w*)\b",
    re.IGNORECASE,
)
_ENVELOPE = late(r"\[[^\]\n]{1,160}\] ")
_RANGE = late(r"\(conversation (?P<key>agent:[^\s,)]+), events (?P<first>\d+)-(?P<last>\d+)\)$")
_COMMAND = late(r"/[a-z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """Which part of which journal a summary tells of."""

    session: SessionKey
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    text: str
    label: Label


def summarised(messages: Sequence[Message], covered: Covered) -> Summary | None:
    """None if nobody said anything worth a line."""
    asked = [text for message in messages if isinstance(message, UserMessage) for text in _texts(message)]
    answered = [text for message in messages if isinstance(message, AssistantMessage) for text in _texts(message)]
    asked = [text for text in asked if text and not _COMMAND.match(text)]
    if len(asked) < LEAST_TURNS:
        return None
    lines = [f"{_cut(asked[0], 120)} {mark(covered)}"]
    if answered:
        lines.append(f"First answer: {_cut(answered[0])}")
    if len(asked) > 1:
        lines.append(f"Last said: {_cut(asked[-1])}")
    if len(answered) > 1:
        lines.append(f"Last answer: {_cut(answered[-1])}")
    decisions = list(dict.fromkeys(_decisions(asked)))[:MOST_DECISIONS]
    lines.extend(f"Said: {each}" for each in decisions if each not in (_cut(asked[0]), _cut(asked[-1])))
    label = Label(trust=Trust.SYSTEM, sources=(str(covered.session),), private=True)
    for message in messages:
        for each in labels(message):
            label = label.join(each)
    return Summary(text="\n".join(lines)[:MOST_CHARACTERS], label=label)


def mark(covered: Covered) -> str:
    return f"(conversation {covered.session}, events {covered.first}-{covered.last})"


def tells_of(text: str) -> Covered | None:
    """What an entry of a daily note is the summary of; None if it is none. Only the end of the first line is ours: whatever
    else looks like the mark was said by somebody."""
    found = _RANGE.search(text.partition("\n")[0])
    if found is None:
        return None
    try:
        key = SessionKey.parse(found["key"])
    except BadInput:
        return None
    return Covered(session=key, first=int(found["first"]), last=int(found["last"]))


def _texts(message: UserMessage | AssistantMessage) -> Iterable[str]:
    for part in message.parts:
        if isinstance(part, Text):
            yield _ENVELOPE.sub("", part.text, count=1).strip()


def _decisions(texts: Sequence[str]) -> Iterable[str]:
    for text in texts:
        for sentence in _SENTENCE.split(text):
            if _DECIDED.search(sentence) and len(sentence) >= 12:
                yield _cut(sentence)


def _cut(text: str, length: int = _LINE) -> str:
    line = " ".join(visible(text).split())
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"
