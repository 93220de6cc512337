"""A conversation cut to the size of a small model.

Reading costs it about ten milliseconds a token, so the system prompt is shortened to who it is and what day it is, and
old messages are left out in large steps: between two steps the beginning stays the same and is not read again.
"""

import re
from collections.abc import Sequence
from typing import Literal

from ostiary.contracts.content import AssistantMessage, Message, Text, ToolMessage, ToolOutcome, UserMessage
from ostiary.contracts.records import dataclass

RULES = (
    "You are a small model that runs on the user's own machine. Answer briefly and plainly, in the user's language. "
    "Say so when you do not know. You cannot browse the internet."
)
_WHOLE_SYSTEM = 1200
_IDENTITY = 300
_ADDITION = 600
_MEMORY = 900
_KNOWN = "Facts:"
_MESSAGE_BYTES = 4800
_OUTCOME_BYTES = 3600
_BYTES_PER_TOKEN = 3
_TOKENS_PER_MESSAGE = 8
_DATED = re.compile(r"(?im)^.*\b(?:date|today|time ?zone|time)\b.*\d.*$")
_REMEMBERED = re.compile(r"(?ms)^## MEMORY\.md\n(?:# Memory\n)?(.+?)(?=^## |\Z)")
_SENTENCE = re.compile(r"(?s).*?[.!?](?:\s|$)")


@dataclass(frozen=True, slots=True)
class Entry:
    role: Literal["system", "user", "assistant"]
    content: str


def shorten_system(system: tuple[str, ...]) -> str:
    """All of it when it is short; else its first sentences, the rules, the lines that give the date, what is remembered, and
    the turn's addition."""
    whole = "\n\n".join(part.strip() for part in system if part.strip())
    if not whole:
        return RULES
    if len(whole) <= _WHOLE_SYSTEM:
        return f"{whole}\n\n{RULES}"
    stable, additions = system[0].strip(), "\n\n".join(system[1:]).strip()
    lines = [_first_sentences(stable), RULES]
    lines += [found.strip()[:160] for found in _DATED.findall(stable)[:2]]
    remembered = _REMEMBERED.search(stable)
    if remembered is not None:
        lines.append(f"{_KNOWN}\n{_cut(remembered[1].strip(), _MEMORY)}")
    if additions:
        lines.append(_cut(additions, _ADDITION))
    return "\n".join(lines)


def entries(messages: Sequence[Message]) -> list[Entry]:
    """Turns of user and assistant only. What a tool returned is put under the question it was called for."""
    made: list[Entry] = []
    for message in messages:
        if isinstance(message, UserMessage):
            _add(made, "user", _cut(_user_text(message), _MESSAGE_BYTES))
        elif isinstance(message, ToolMessage):
            _add(made, "user", "\n\n".join(map(_outcome_text, message.outcomes)))
        elif not any(part.kind == "tool_call" for part in message.parts):
            _add(made, "assistant", _cut(_assistant_text(message), _MESSAGE_BYTES))
    return made


def fit(system: str, made: list[Entry], tokens: int) -> list[Entry]:
    """The system entry and as many of the latest as `tokens` allow; cuts fall on multiples of a third of the room."""
    room = max(tokens - estimate(system), tokens // 3)
    step = max(room // 3, 1)
    costs = [estimate(entry.content) for entry in made]
    excess = sum(costs) - room
    must_go = -(-excess // step) * step if excess > 0 else 0
    gone = first = 0
    while first < len(made) - 1 and (gone < must_go or made[first].role != "user"):
        gone += costs[first]
        first += 1
    return [Entry("system", system), *made[first:]]


def estimate(text: str) -> int:
    """Tokens, rather too many than too few."""
    return len(text.encode()) // _BYTES_PER_TOKEN + _TOKENS_PER_MESSAGE


def last_question(messages: Sequence[Message]) -> str:
    """What the user asked in the newest turn; empty when a tool has answered since."""
    last = messages[-1] if messages else None
    return _user_text(last) if isinstance(last, UserMessage) else ""


def _add(made: list[Entry], role: Literal["user", "assistant"], content: str) -> None:
    if not content:
        return
    if made and made[-1].role == role:
        made[-1] = Entry(role, f"{made[-1].content}\n\n{content}")
    else:
        made.append(Entry(role, content))


def _user_text(message: UserMessage) -> str:
    return "\n".join(part.text if isinstance(part, Text) else "[an image, which this model cannot see]" for part in message.parts)


def _assistant_text(message: AssistantMessage) -> str:
    return "\n".join(part.text for part in message.parts if isinstance(part, Text))


def _outcome_text(outcome: ToolOutcome) -> str:
    what = "failed" if outcome.is_error else "returned"
    return f"(The tool {outcome.name} {what}:)\n{_cut(outcome.text, _OUTCOME_BYTES)}\n(Answer my question from this.)"


def _first_sentences(text: str) -> str:
    paragraph = next((part for part in text.split("\n\n") if not part.lstrip().startswith("#")), text)
    paragraph = " ".join(paragraph.split())
    if len(paragraph) <= _IDENTITY:
        return paragraph
    kept = ""
    for sentence in _SENTENCE.findall(paragraph):
        if len(kept) + len(sentence) > _IDENTITY:
            break
        kept += sentence
    return kept.strip() or paragraph[:_IDENTITY]


def _cut(text: str, size: int) -> str:
    """At most about `size` bytes: the beginning and the end, with a note of what is missing between them."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= size:
        return raw.decode()
    head = raw[: size * 2 // 3].decode("utf-8", "ignore")
    tail = raw[-(size // 3) :].decode("utf-8", "ignore")
    return f"{head}\n[… {len(raw) - size:,} bytes left out …]\n{tail}"
