"""What a summary must not lose: names, numbers, dates, paths and addresses, found by plain rules in the order they were said.

The rules are deliberately simple and know no language. They find too much rather than too little; what is told of it is
bounded by a budget.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from ostiary.contracts.patterns import late
from ostiary.contracts.records import dataclass

_URL = r"https?://[^\s<>\"')\]]+"
_EMAIL = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
_FILES = "py|md|txt|json|ya?ml|toml|csv|pdf|docx?|xlsx?|js|ts|html|css|sh|sql|png|jpe?g|zip|log|c|h|go|rs|java"
_PATH = rf"(?:~|\.{{1,2}})?(?:/[\w.@+-]+){{2,}}/?|\b[\w-]+(?:/[\w.-]+)+\.\w{{1,8}}|\b[\w-]{{2,}}\.(?:{_FILES})\b"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = (
    r"\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b\d{1,2}:\d{2}\b"
    rf"|\b{_DAY}\.? {_MONTH}\b(?: \d{{4}})?|\b{_MONTH} {_DAY}\b(?:,? \d{{4}})?"
)
_NUMBER = r"(?<![\w.])[€$£#+]?\d[\d.,'’-]*\d(?:%|€|[a-z]{1,4}\b)?|(?<![\w.])[€$£#]\d\b|\b[A-Za-z]+-?\d[\w-]*"
_EXACT = late(rf"(?P<url>{_URL})|(?P<email>{_EMAIL})|(?P<path>{_PATH})|(?P<date>(?i:{_DATE}))|(?P<number>{_NUMBER})")
# Each of those has one of these in it, and most clauses have none.
_HINT = late(r"[\d/@]|\.\w")
_NAME = late(r"\b[^\W\d_a-z][\w'’-]*[^\W\d_][\w'’-]*(?: (?:(?:van|von|de|la|du|al) )?[^\W\d_a-z][\w'’-]+)*")
_ENDS = late(r"(?<=[.!?;])(?<![A-Z][a-z]\.)\s+|\n+")
_STARTS = late(r"(?:^|[!?:;\n\"“(*•–-]|(?<![A-Z][a-z])\.)\s*$")
_TRAILING = ".,;:!?'’)-"
_NOT_NAMES = frozenset(
    {
        "the",
        "this",
        "that",
        "these",
        "those",
        "there",
        "then",
        "they",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "why",
        "how",
        "and",
        "but",
        "for",
        "not",
        "you",
        "your",
        "yes",
        "also",
        "here",
        "please",
        "thanks",
        "thank",
        "hello",
        "sure",
        "okay",
        "done",
        "user",
        "assistant",
        "tool",
        "note",
    }
)
_FACTS_PER_CLAUSE = 12
_MOST_CHARACTERS = 400_000
_COMMON = 12
_LONGEST = 300
_SHAPE = 24
_BARE = 20
_DIGITS = late(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A piece of a sentence and the facts in it, as they are looked for elsewhere (case does not count)."""

    text: str
    facts: tuple[str, ...]


def clauses(text: str) -> Iterator[Clause]:
    """The clauses of a text that hold facts. Time is linear in the text; beyond the first 400,000 characters nothing is read."""
    for sentence in _ENDS.split(text[:_MOST_CHARACTERS]):
        # Pieces are short, so that no text makes the patterns slow.
        for start in range(0, len(sentence), _LONGEST):
            piece = " ".join(sentence[start : start + _LONGEST].split()).lstrip("-•* ")
            facts = tuple(dict.fromkeys(_facts(piece)))[:_FACTS_PER_CLAUSE]
            if facts:
                yield Clause(text=piece, facts=facts)


def _facts(clause: str) -> Iterator[str]:
    rest: list[str] = []
    place = 0
    for found in _EXACT.finditer(clause) if _HINT.search(clause) else ():
        rest.append(clause[place : found.start()])
        place = found.end()
        fact = found[0].rstrip(_TRAILING)
        if len(fact) > 1:
            yield fact.casefold()
    rest.append(clause[place:])
    plain = " · ".join(rest)
    for found in _NAME.finditer(plain):
        words = found[0].rstrip(_TRAILING)
        # What begins a sentence is capitalised anyway.
        if _STARTS.search(plain[: found.start()]):
            words = words.partition(" ")[2]
        if len(words) > 2 and words.casefold() not in _NOT_NAMES:
            yield words.casefold()


def missing(sources: Iterable[str], told: str, *, characters: int, width: int = 120, alike: int = 12) -> list[str]:
    """Short quotations, at most `characters` in all, of what the texts mention and `told` does not, in the order it was said.

    What says much in few words goes first, and what is said in words of its own before one of many alike, such as rows of a
    table or lines of a log; at most `alike` of those are told (0: no matter how many). Among equals earlier texts go first.
    Names that are said all the time are left out."""
    known = told.casefold()
    said_in_order = list(sources)
    # What is said many times in the same words is read once.
    read = {source: tuple(clauses(source)) for source in set(said_in_order)}
    found = [clause for source in said_in_order for clause in read[source]]
    shape = list(map(_shape, found))
    shapes = Counter(shape)
    left = dict.fromkeys(shapes, alike or len(found))

    def worth(place: int) -> float:
        clause = found[place]
        dense = len(clause.facts) / (min(len(clause.text), width) + _BARE)
        return -dense / min(shapes[shape[place]], alike) ** 0.5 if alike else -dense

    order = sorted(range(len(found)), key=worth)
    said: dict[str, int] = {}
    for clause in found:
        for fact in clause.facts:
            said[fact] = said.get(fact, 0) + 1
    quoted: dict[int, str] = {}
    for place in order:
        clause = found[place]
        lacking = [fact for fact in clause.facts if fact not in known and (said[fact] <= _COMMON or any(map(str.isdigit, fact)))]
        if not lacking or not left[shape[place]]:
            continue
        line = around(clause.text, lacking, width)
        if len(line) + 3 > characters:
            continue
        characters -= len(line) + 3
        left[shape[place]] -= 1
        quoted[place] = line
        known += "\n" + line.casefold()
    return [line for _, line in sorted(quoted.items())]


def _shape(clause: Clause) -> str:
    return _DIGITS.sub("#", clause.text[:_SHAPE])


def around(text: str, facts: Iterable[str], width: int) -> str:
    """As much of a clause as fits around its facts."""
    if len(text) <= width:
        return text
    lowered = text.casefold()
    first = min((place for fact in facts if (place := lowered.find(fact)) >= 0), default=0)
    start = max(0, min(first - width // 3, len(text) - width))
    cut = text[start : start + width].strip()
    return f"{'… ' if start else ''}{cut}{' …' if start + width < len(text) else ''}"
