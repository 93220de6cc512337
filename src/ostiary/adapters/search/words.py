"""Text as terms: lower case, no accents, stemmed, each a number of 32 bits. The index and the question are read alike."""

import re
import unicodedata
import zlib
from itertools import chain

from ostiary.adapters.search.stem import stem

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SHORTENED = re.compile(r"['’](?:s|ll|ve|re|d|m)$|['’]$")
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
_ISO_DATE = re.compile(r"\b(?:19|20)\d\d-(0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])\b")
_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_LONGEST = 40
_KEPT = 60_000

# Too common to tell one line from another: they are not indexed at all.
_SILENT = """a an the and or but if of at by for with to from in on as is are was were be been being am it its this that these
those i you he she we they me him her us them my your his our their mine yours hers ours theirs can could will would shall
should might must do does did has have had not no nor so than too very just there here then"""
# They shape a question and say nothing about its answer.
_ASKING = """what which who whom whose when where why how much many long often kind type sort name tell know say said mention
mentioned according about into during between after before any some ever get got"""
SILENT = frozenset(_SILENT.split())
ASKING = frozenset(_ASKING.split())


class _Known(dict[str, tuple[int, ...]]):
    """The terms of each word that was seen, up to a limit."""

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= _KEPT:
            self.clear()
        numbers = self[word] = _numbers(word)
        return numbers


_known = _Known()


def fold(word: str) -> str:
    """Lower case without accents and what is hung on by an apostrophe; empty for a negation."""
    if not word.isascii():
        decomposed = unicodedata.normalize("NFKD", word.casefold())
        word = "".join(sign for sign in decomposed if not unicodedata.combining(sign))
    word = word.lower()
    if "'" in word or "’" in word:
        word = "" if word.endswith(("n't", "n’t")) else _SHORTENED.sub("", word)
    return word


def number(term: str) -> int:
    return zlib.crc32(term.encode("utf-8", "replace"))


def terms(text: str) -> list[int]:
    """The terms of a text in order, repeated as often as they occur."""
    found = list(chain.from_iterable(map(_known.__getitem__, _WORD.findall(text))))
    if "-" in text:
        found.extend(number(stem(_MONTHS[int(month) - 1])) for month in _ISO_DATE.findall(text))
    return found


def asked(text: str) -> dict[int, str]:
    """The terms a question is about, each with the word that people wrote. Every word counts if nothing else is left."""
    words = [(fold(word), word) for word in _WORD.findall(text)]
    said = [pair for pair in words if pair[0] and pair[0] not in SILENT]
    chosen = [pair for pair in said if pair[0] not in ASKING] or said
    return {term: word for folded, word in chosen for term in _numbers(folded)} | {
        number(stem(_MONTHS[int(month) - 1])): _MONTHS[int(month) - 1] for month in _ISO_DATE.findall(text)
    }


def _numbers(word: str) -> tuple[int, ...]:
    folded = fold(word)
    if not folded or folded in SILENT:
        return ()
    if _WIDE.search(folded):
        # Writing without spaces: every two neighbours are a term.
        pairs = [folded[place : place + 2] for place in range(max(1, len(folded) - 1))]
        return tuple(number(pair) for pair in pairs)
    return (number(stem(folded[:_LONGEST])),)
