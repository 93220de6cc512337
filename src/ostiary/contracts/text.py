"""A reply between Markdown and a channel: a closed set of blocks, each holding runs of styled text.

Parsing gives a Document once; every channel's renderer draws the same Document its own way. Links hold only addresses a person
may safely follow; there is no raw markup and no picture in it.
"""

from collections.abc import Callable
from typing import Literal

from ostiary.contracts.records import dataclass

Style = Literal["bold", "italic", "strike", "code", "spoiler"]
Styles = frozenset[Style]
TableMode = Literal["code", "bullets", "off"]
ChunkMode = Literal["length", "newline"]
Unit = Literal["chars", "utf16", "bytes"]
Align = Literal["", "left", "center", "right"]

PLAIN: Styles = frozenset()


@dataclass(frozen=True, slots=True)
class Span:
    """A run of text in one style. A newline in it is a line break. `url` is empty, or where the text leads to."""

    text: str
    styles: Styles = PLAIN
    url: str = ""


Spans = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    spans: Spans


@dataclass(frozen=True, slots=True)
class Heading:
    """`level` is 1 to 6."""

    level: int
    spans: Spans


@dataclass(frozen=True, slots=True)
class Code:
    """`text` without the last newline; `lang` is one word or empty."""

    text: str
    lang: str = ""


@dataclass(frozen=True, slots=True)
class Quote:
    blocks: "tuple[Block, ...]"


@dataclass(frozen=True, slots=True)
class Item:
    """`checked` is None unless it is a task. `continued`: the item began in the message before, so it has no mark here."""

    blocks: "tuple[Block, ...]"
    checked: bool | None = None
    continued: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """`start` numbers the first item; None is a list without numbers."""

    items: tuple[Item, ...]
    start: int | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Every row has as many cells as `header`, and `align` as many entries."""

    header: tuple[Spans, ...]
    rows: tuple[tuple[Spans, ...], ...]
    align: tuple[Align, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A line across."""


Block = Paragraph | Heading | Code | Quote | Listing | Table | Rule
Blocks = tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Document:
    blocks: Blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one message may hold, as the channel counts it. 0 means that the channel sets no such limit."""

    size: int = 4000
    unit: Unit = "chars"
    lines: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderOptions:
    """`tables` None leaves it to the renderer. In `newline` mode every paragraph becomes a message of its own."""

    limits: Limits = Limits()
    tables: TableMode | None = None
    chunk_mode: ChunkMode = "length"


@dataclass(frozen=True, slots=True)
class StyleRange:
    """A style over part of a text, counted in UTF-16 units as messengers count."""

    start: int
    length: int
    style: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """One message, ready to send. `ranges` is empty where the styles are written into the text."""

    text: str
    ranges: tuple[StyleRange, ...] = ()


Renderer = Callable[[Document, RenderOptions], list[Rendered]]
