"""Where in memory an answer was found, told by the house where the model did not tell it."""

import re
from collections.abc import Iterator, Sequence

from ostiary.contracts.content import Message, Text, ToolMessage, UserMessage
from ostiary.contracts.patterns import late
from ostiary.contracts.records import dataclass

_ASKED = "[Cite what you use"
_HIT = late(r"^(?P<path>\S.*?):(?P<start>\d+)-\d+(?: \([^\n]*\))?\n(?P<lines>(?:>[^\n]*(?:\n|$))+)", re.MULTILINE)
_WORD = late(r"\w+")
_TOOLS = ("memory_search", "vault_memory_search")
_NAME = late(r"(?<=\w )[^\W\d_a-z]\w{2}\b|\b\w*\d\w*\b")
_SHORTEST = 4
_MOST = 2
# What stands in nearly every sentence shows nothing.
_COMMON = (
    "that this with have from your about there what when which will would could been were they them then than also here know "
    "nothing found dass eine einen nicht sich auch noch oder aber wird sind haben habe kann wenn"
)
_EVERYWHERE = frozenset(_COMMON.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    place: str
    words: frozenset[str]


def sources(reply: str, said: Sequence[Message]) -> str:
    """A line that names them, or nothing: the search did not ask for it, the reply names one itself, or uses none.

    `said` is the turn so far. A line of memory counts as used if the reply has words of it that the question had not."""
    outcomes = [each for message in said if isinstance(message, ToolMessage) for each in message.outcomes]
    found = [each.text for each in outcomes if each.name in _TOOLS and not each.is_error and _ASKED in each.text]
    if not reply.strip() or "Source:" in reply or not found:
        return ""
    told = _all(reply) - _all(_question(said))
    shared = {line.place: len(line.words & told) for text in found for line in _lines(text)}
    best = max(shared.values(), default=0)
    used = [place for place, count in shared.items() if count and count == best][:_MOST]
    return f"\n\nSource: {', '.join(used)}" if used else ""


def _question(said: Sequence[Message]) -> str:
    asked = (part for message in said if isinstance(message, UserMessage) for part in message.parts)
    return "\n".join(part.text for part in asked if isinstance(part, Text))


def _lines(text: str) -> Iterator[_Line]:
    for hit in _HIT.finditer(text):
        for offset, line in enumerate(hit["lines"].splitlines()):
            yield _Line(place=f"{hit['path']}#L{int(hit['start']) + offset}", words=_words(line))


def _all(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _words(text: str) -> frozenset[str]:
    """Those that say something: longer ones, and of the short ones names and numbers."""
    long = {word for word in _WORD.findall(text.casefold()) if len(word) >= _SHORTEST}
    return frozenset(long - _EVERYWHERE | {name.casefold() for name in _NAME.findall(text)})
