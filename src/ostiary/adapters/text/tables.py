"""Tables for channels that have none: as aligned code, as bullet points, or as they were written."""

import unicodedata

from ostiary.contracts.text import Align, Block, Code, Item, Listing, Paragraph, Span, Spans, Table, TableMode

_WIDEST_COLUMN = 60


def without_table(table: Table, mode: TableMode) -> Block:
    """The same content as another block."""
    match mode:
        case "code":
            return Code(as_text(table))
        case "bullets":
            return _bullets(table)
        case "off":
            return Paragraph((Span(_pipes(table)),))


def plain(spans: Spans) -> str:
    """The words alone; a link keeps its address."""
    parts = (f"{span.text} ({span.url})" if span.url and span.url != span.text else span.text for span in spans)
    return " ".join("".join(parts).split())


def as_text(table: Table) -> str:
    """Columns padded to line up in a fixed-width font."""
    cells = [[plain(cell) for cell in row] for row in (table.header, *table.rows)]
    widths = [min(_WIDEST_COLUMN, max(3, *(width(row[column]) for row in cells))) for column in range(len(table.header))]
    lines = [_line(row, widths, table.align) for row in cells]
    lines.insert(1, "-+-".join("-" * each for each in widths))
    return "\n".join(lines)


def width(text: str) -> int:
    """Columns that a terminal gives it: wide letters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _line(row: list[str], widths: list[int], align: tuple[Align, ...]) -> str:
    return " | ".join(_padded(cell, room, side) for cell, room, side in zip(row, widths, align, strict=True)).rstrip()


def _padded(text: str, room: int, align: Align) -> str:
    gap = max(0, room - width(text))
    match align:
        case "right":
            return " " * gap + text
        case "center":
            return " " * (gap // 2) + text + " " * (gap - gap // 2)
        case _:
            return text + " " * gap


def _pipes(table: Table) -> str:
    dashes = {"": "---", "left": ":---", "center": ":---:", "right": "---:"}
    lines = [f"| {' | '.join(plain(cell) for cell in row)} |" for row in (table.header, *table.rows)]
    lines.insert(1, f"| {' | '.join(dashes[side] for side in table.align)} |")
    return "\n".join(lines)


def _bullets(table: Table) -> Listing:
    """A point per row: with two columns `first: second`, with more the first in bold and the others beneath it."""
    if not table.rows:
        return Listing(tuple(Item((Paragraph(cell),)) for cell in table.header if cell))
    return Listing(tuple(_point(table, row) for row in table.rows if any(row)))


def _point(table: Table, row: tuple[Spans, ...]) -> Item:
    head, rest = _bold(row[0] or table.header[0]), row[1:]
    if len(rest) == 1:
        return Item((Paragraph((*head, Span(": "), *rest[0]) if rest[0] else head),))
    named = [(name, cell) for name, cell in zip(table.header[1:], rest, strict=True) if cell]
    points = tuple(Item((Paragraph((*name, Span(": "), *cell) if name else cell),)) for name, cell in named)
    return Item((Paragraph(head), Listing(points)) if points else (Paragraph(head),))


def _bold(spans: Spans) -> Spans:
    return tuple(Span(span.text, span.styles | {"bold"}, span.url) for span in spans)
