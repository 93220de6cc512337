"""The evaluation set as data."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

HERE = Path(__file__).parent
NOTES = HERE / "notes"
HELD_OUT = HERE / "held_out"
Kind = Literal["single", "multi", "temporal", "open"]
KINDS: tuple[Kind, ...] = ("single", "multi", "temporal", "open")
Style = Literal["plain", "paraphrased"]
STYLES: tuple[Style, ...] = ("plain", "paraphrased")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a note, 1-based."""

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Question:
    """A plain one names things as the note does, as people do who were there; a paraphrased one shares few words with it."""

    set: str
    text: str
    kind: Kind
    style: Style
    evidence: tuple[Line, ...]


@cache
def questions(part: Path = HERE) -> tuple[Question, ...]:
    """In the order of the file. Those of `HELD_OUT` are for looking, never for tuning."""
    rows = [json.loads(row) for row in (part / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    return tuple(
        Question(row["set"], row["question"], row["kind"], row["style"], tuple(Line(**at) for at in row["evidence"]))
        for row in rows
    )


def notes(name: str, part: Path = HERE) -> dict[str, str]:
    """The text of each note of a set by its path."""
    folder = part / "notes" / name
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.md"))}


def sets(part: Path = HERE) -> tuple[str, ...]:
    return tuple(sorted(path.name for path in (part / "notes").iterdir() if path.is_dir()))
