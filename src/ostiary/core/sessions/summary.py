"""What stands in a conversation for what was said before: where the cut falls, what a summariser reads, and what is kept of it.

The text of a summary that nobody outside had a part in is plain. Otherwise people's own words come first, word for word, and
everything a model made in sight of untrusted text stands behind them between marks, as data.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from ostiary.contracts.content import AssistantMessage, Label, Message, Text, ToolCall, ToolMessage, Trust, UserMessage
from ostiary.contracts.patterns import late
from ostiary.contracts.records import dataclass
from ostiary.core.agent.spotlight import marks
from ostiary.core.sessions.facts import missing
from ostiary.core.sessions.session import SYSTEM_LABEL, Session, labels, pieces

ALSO = "Also mentioned:"
OWN_WORDS = "In people's own words:"
WITHOUT_MODEL = "(No model could be asked for a summary; these are excerpts.)"

_RESULT = 800
_ARGUMENTS = 400
_MARKED = late(r"\[data ([0-9a-f]{8}) from [^\n]*\]\n(.*)\n\[end \1\]\s*\Z", re.DOTALL)
# Channel, sender and time, as core.agent.prompt wraps messages.
_ENVELOPE = late(r"\A\[[^\]\n]{3,300}\]\s")
_SENTENCE = late(r"(?<=[.!?])\s+|\n+")
_WEIGHTY = late(
    r"\b(?:decid|agree|promis|must|always|never|remember|deadline|prefer|todo|to-do|plan to|will|let'?s|name is|call me|don'?t"
    r"|do not|please|from now on|instead|important|open question|entscheid|vereinbar|immer|niemals|bitte|merk|heiß)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """`covered` is what the summary shall stand for, an earlier summary first; what is said from turn `kept_from` on stays."""

    kept_from: str
    covered: tuple[Message, ...]
    old: str
    turns: int

    label: Label


def cut_of(session: Session, *, characters: int, messages: int = 0) -> Cut | None:
    """Keep the last turns that fit into `characters` (and so many messages, 0 any number), at least the newest one.

    None if nothing but an earlier summary stands before them."""
    spoken = session.marks
    if not spoken:
        return None
    place = len(spoken) - 1
    end, room, count = len(session.messages), characters, messages or len(session.messages)
    while place >= 0:
        start = spoken[place][1]
        room -= sum(size_of(message) for message in session.messages[start:end])
        count -= end - start
        if place < len(spoken) - 1 and (room < 0 or count < 0):
            break
        end = start
        place -= 1
    kept = spoken[place + 1]
    first = 1 if session.summary else 0
    if kept[1] <= first:
        return None
    covered = tuple(session.messages[: kept[1]])
    return Cut(kept_from=kept[0], covered=covered, old=session.summary, turns=place + 1, label=_label(session, covered))


def _label(session: Session, covered: Sequence[Message]) -> Label:
    """Whose words the summary will be made of. What the owner has vouched for since counts as the conversation does now."""
    joined = SYSTEM_LABEL
    for message in covered:
        for label in labels(message):
            joined = joined.join(label)
    return joined if session.label.join(joined) == session.label else session.label


def size_of(message: Message) -> int:
    return sum(len(piece) for piece in pieces(message))


def transcript(cut: Cut) -> list[str]:
    """The covered conversation as text, message by message. What came from outside stands between marks."""
    said = cut.covered[1:] if cut.old else cut.covered
    told = [f"Summary of what came before:\n{cut.old}"] if cut.old else []
    return [*told, *(text for message in said if (text := _told(message)))]


def _told(message: Message) -> str:
    match message:
        case UserMessage(parts=parts):
            words = (_marked(part.text, part.label) for part in parts if isinstance(part, Text))
            return f"User: {_joined(words)}"
        case AssistantMessage(parts=parts):
            said = _joined(part.text for part in parts if isinstance(part, Text))
            calls = _joined(
                f"(calls {part.name} {_short(part.arguments, _ARGUMENTS)})" for part in parts if isinstance(part, ToolCall)
            )
            return f"Assistant: {_joined((said, calls))}" if said or calls else ""
        case ToolMessage(outcomes=outcomes):
            return _joined(
                f"Result of {outcome.name}{' (failed)' if outcome.is_error else ''}: "
                + _marked(_short(outcome.text, _RESULT), outcome.label)
                for outcome in outcomes
            )


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(text for text in texts if text)


def _marked(text: str, label: Label) -> str:
    return marks(text, label) if label.trust is Trust.UNTRUSTED else text


def _short(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return f"{text[: limit * 2 // 3]} … {text[-limit // 3 :]}"


def chunks(texts: Sequence[str], characters: int) -> list[str]:
    """The texts in as few pieces as fit; one that is longer than a piece loses its middle."""
    made: list[str] = []
    held: list[str] = []
    size = 0
    for text in texts:
        text = _short(text, characters - 10)
        if held and size + len(text) + 2 > characters:
            made.append("\n\n".join(held))
            held, size = [], 0
        held.append(text)
        size += len(text) + 2
    return [*made, "\n\n".join(held)] if held else made


def complete(cut: Cut, told: str, *, characters: int) -> str:
    """The summariser's words with what they left out: names, numbers, dates, paths. At most about `characters` in all."""
    told = _short(told.strip(), characters * 2 // 3)
    room = characters - len(told) - len(ALSO) - 4
    old = [plain_of(cut.old)] if cut.old else []
    # What was once chosen to be kept is not weighed again.
    lines = missing(old, told, characters=room * 2 // 3, alike=0) if old else []
    known = "\n".join((told, *lines))
    room -= sum(len(line) + 3 for line in lines)
    lines += missing(_by_weight(cut), known, characters=room)
    return "\n".join((told, "", ALSO, *(f"- {line}" for line in lines))) if lines else told


def _by_weight(cut: Cut) -> Iterator[str]:
    """What people said first, then the assistant, then what tools were asked, then what they gave."""
    said = cut.covered[1:] if cut.old else cut.covered
    for message in said:
        if isinstance(message, UserMessage):
            yield from (_ENVELOPE.sub("", part.text) for part in message.parts if isinstance(part, Text))
    answers = [message for message in said if isinstance(message, AssistantMessage)]
    for message in answers:
        yield from (part.text for part in message.parts if isinstance(part, Text))
    for message in answers:
        yield from (part.arguments for part in message.parts if isinstance(part, ToolCall))
    for message in said:
        if isinstance(message, ToolMessage):
            yield from (_short(outcome.text, _RESULT) for outcome in message.outcomes)


def excerpts(cut: Cut, *, characters: int) -> str:
    """A summary without a model: what was decided, asked for and promised, the first words and the last."""
    said = cut.covered[1:] if cut.old else cut.covered
    lines = [line for message in said for line in _lines(message)]
    weighty = [line for line in lines if _WEIGHTY.search(line)]
    budget = characters // 3 - len(WITHOUT_MODEL)
    parts = [WITHOUT_MODEL]
    if cut.old:
        parts.append(_short(plain_of(cut.old).partition(ALSO)[0].replace(WITHOUT_MODEL, "").strip(), budget // 2))
        budget -= len(parts[-1])
    chosen: dict[str, None] = {}
    for line in (*lines[:2], *lines[-3:], *reversed(weighty)):
        if line not in chosen and budget > len(line):
            chosen[line] = None
            budget -= len(line) + 3
    parts += [f"- {line}" for line in dict.fromkeys(lines) if line in chosen]
    return "\n".join(parts)


def _lines(message: Message) -> Iterator[str]:
    match message:
        case UserMessage(parts=parts):
            who = "User"
        case AssistantMessage(parts=parts):
            who = "Assistant"
        case _:
            return
    for part in parts:
        if isinstance(part, Text):
            words = (" ".join(sentence.split()) for sentence in _SENTENCE.split(_ENVELOPE.sub("", part.text)))
            yield from (f"{who}: {_short(sentence, 200)}" for sentence in words if sentence)


def own_words(cut: Cut, *, characters: int) -> list[str]:
    """What people of the house said that still binds, word for word, the newest kept longest."""
    earlier = _earlier(cut)
    said = cut.covered[1:] if cut.old else cut.covered
    spoken = (
        line.removeprefix("User: ")
        for message in said
        if isinstance(message, UserMessage)
        for part in message.parts
        if isinstance(part, Text) and part.label.trust in (Trust.OWNER, Trust.CONTACT)
        for line in _lines(UserMessage(parts=(part,)))
        if _WEIGHTY.search(line)
    )
    kept: list[str] = []
    for line in reversed(list(dict.fromkeys((*earlier, *spoken)))):
        characters -= len(line) + 3
        if characters < 0:
            break
        kept.append(line)
    return kept[::-1]


def _earlier(cut: Cut) -> list[str]:
    """What an earlier summary knows people to have said. Of one in which nobody outside had a part, all of it is theirs."""
    if is_marked(cut.old):
        return [line[2:] for line in own_of(cut.old).splitlines() if line.startswith("- ")]
    if not cut.old or any(label.trust is Trust.UNTRUSTED for label in labels(cut.covered[0])):
        return []
    return [line.removeprefix("User: ") for line in _lines(_said(cut.old)) if _WEIGHTY.search(line)]


def _said(text: str) -> UserMessage:
    return UserMessage(parts=(Text(text=text, label=SYSTEM_LABEL),))


def written(cut: Cut, told: str, label: Label, *, characters: int) -> str:
    """The summary as the journal keeps it. `label` is the cut's own; where it is untrusted, `told` is data."""
    whole = complete(cut, told, characters=characters)
    if label.trust is not Trust.UNTRUSTED:
        return whole
    own = own_words(cut, characters=characters // 3)
    head = "\n".join((OWN_WORDS, *(f"- {line}" for line in own), "", "")) if own else ""
    return head + marks(whole, label)


def own_of(summary: str) -> str:
    """The part of a summary that nobody outside had a part in."""
    found = _MARKED.search(summary)
    return summary[: found.start()] if found is not None else ""


def plain_of(summary: str) -> str:
    """A summary without its marks."""
    found = _MARKED.search(summary)
    return f"{summary[: found.start()]}{found[2]}".strip() if found is not None else summary


def is_marked(summary: str) -> bool:
    """Whether it tells data from people's words by itself."""
    return _MARKED.search(summary) is not None
