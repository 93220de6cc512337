"""How the tables beside this file were made: `python -m ostiary.adapters.search.thesaurus.making <folder of WordNet 3.0>`.

To be run again when stem.py or words.py change a term. A word is related to those that share a frequent sense with it, are
derived from it, stand for a kind of it or for what it is a kind of; a relation weighs as much as the embedded vectors of both
words agree, which takes out the rare senses.
"""

import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import anyio
import numpy as np

from ostiary.adapters.search.embedders.embedded import Embedded
from ostiary.adapters.search.words import terms

_FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
_SENSES = {"n": 3, "v": 3, "a": 2, "r": 1}
_PER_SENSE = 0.7
_SAME, _DERIVED, _KIND, _ABOVE, _SIMILAR = 1.0, 0.8, 0.5, 0.3, 0.4
_DEPTH = 3
_PER_DEPTH = 0.8
_MOST_KINDS = 150
_LEAST_ALIKE = 0.15
_SCALE = 0.8
_LEAST = 0.05
_MOST = 32

Sense = tuple[list[str], list[tuple[str, tuple[str, str], str]]]


def main(folder: Path) -> None:
    senses = {key: sense for part in _FILES for key, sense in _senses(folder, part)}
    index = defaultdict(list)
    for part, name in _FILES.items():
        for line in _lines(folder / f"index.{name}"):
            fields = line.split()
            index[fields[0]].append((part, fields[6 + int(fields[3]) :][: _SENSES[part]]))
    words = [word for word in index if word.isalpha() and len(terms(word)) == 1]
    related: dict[int, dict[int, float]] = defaultdict(dict)
    vectors = _Vectors()
    for word in words:
        (term,) = terms(word)
        for other, weight in _related(word, index[word], senses).items():
            numbers = terms(other)
            alike = vectors.alike(word, other) if len(numbers) == 1 and numbers[0] != term else 0.0
            if alike >= _LEAST_ALIKE and _SCALE * weight * alike >= _LEAST:
                known = related[term]
                known[numbers[0]] = max(known.get(numbers[0], 0.0), _SCALE * weight * alike)
    _write(related, Path(__file__).parent)


def _write(related: dict[int, dict[int, float]], folder: Path) -> None:
    keys = sorted(related)
    best = [sorted(related[key].items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST] for key in keys]
    np.save(folder / "keys.npy", np.array(keys, dtype="<u4"))
    np.save(folder / "starts.npy", np.cumsum([0, *map(len, best)]).astype("<u4"))
    np.save(folder / "terms.npy", np.array([term for some in best for term, _ in some], dtype="<u4"))
    np.save(folder / "weights.npy", np.array([round(weight * 255) for some in best for _, weight in some], dtype="u1"))


def _lines(path: Path) -> Iterator[str]:
    return (line for line in path.read_text().splitlines() if not line.startswith("  "))


def _senses(folder: Path, part: str) -> Iterator[tuple[tuple[str, str], Sense]]:
    for line in _lines(folder / f"data.{_FILES[part]}"):
        fields = line.split("|")[0].split()
        count = int(fields[3], 16)
        words = [fields[4 + 2 * place].lower().split("(")[0] for place in range(count)]
        rest = fields[5 + 2 * count :]
        pointers = [
            (rest[place], (rest[place + 2].replace("s", "a"), rest[place + 1]), rest[place + 3])
            for place in range(0, 4 * int(fields[4 + 2 * count]), 4)
        ]
        yield (part, fields[0]), (words, pointers)


def _related(word: str, entries: list[tuple[str, list[str]]], senses: dict[tuple[str, str], Sense]) -> dict[str, float]:
    found: dict[str, float] = {}

    def add(words: list[str], weight: float) -> None:
        for other in words:
            if other.isalpha():
                found[other] = max(found.get(other, 0.0), weight)

    for part, places in entries:
        for rank, place in enumerate(places):
            worth = _PER_SENSE**rank
            words, pointers = senses[(part, place)]
            add(words, _SAME * worth)
            for sign, target, ends in pointers:
                others = senses[target][0]
                source, goal = int(ends[:2], 16), int(ends[2:], 16)
                if sign == "+" and source and words[source - 1] == word:
                    add([others[goal - 1]], _DERIVED * worth)
                elif sign == "@" and part in "nv":
                    add(others, _ABOVE * worth)
                elif sign == "&":
                    add(others, _SIMILAR * worth)
            for depth, kinds in enumerate(_kinds((part, place), senses)):
                add(kinds, _KIND * worth * _PER_DEPTH**depth)
    return found


def _kinds(start: tuple[str, str], senses: dict[tuple[str, str], Sense]) -> Iterator[list[str]]:
    """Level by level, until there are too many to mean anything."""
    level, seen = [start], 0
    for _ in range({"n": _DEPTH, "v": 1}.get(start[0], 0)):
        level = [target for key in level for sign, target, _ in senses[key][1] if sign in ("~", "~i")]
        seen += len(level)
        if seen > _MOST_KINDS:
            return
        yield [word for key in level for word in senses[key][0]]


class _Vectors:
    def __init__(self) -> None:
        self._embedder = Embedded(clock=_Machine())
        self._known: dict[str, np.ndarray] = {}

    def alike(self, one: str, other: str) -> float:
        return float(self._vector(one) @ self._vector(other))

    def _vector(self, word: str) -> np.ndarray:
        if word not in self._known:
            self._known[word] = np.frombuffer(self._embedder.embed_now([word])[0], dtype="<f4")
        return self._known[word]


class _Machine:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
