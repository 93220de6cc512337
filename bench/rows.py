"""A row of the table: what was measured, how often, against which bar."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.stats import median


@dataclass(frozen=True, slots=True)
class Bar:
    """What is promised: at most `limit`, or at least."""

    limit: float
    at_least: bool = False

    def holds(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit


BARS = {
    "ready": Bar(0.6),
    "first_start": Bar(0.6),
    "first_turn": Bar(1.0),
    "memory_idle": Bar(60),
    "memory_50": Bar(75),
    "turn_cpu": Bar(5),
    "turn_p50": Bar(8),
    "turn_p95": Bar(16),
    "growth": Bar(1.5),
    "whole_cpu": Bar(5),
    "whole_p50": Bar(8),
    "whole_growth": Bar(1.5),
    "agent": Bar(0.35),
    "version": Bar(0.15),
    "sessions_64": Bar(300, at_least=True),
    "slow_rate": Bar(250, at_least=True),
    "slow_p95": Bar(1.0),
    "health_cpu": Bar(0.5),
    "socket_cpu": Bar(5),
    "socket_p50": Bar(8),
    "fan_out": Bar(1.2),
    "idle_sockets": Bar(40),
    "page_weight": Bar(300),
    "first_paint": Bar(1.0),
    "prompt": Bar(8000),
    "policy": Bar(0.3),
    "secret_scan": Bar(50, at_least=True),
    "secret_scan_hostile": Bar(15, at_least=True),
    "fence_cold": Bar(12),
    "fence_warm": Bar(2),
    "exec_cpu": Bar(15),
    "put_rate": Bar(2000, at_least=True),
    "search_10k": Bar(8),
    "search_100k": Bar(40),
    "fresh_note": Bar(100),
    "index_10k": Bar(20),
    "live_tree": Bar(60),
    "size": Bar(120),
    "packages": Bar(45),
}


@dataclass(frozen=True, slots=True)
class Row:
    """`values` has one entry per round; none means that it could not be measured, and `note` says why."""

    name: str
    what: str
    unit: str
    values: tuple[float, ...]
    note: str = ""

    @property
    def bar(self) -> Bar | None:
        return BARS.get(self.name)

    @property
    def verdict(self) -> str:
        if not self.values:
            return "failed"
        if self.bar is None:
            return ""
        return "ok" if self.bar.holds(median(self.values)) else "over"

    @property
    def measured(self) -> str:
        if not self.values:
            return "failed"
        middle = f"{shown(median(self.values))} {self.unit}".strip()
        low, high = shown(min(self.values)), shown(max(self.values))
        return f"{middle} ({low}–{high})" if low != high else middle

    @property
    def promised(self) -> str:
        if self.bar is None:
            return ""
        return f"{'≥' if self.bar.at_least else '≤'} {self.bar.limit:,g} {self.unit}".strip()


def shown(value: float) -> str:
    """Three figures that matter, whole numbers from a hundred on."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:#.3g}"


def as_table(rows: Sequence[Row]) -> str:
    """A Markdown table, padded so that it reads in a terminal too."""
    cells = [("what", "measured", "bar", "", "note")]
    cells += [(row.what, row.measured, row.promised, row.verdict, row.note if row.values else "see below") for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(5)]
    lines = [_line(line, widths) for line in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def failures(rows: Iterable[Row]) -> str:
    """One line for each row that could not be measured; empty if all could."""
    return "\n".join(f"{row.what}: {row.note}" for row in rows if not row.values)


def as_data(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [
        {
            "name": row.name,
            "what": row.what,
            "unit": row.unit,
            "median": median(row.values) if row.values else None,
            "values": list(row.values),
            "bar": row.bar.limit if row.bar else None,
            "verdict": row.verdict,
            "note": row.note,
        }
        for row in rows
    ]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"
