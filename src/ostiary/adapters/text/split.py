"""Fitting a Document into messages: blocks are packed whole, and cut only when one alone is too long.

Cutting happens before anything is drawn, so every piece opens and closes its own marks and fences, and no escape is torn.
Each piece of text is drawn a bounded number of times: the work grows with the text and no faster.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ostiary.adapters.text.tables import without_table
from ostiary.contracts.graphemes import boundary
from ostiary.contracts.text import (
    Block,
    Blocks,
    ChunkMode,
    Code,
    Heading,
    Item,
    Limits,
    Listing,
    Paragraph,
    Quote,
    Rule,
    Span,
    Spans,
    Table,
)

_STOPS = ("\n", ". ", "! ", "? ", "; ", ", ", " ")


class Size(NamedTuple):
    size: int
    lines: int

    def plus(self, other: "Size", *, gap: int) -> "Size":
        """Both with `gap` newlines between them."""
        return Size(self.size + other.size + gap, self.lines + other.lines + gap - 1)


Measure = Callable[[Block], Size]


def size_of(text: str, limits: Limits) -> Size:
    if limits.unit == "chars" or text.isascii():
        size = len(text)
    elif limits.unit == "bytes":
        size = len(text.encode("utf-8", "replace"))
    else:
        size = len(text) + sum(char > "\uffff" for char in text)
    return Size(size, text.count("\n") + 1)


def fits(size: Size, limits: Limits) -> bool:
    return (not limits.size or size.size <= limits.size) and (not limits.lines or size.lines <= limits.lines)


def pack(blocks: Blocks, measure: Measure, limits: Limits, mode: ChunkMode) -> Iterator[list[Block]]:
    """The blocks of each message. A heading stays with what follows it where both fit."""
    current: list[Block] = []
    total = Size(0, 0)
    for block in _pieces(blocks, measure, limits):
        size = measure(block)
        joined = total.plus(size, gap=2) if current else size
        breaks = mode == "newline" and current and not isinstance(current[-1], Heading)
        if current and (breaks or not fits(joined, limits)):
            heading = current.pop() if len(current) > 1 and isinstance(current[-1], Heading) and not breaks else None
            yield current
            current, joined = [block], size
            if heading is not None:
                with_heading = measure(heading).plus(size, gap=2)
                if fits(with_heading, limits):
                    current, joined = [heading, block], with_heading
                else:
                    yield [heading]
        else:
            current.append(block)
        total = joined
    if current:
        yield current


def _pieces(blocks: Sequence[Block], measure: Measure, limits: Limits) -> Iterator[Block]:
    for block in blocks:
        if fits(measure(block), limits):
            yield block
        else:
            yield from _cut(block, measure, limits)


def _cut(block: Block, measure: Measure, limits: Limits) -> Iterator[Block]:
    match block:
        case Paragraph(spans=spans):
            yield from (Paragraph(part) for part in _cut_spans(spans, lambda part: measure(Paragraph(part)), limits))
        case Heading(level=level, spans=spans):
            yield from (Heading(level, part) for part in _cut_spans(spans, lambda part: measure(Heading(level, part)), limits))
        case Code(text=text, lang=lang):
            parts = _cut_lines(text, lambda part: measure(Code(part, lang)), limits)
            yield from (Code(part, lang) for part in parts)
        case Quote(blocks=blocks):
            yield from _cut_quote(blocks, measure, limits)
        case Listing():
            yield from _cut_listing(block, measure, limits)
        case Table():
            yield from _cut_table(block, measure, limits)
        case Rule():
            yield block


def _cut_quote(blocks: Blocks, measure: Measure, limits: Limits) -> Iterator[Block]:
    def inside(block: Block) -> Size:
        return measure(Quote((block,)))

    current: list[Block] = []
    total = Size(0, 0)
    for piece in _pieces(blocks, inside, limits):
        size = inside(piece)
        # Two more for the mark before the blank line between them.
        joined = total.plus(Size(size.size + 2, size.lines), gap=2) if current else size
        if current and not fits(joined, limits):
            yield Quote(tuple(current))
            current, joined = [], size
        current.append(piece)
        total = joined
    if current:
        yield Quote(tuple(current))


def _cut_listing(block: Listing, measure: Measure, limits: Limits) -> Iterator[Block]:
    current: list[Item] = []
    total, first, number = Size(0, 0), block.start, block.start
    for item in block.items:
        for part in _cut_item(item, number, measure, limits):
            size = measure(Listing((part,), number))
            joined = total.plus(size, gap=1) if current else size
            if current and not fits(joined, limits):
                yield Listing(tuple(current), first)
                current, joined = [], size
            first = first if current else number
            current.append(part)
            total = joined
            if number is not None and not part.continued:
                number += 1
    if current:
        yield Listing(tuple(current), first)


def _cut_item(item: Item, number: int | None, measure: Measure, limits: Limits) -> Iterator[Item]:
    if fits(measure(Listing((item,), number)), limits):
        yield item
        return
    continued = item.continued

    def inside(block: Block) -> Size:
        return measure(Listing((Item((block,), item.checked),), number))

    current: list[Block] = []
    total = Size(0, 0)
    for piece in _pieces(item.blocks, inside, limits):
        size = inside(piece)
        joined = total.plus(size, gap=1) if current else size
        if current and not fits(joined, limits):
            yield Item(tuple(current), item.checked, continued)
            current, joined, continued = [], size, True
        current.append(piece)
        total = joined
    if current:
        yield Item(tuple(current), item.checked, continued)


def _cut_table(table: Table, measure: Measure, limits: Limits) -> Iterator[Block]:
    """Pieces with the header repeated; a row that is too long for that becomes bullet points."""
    if not table.rows:
        yield from _pieces([without_table(table, "bullets")], measure, limits)
    at = 0
    while at < len(table.rows):
        count = _rows_that_fit(table, at, measure, limits)
        piece = _with(table, table.rows[at : at + max(count, 1)])
        if count:
            yield piece
        else:
            yield from _pieces([without_table(piece, "bullets")], measure, limits)
        at += max(count, 1)


def _rows_that_fit(table: Table, at: int, measure: Measure, limits: Limits) -> int:
    """How many rows from `at` make a table that fits: doubling first, then halving the step, so that little is drawn twice."""
    count, step, most = 0, 1, len(table.rows) - at
    growing = True
    while step:
        tried = count + step
        if tried <= most and fits(measure(_with(table, table.rows[at : at + tried])), limits):
            count = tried
            step = step * 2 if growing else step // 2
        else:
            growing = False
            step //= 2
    return count


def _with(table: Table, rows: tuple[tuple[Spans, ...], ...]) -> Table:
    return Table(table.header, rows, table.align)


def _cut_lines(text: str, measure: Callable[[str], Size], limits: Limits) -> Iterator[str]:
    """Code is cut between lines, and within one only if it alone is too long."""
    at = 0
    while at < len(text):
        end = _longest(text, at, measure, limits)
        if end < len(text) and text[end] != "\n":
            newline = text.rfind("\n", at, end)
            end = newline if newline > at else end
        yield text[at:end]
        at = end + (text[end : end + 1] == "\n")


def _longest(text: str, at: int, measure: Callable[[str], Size], limits: Limits) -> int:
    """The end of the longest piece from `at` that fits; at least one character even if that does not."""
    room = min(limits.size or len(text), len(text) - at)
    if limits.lines:
        place = at - 1
        for _ in range(limits.lines):
            place = text.find("\n", place + 1)
            if place < 0:
                break
        else:
            room = min(room, max(1, place - at))
    while True:
        end = max(boundary(text, at + room), at + 1)
        size = measure(text[at:end])
        if room <= 1 or fits(size, limits):
            return end
        room = _smaller(room, size, limits, text[at:end])


def _smaller(room: int, size: Size, limits: Limits, text: str) -> int:
    """Less room after something turned out too big: in proportion, and always less."""
    smaller = room - 1
    if limits.size and size.size > limits.size:
        smaller = min(smaller, max(room - (size.size - limits.size), room * limits.size // size.size))
    if limits.lines and size.lines > limits.lines:
        place = len(text)
        for _ in range(size.lines - limits.lines):
            place = max(text.rfind("\n", 0, place), 0)
        smaller = min(smaller, place)
    return max(1, smaller)


def cut_text(text: str, measure: Callable[[Spans], Size], limits: Limits) -> Iterator[Spans]:
    """For what no structure can be kept of: the words alone, in pieces that fit."""
    yield from _cut_spans((Span(text),), measure, limits)


def _cut_spans(spans: Spans, measure: Callable[[Spans], Size], limits: Limits) -> Iterator[Spans]:
    """Text is cut after a line, a sentence or a word if one ends in the second half of what fits."""
    left = deque(_short_links(spans, measure, limits))
    while left:
        text = _front(left, limits)
        end = _longest(text, 0, lambda part: measure(_slice(left, len(part))), limits)
        if end < len(text) or len(left) > 1:
            end = _before_link(left, _nice(text, end))
        part = _take(left, end)
        if part:
            yield part
        _skip_space(left)


def _short_links(spans: Spans, measure: Callable[[Spans], Size], limits: Limits) -> Iterator[Span]:
    """A link whose address alone is too long becomes text that can be cut."""
    for span in spans:
        is_bare = span.text == span.url
        if span.url and not fits(measure((span if is_bare else Span(span.text[:1], span.styles, span.url),)), limits):
            yield Span(span.text if is_bare else f"{span.text} ({span.url})", span.styles)
        else:
            yield span


def _front(spans: "deque[Span]", limits: Limits) -> str:
    """The text at the front, a little more than could possibly fit."""
    wanted = (limits.size or sum(len(span.text) for span in spans)) + 1
    parts = []
    for span in spans:
        parts.append(span.text[:wanted])
        wanted -= len(span.text)
        if wanted <= 0:
            break
    return "".join(parts)


def _slice(spans: "deque[Span]", length: int) -> Spans:
    found = []
    for span in spans:
        if length <= 0:
            break
        found.append(span if len(span.text) <= length else Span(span.text[:length], span.styles, span.url))
        length -= len(span.text)
    return tuple(found)


def _nice(text: str, end: int) -> int:
    if end >= len(text) or text[end].isspace():
        return end
    for stop in _STOPS:
        at = text.rfind(stop, end // 2, end)
        if at > 0:
            return at + len(stop)
    return end


def _before_link(spans: "deque[Span]", end: int) -> int:
    """Rather cut before a link than within it, unless it comes first."""
    start = 0
    for span in spans:
        if start + len(span.text) > end:
            return start if span.url and start else end
        start += len(span.text)
    return end


def _take(spans: "deque[Span]", length: int) -> Spans:
    found = []
    while spans and length > 0:
        span = spans.popleft()
        if len(span.text) > length:
            spans.appendleft(Span(span.text[length:], span.styles, span.url))
            span = Span(span.text[:length], span.styles, span.url)
        length -= len(span.text)
        found.append(span)
    while found and "code" not in found[-1].styles and not found[-1].text.rstrip():
        found.pop()
    if found and "code" not in found[-1].styles:
        found[-1] = Span(found[-1].text.rstrip(), found[-1].styles, found[-1].url)
    return tuple(found)


def _skip_space(spans: "deque[Span]") -> None:
    while spans and "code" not in spans[0].styles:
        rest = spans[0].text.lstrip()
        if rest:
            spans[0] = Span(rest, spans[0].styles, spans[0].url)
            return
        spans.popleft()
