"""How much of the evidence lies in what was found."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evals.memory.questions import Question

MOST_CHARACTERS = 1_600


@dataclass(frozen=True, slots=True)
class Hit:
    """Whole lines `start` to `end` of a note. A hit that shows more than 1,600 characters is refused."""

    path: str
    start: int
    end: int
    characters: int

    def __post_init__(self) -> None:
        if self.characters > MOST_CHARACTERS:
            raise ValueError(f"{self.path}:{self.start} shows {self.characters} characters, {MOST_CHARACTERS} are allowed")


class Found(NamedTuple):
    """Whether any and whether all of the evidence is there, and whether the first hit shows some of it."""

    any: bool
    all: bool
    first: bool


@dataclass(frozen=True, slots=True)
class Recall:
    """Shares of the questions of which any, or all, of the evidence lines were among the hits, or some in the first hit."""

    questions: int
    any: float
    all: float
    first: float


def found(question: Question, hits: Sequence[Hit]) -> Found:
    shown = [[hit.path == at.path and hit.start <= at.line <= hit.end for hit in hits] for at in question.evidence]
    return Found(any(map(any, shown)), all(map(any, shown)), any(True in each[:1] for each in shown))


def recall(answers: Iterable[Found]) -> Recall:
    """Raises ValueError if nothing was asked."""
    rows = list(answers)
    if not rows:
        raise ValueError("no question was asked")
    return Recall(len(rows), *(sum(column) / len(rows) for column in zip(*rows, strict=True)))
