"""What a plain search finds: words, vectors, and their fixed mix, over chunks of 400 tokens with 80 of overlap.

A token counts as four characters. The mix takes the best 24 of each side: 0.7 of the cosine and 0.3 of 1 / (1 + rank)."""

import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from evals.memory.recall import Hit
from ostiary.contracts.search import Embedder

_TOKENS = 400
_OVERLAP = 80
_CANDIDATES = 4
_WORD = re.compile(r"\w+")
# The usual parameters of the formula.
_K1, _B = 1.2, 0.75

Answer = Callable[[str, bytes], list[Hit]]


@dataclass(frozen=True, slots=True)
class Chunk:
    hit: Hit
    text: str


def chunks(notes: Mapping[str, str]) -> list[Chunk]:
    """Whole lines up to the limit; each chunk begins with the last lines of the one before."""
    made: list[Chunk] = []
    for path, text in notes.items():
        lines = text.splitlines()
        start = 0
        while start < len(lines):
            end = _end(lines, start)
            part = "\n".join(lines[start:end])
            made.append(Chunk(Hit(path, start + 1, end, len(part)), part))
            if end == len(lines):
                break
            start = max(start + 1, _step_back(lines, start, end))
    return made


def _end(lines: Sequence[str], start: int) -> int:
    size, end = 0, start
    while end < len(lines) and (end == start or size + len(lines[end]) + 1 <= _TOKENS * 4):
        size += len(lines[end]) + 1
        end += 1
    return end


def _step_back(lines: Sequence[str], start: int, end: int) -> int:
    size, first = 0, end
    while first > start + 1 and size + len(lines[first - 1]) + 1 <= _OVERLAP * 4:
        first -= 1
        size += len(lines[first]) + 1
    return first


class Words:
    """BM25."""

    def __init__(self, parts: Sequence[Chunk]) -> None:
        self._counts = [Counter(_words(part.text)) for part in parts]
        self._sizes = [sum(count.values()) for count in self._counts]
        self._mean = sum(self._sizes) / len(self._sizes)
        self._holding = Counter(word for count in self._counts for word in count)

    def scores(self, question: str) -> list[float]:
        total = [0.0] * len(self._counts)
        for word in set(_words(question)):
            holding = self._holding[word]
            weight = math.log(1 + (len(self._counts) - holding + 0.5) / (holding + 0.5))
            for place, count in enumerate(self._counts):
                times = count[word]
                if times:
                    norm = _K1 * (1 - _B + _B * self._sizes[place] / self._mean)
                    total[place] += weight * times * (_K1 + 1) / (times + norm)
        return total


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _vector(raw: bytes) -> "array[float]":
    return array("f", raw)


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


async def baselines(notes: Mapping[str, str], embedder: Embedder, limit: int) -> dict[str, Answer]:
    """By name: from a question and its vector to the hits."""
    parts = chunks(notes)
    words = Words(parts)
    vectors = [_vector(raw) for raw in await embedder.embed([part.text for part in parts], "passage")]

    def best(scores: Mapping[int, float], most: int) -> list[int]:
        return sorted((place for place in scores if scores[place] > 0), key=lambda place: (-scores[place], place))[:most]

    def by_words(question: str, vector: bytes) -> list[Hit]:
        return [parts[place].hit for place in best(dict(enumerate(words.scores(question))), limit)]

    def by_vectors(question: str, vector: bytes) -> list[Hit]:
        asked = _vector(vector)
        return [parts[place].hit for place in best({place: _dot(asked, each) for place, each in enumerate(vectors)}, limit)]

    def by_mix(question: str, vector: bytes) -> list[Hit]:
        asked = _vector(vector)
        near = {place: _dot(asked, each) for place, each in enumerate(vectors)}
        score: dict[int, float] = {place: 0.7 * near[place] for place in best(near, limit * _CANDIDATES)}
        for rank, place in enumerate(best(dict(enumerate(words.scores(question))), limit * _CANDIDATES)):
            score[place] = score.get(place, 0.0) + 0.3 / (1 + rank)
        return [parts[place].hit for place in best(score, limit)]

    return {"words, 400 tokens": by_words, "vectors, 400 tokens": by_vectors, "mix 0.7 / 0.3": by_mix}
