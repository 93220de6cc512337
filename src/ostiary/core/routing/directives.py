"""Directives and shortcuts inside a message: found, taken out, and the rest left as it was written.

Only the sender's own words are read: quoted lines and code are not instructions.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from ostiary.contracts.patterns import late
from ostiary.contracts.records import dataclass
from ostiary.core.routing.commands import Command, Commands

_TOKEN = late(r"(?<!\S)/([A-Za-z][A-Za-z0-9_-]{0,31})(?:@([A-Za-z0-9_]{1,64}))?(?::[ \t]*|(?=\s)|$)")
_WORD = late(r"[ \t]*(\S+)")
_MOST_WORDS = 8
_MOST_TOKENS = 32
_FENCE_LINE = late(r"^[ \t]*(```|~~~)")
_INLINE_CODE = late(r"`[^`\n]+`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A command named inside a text, with the words that belong to it. `leads` if the text begins with it."""

    command: Command
    args: str
    start: int
    end: int
    leads: bool


def mentions_in(
    text: str, commands: Commands, *, allows: Callable[[Command], bool], is_us: Callable[[str], bool]
) -> tuple[Mention, ...]:
    """The directives (with valid words behind them) and shortcuts that the sender may use, in the order written."""
    if "/" not in text:
        return ()
    foreign = _foreign_spans(text)
    found: list[Mention] = []
    position = 0
    for _ in range(_MOST_TOKENS):
        token = _TOKEN.search(text, position)
        if token is None:
            break
        position = token.end()
        command = commands.find(token[1])
        if command is None or not is_us(token[2] or "") or not allows(command):
            continue
        if any(start <= token.start() < end for start, end in foreign):
            continue
        mention = _mention(text, token, command)
        if mention is not None:
            found.append(mention)
            position = mention.end
    return tuple(found)


def without(text: str, mentions: Sequence[Mention]) -> str:
    """The text with the mentions taken out; other words, lines and indentation stay as they were."""
    pieces: list[str] = []
    position = 0
    for mention in mentions:
        before = text[position : mention.start]
        pieces.append(before)
        position = mention.end
        if before.endswith((" ", "\t")) or not before:
            while position < len(text) and text[position] in " \t":
                position += 1
    pieces.append(text[position:])
    return "".join(pieces).strip()


def one_of(values: Mapping[str, str]) -> Callable[[Sequence[str]], int]:
    """For directives with a closed set of words."""
    return lambda words: int(bool(words) and plain_word(words[0]) in values)


def plain_word(word: str) -> str:
    """As people type it: case and a closing punctuation mark do not matter."""
    return word.lower().rstrip(",.;!?")


def _mention(text: str, token: re.Match[str], command: Command) -> Mention | None:
    leads = not text[: token.start()].strip()
    if command.is_shortcut:
        return Mention(command=command, args="", start=token.start(), end=token.end(), leads=leads)
    if command.directive is None:
        return None
    words: list[re.Match[str]] = []
    position = token.end()
    while len(words) < _MOST_WORDS and (word := _WORD.match(text, position)) is not None:
        words.append(word)
        position = word.end()
    count = command.directive.takes([word[1] for word in words])
    if count < 1:
        return None
    args = " ".join(word[1] for word in words[:count])
    return Mention(command=command, args=args, start=token.start(), end=words[count - 1].end(), leads=leads)


def _foreign_spans(text: str) -> list[tuple[int, int]]:
    """Where quoted lines and code stand. One pass over the lines, so that no text makes it slow."""
    spans: list[tuple[int, int]] = []
    fence = ""
    position = 0
    for line in text.splitlines(keepends=True):
        end = position + len(line)
        mark = _FENCE_LINE.match(line)
        if fence:
            spans.append((position, end))
            if mark is not None and mark[1] == fence:
                fence = ""
        elif mark is not None:
            fence = mark[1]
            spans.append((position, end))
        elif line.lstrip().startswith(">"):
            spans.append((position, end))
        else:
            spans.extend((position + code.start(), position + code.end()) for code in _INLINE_CODE.finditer(line))
        position = end
    return spans
