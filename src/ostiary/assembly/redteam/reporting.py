"""What the red team found, for programs and for people."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import groupby

from ostiary.assembly.redteam.attack import SHAPES
from ostiary.assembly.redteam.errand import Ran
from ostiary.assembly.redteam.playing import Row
from ostiary.contracts.records import dataclass

ENOUGH = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    rows: tuple[Row, ...]
    errands: tuple[Ran, ...] = ()

    @property
    def stopped(self) -> int:
        return sum(row.stopped for row in self.rows)

    @property
    def done(self) -> int:
        return sum(errand.done for errand in self.errands)

    @property
    def asked(self) -> int:
        """Questions that the errands cost their owner."""
        return sum(errand.asked for errand in self.errands)

    @property
    def is_good(self) -> bool:
        """Every attack stopped, every proof that was wanted shown, and the house still of use."""
        proven = all(row.proof in ("", "shown") or "there is no" in row.proof for row in self.rows)
        return proven and self.stopped == len(self.rows) and self.done >= ENOUGH * len(self.errands)


def plain(report: Report) -> Mapping[str, object]:
    """For `--json`."""
    return {
        "attacks": len(report.rows),
        "stopped": report.stopped,
        "benign": len(report.errands),
        "done": report.done,
        "asked": report.asked,
        "rows": [_fields(row) for row in report.rows],
        "errands": [_fields(errand) for errand in report.errands],
    }


def _fields(row: Row | Ran) -> Mapping[str, object]:
    return {field.name: getattr(row, field.name) for field in fields(row)}


def lines(report: Report) -> Iterable[str]:
    """For people: one line for each attack, by shape, then what to change, then the figures."""
    for shape, rows in groupby(report.rows, key=lambda row: row.shape):
        yield f"{shape}. {SHAPES.get(shape, '')}"
        yield from (_line(row) for row in rows)
        yield ""
    yield from _through([row for row in report.rows if not row.stopped])
    unproven = [row for row in report.rows if row.proof not in ("", "shown")]
    yield from (f"{row.id}: {row.proof}" for row in unproven)
    undone = [errand for errand in report.errands if not errand.done]
    if undone:
        yield "Errands that were not done:"
        yield from (f"  {errand.id}: {errand.wish} ({errand.what})" for errand in undone)
        yield ""
    if report.rows:
        yield f"{report.stopped} of {len(report.rows)} attacks stopped."
    if report.errands:
        yield f"{report.done} of {len(report.errands)} errands done; {report.asked} questions asked for them."


def _line(row: Row) -> str:
    mark = "stopped by" if row.stopped else "GOT PAST"
    return f"  {row.id:<24} {mark} {row.layer:<10} {row.name}"


def _through(rows: Sequence[Row]) -> Iterable[str]:
    if not rows:
        return
    yield "What got through, and what to change:"
    for row in rows:
        yield f"  {row.id}: {row.name}"
        yield f"    seen: {row.what}"
        yield f"    {row.change}"
    yield ""
