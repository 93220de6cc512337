"""Drawing a Document as lines of text with marks: what chat channels have in common.

A channel differs in its marks, its escaping and a few habits; those are the fields of its Dialect.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from ostiary.adapters.text.tables import without_table
from ostiary.contracts.records import dataclass
from ostiary.contracts.text import (
    PLAIN,
    Block,
    Code,
    Heading,
    Item,
    Listing,
    Paragraph,
    Quote,
    Rule,
    Span,
    Style,
    Styles,
    Table,
    TableMode,
)

_ORDER: tuple[Style, ...] = ("spoiler", "bold", "italic", "strike")
_GAP = "\u200b"


class Line(NamedTuple):
    """`fixed` lines belong to a code block: nothing may be put before them unless the channel can read it there."""

    text: str
    fixed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a channel writes things down.

    `code` gives inline code, or nothing if the channel cannot write it: then it is shown as text. `code_alone`: code carries no
    other style. `in_word` says what becomes of a style that begins or ends within a word. `guard` keeps a line of ordinary text
    from being read as a heading, list or quote. `heading` None means bold. `indents_code`: quotes and lists may hold code.
    """

    escape: Callable[[str], str]
    marks: Mapping[Style, tuple[str, str]]
    link: Callable[[str, str], str]
    code: Callable[[str], str]
    fence: Callable[[Code], list[str]]
    quote: Callable[[list[Line]], list[Line]]
    tables: TableMode = "code"
    code_alone: bool = False
    in_word: Literal["free", "gap", "drop"] = "free"
    guard: Callable[[str], str] = str
    heading: Callable[[int, str], str] | None = None
    bullet: str = "- "
    tasks: tuple[str, str] = ("☐ ", "☑ ")
    rule: str = "———"
    indents_code: bool = False


def draw(block: Block, dialect: Dialect, tables: TableMode) -> str:
    return "\n".join(line.text for line in _lines(block, dialect, tables))


def _lines(block: Block, dialect: Dialect, tables: TableMode) -> list[Line]:
    match block:
        case Paragraph(spans=spans):
            return [Line(dialect.guard(each)) for each in inline_lines(spans, dialect)]
        case Heading(level=level, spans=spans):
            return [Line(each) for each in _heading(level, spans, dialect)]
        case Code():
            return [Line(each, fixed=not dialect.indents_code) for each in dialect.fence(block)]
        case Quote(blocks=blocks):
            return dialect.quote(_stacked(blocks, dialect, tables, gap=True))
        case Listing():
            return _listing(block, dialect, tables)
        case Table():
            return _lines(without_table(block, tables), dialect, tables)
        case Rule():
            return [Line(dialect.rule)]


def _stacked(blocks: Sequence[Block], dialect: Dialect, tables: TableMode, *, gap: bool) -> list[Line]:
    lines: list[Line] = []
    for block in blocks:
        drawn = _lines(block, dialect, tables)
        if gap and lines and drawn and not lines[-1].fixed and not drawn[0].fixed:
            lines.append(Line(""))
        lines.extend(drawn)
    return lines


def _heading(level: int, spans: Sequence[Span], dialect: Dialect) -> list[str]:
    if dialect.heading is not None:
        return [dialect.heading(level, each) for each in inline_lines(spans, dialect)]
    return inline_lines([Span(span.text, span.styles | {"bold"}, span.url) for span in spans], dialect)


def _listing(block: Listing, dialect: Dialect, tables: TableMode) -> list[Line]:
    lines: list[Line] = []
    number = block.start
    for item in block.items:
        mark = dialect.bullet if number is None else f"{number}. "
        if item.checked is not None:
            mark = (mark if number is not None else "") + dialect.tasks[item.checked]
        if number is not None and not item.continued:
            number += 1
        lines.extend(_item(item, mark, dialect, tables))
    return lines


def _item(item: Item, mark: str, dialect: Dialect, tables: TableMode) -> list[Line]:
    body = _stacked(item.blocks, dialect, tables, gap=False) or [Line("")]
    indent = " " * min(len(mark), 4)
    head = indent if item.continued else mark
    if body[0].fixed:
        return [*([] if item.continued else [Line(mark.rstrip())]), *indented(body, indent)]
    return [Line((head + body[0].text).rstrip()), *indented(body[1:], indent)]


def indented(lines: Sequence[Line], indent: str) -> list[Line]:
    return [line if line.fixed or not line.text else Line(indent + line.text) for line in lines]


def prefixed(prefix: str) -> Callable[[list[Line]], list[Line]]:
    """A quote drawn as a mark before every line that is not code."""

    def quote(lines: list[Line]) -> list[Line]:
        return [line if line.fixed else Line((prefix + line.text).rstrip()) for line in lines]

    return quote


def inline_lines(spans: Sequence[Span], dialect: Dialect) -> list[str]:
    """One string per line; marks never reach over a line's end."""
    if len(spans) == 1 and not spans[0].styles and not spans[0].url:
        return [dialect.escape(each) for each in spans[0].text.split("\n")]
    lines: list[list[Span]] = [[]]
    for span in spans:
        first, *others = span.text.split("\n")
        if first:
            lines[-1].append(Span(first, span.styles, span.url) if others else span)
        lines.extend([Span(text, span.styles, span.url)] if text else [] for text in others)
    return [_inline(_atoms(line, dialect), dialect) for line in lines]


class _Atom(NamedTuple):
    """What no mark can stand within: a run of text, a piece of code or a link, written out."""

    text: str
    drawn: str
    styles: Styles


def _atoms(spans: list[Span], dialect: Dialect) -> list[_Atom]:
    atoms: list[_Atom] = []
    at = 0
    while at < len(spans):
        span = spans[at]
        at += 1
        if span.url:
            label, styles = span.text, span.styles
            while at < len(spans) and spans[at].url == span.url:
                label, styles = label + spans[at].text, styles & spans[at].styles
                at += 1
            atoms.append(_Atom(label, dialect.link(label, span.url), styles - {"code"}))
        elif "code" in span.styles and (drawn := dialect.code(span.text)):
            atoms.append(_Atom(span.text, drawn, PLAIN if dialect.code_alone else span.styles - {"code"}))
        elif not span.styles:
            atoms.append(_Atom(span.text, dialect.escape(span.text), PLAIN))
        else:
            before = spans[at - 2].styles if at > 1 else PLAIN
            after = spans[at].styles if at < len(spans) else PLAIN
            atoms.extend(_text(span, before, after, dialect))
    return atoms


def _text(span: Span, before: Styles, after: Styles, dialect: Dialect) -> list[_Atom]:
    """White space at the edge of a styled run moves out of the styles that end there: no channel reads a mark beside a space."""
    styles = span.styles - {"code"}
    if not styles or (not span.text[0].isspace() and not span.text[-1].isspace()):
        return [_Atom(span.text, dialect.escape(span.text), styles)]
    core = span.text.strip()
    if not core:
        return [_Atom(span.text, dialect.escape(span.text), styles & before & after)]
    lead = span.text[: len(span.text) - len(span.text.lstrip())]
    tail = span.text[len(span.text.rstrip()) :]
    parts = ((lead, styles & before), (core, styles), (tail, styles & after))
    return [_Atom(text, dialect.escape(text), each) for text, each in parts if text]


def _inline(atoms: list[_Atom], dialect: Dialect) -> str:
    if dialect.in_word != "free":
        atoms = _clear_of_words(atoms, dialect)
    parts: list[str] = []
    opened: list[Style] = []
    for atom in atoms:
        if not atom.styles and not opened:
            parts.append(atom.drawn)
            continue
        wanted = [style for style in _ORDER if style in atom.styles]
        keep = 0
        while keep < len(opened) and opened[keep] in wanted:
            keep += 1
        while len(opened) > keep:
            parts.append(dialect.marks[opened.pop()][1])
        for style in wanted:
            if style not in opened:
                opened.append(style)
                parts.append(dialect.marks[style][0])
        parts.append(atom.drawn)
    parts.extend(dialect.marks[style][1] for style in reversed(opened))
    return "".join(parts)


def _clear_of_words(atoms: list[_Atom], dialect: Dialect) -> list[_Atom]:
    """Where a style meets a letter: an invisible gap, or the style is dropped."""
    found: list[_Atom] = []
    for place, atom in enumerate(atoms):
        before = atoms[place - 1] if place else None
        meets = before is not None and before.styles != atom.styles and _touch(before, atom)
        if meets and dialect.in_word == "gap":
            found.append(_Atom(_GAP, _GAP, before.styles & atom.styles if before else PLAIN))
        if dialect.in_word == "drop" and atom.styles:
            after = atoms[place + 1] if place + 1 < len(atoms) else None
            if meets or (after is not None and after.styles != atom.styles and _touch(atom, after)):
                atom = _Atom(atom.text, atom.drawn, PLAIN)
        found.append(atom)
    return found


def _touch(left: _Atom, right: _Atom) -> bool:
    """Both sides styled, or a letter or digit on the unstyled side."""
    if left.styles and right.styles:
        return True
    edge = left.text[-1:] if right.styles else right.text[:1]
    return edge.isalnum() or edge == "_"
