"""Markdown to a Document: CommonMark with tables, strikethrough, task items and web addresses.

Raw HTML is text like any other. Nothing that was written is lost: what cannot be a link, a table cell or a reference stays
where it stood. Text too long or too nested to parse in bounded time becomes plain paragraphs.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from ostiary.adapters.text.links import bare_urls, safe_url
from ostiary.adapters.text.simple import Run, simple_runs
from ostiary.contracts.text import (
    PLAIN,
    Align,
    Block,
    Blocks,
    Code,
    Document,
    Heading,
    Item,
    Listing,
    Paragraph,
    Quote,
    Rule,
    Span,
    Spans,
    Style,
    Table,
)

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST = 60_000
_NESTING = 40
_LONGEST_RUN = 20_000
_MOST_BRACKETS = 256
_BAD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_NOTABLE = re.compile(r"[\\`*_~\[\]<&!\n]")
_WIDE_TABLE = re.compile(r"^[ >]*(?:\|?[ \t]*:?-+:?[ \t]*\|[ \t]*){33}", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_ROW_START = re.compile(r"[\s>]*\|?")
_CELL_EDGE = re.compile(r"(?<!\\)\|")
_TASK = re.compile(r"\[([ xX])\][ \t]+(?=\S)")
_STYLE_OF: dict[str, Style] = {"strong": "bold", "em": "italic", "s": "strike"}
_BOTH_SPOILERS = 2


def parse(text: str, *, spoilers: bool = False) -> Document:
    """Never raises. `spoilers` reads `||hidden||`."""
    text = _BAD.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    if len(text) > LONGEST:
        return _plain(text)
    parser = _parser(tables="|" in text and not _WIDE_TABLE.search(text))
    tokens: list[Token] = []
    parser.block.parse(text, parser, {}, tokens)
    if any(token.level >= _NESTING - 1 for token in tokens):
        return _plain(text)
    return Document(_Reader(parser, tokens, text, spoilers).blocks())


@cache
def _parser(*, tables: bool) -> "MarkdownIt":
    # Imported with the first reply: a gateway that only serves its page never pays for it.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": _NESTING})
    parser.enable(["strikethrough", *(["table"] if tables else [])])
    parser.disable(["html_block", "html_inline", "reference"])
    parser.validateLink = lambda url: bool(safe_url(url))  # type: ignore[method-assign]
    return parser


def _plain(text: str) -> Document:
    paragraphs = (part.strip("\n") for part in _BLANK_LINES.split(text))
    return Document(tuple(Paragraph((Span(part),)) for part in paragraphs if part.strip()))


class _Reader:
    """One pass over the parser's tokens."""

    def __init__(self, parser: "MarkdownIt", tokens: "Sequence[Token]", source: str, spoilers: bool) -> None:
        self._parser = parser
        self._tokens = tokens
        self._at = 0
        self._source = source
        self._lines: list[str] | None = None
        self._spoilers = spoilers

    def blocks(self) -> Blocks:
        """Up to the end of the container that is open."""
        found: list[Block] = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if token.nesting < 0:
                break
            block = self._block(token)
            if block is not None:
                found.append(block)
        return tuple(found)

    def _block(self, token: "Token") -> Block | None:
        match token.type:
            case "paragraph_open":
                spans = self._inline_then_close()
                return Paragraph(spans) if spans else None
            case "heading_open":
                spans = self._inline_then_close()
                return Heading(int(token.tag[1]), spans) if spans else None
            case "fence" | "code_block":
                lang = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
                return Code(token.content.removesuffix("\n"), lang[:40])
            case "blockquote_open":
                return Quote(self.blocks())
            case "bullet_list_open":
                return Listing(self._items())
            case "ordered_list_open":
                return Listing(self._items(), start=int(token.attrs.get("start", 1)))
            case "table_open":
                return self._table()
            case "hr":
                return Rule()
            case _:
                return None

    def _inline_then_close(self) -> Spans:
        content = self._tokens[self._at].content
        self._at += 2
        return self._spans(content)

    def _items(self) -> tuple[Item, ...]:
        items = []
        while self._tokens[self._at].nesting > 0:
            self._at += 1
            items.append(_task(Item(self.blocks())))
        self._at += 1
        return tuple(items)

    def _table(self) -> Table:
        header: list[Spans] = []
        align: list[Align] = []
        rows: list[tuple[Spans, ...]] = []
        while True:
            token = self._tokens[self._at]
            self._at += 1
            if token.type == "table_close":
                return Table(tuple(header), tuple(rows), tuple(align))
            if token.type == "th_open":
                align.append(_align(str(token.attrs.get("style", ""))))
                header.append(self._inline_then_close())
            elif token.type == "tr_open" and header:
                rows.append(self._row(token, len(header)))

    def _row(self, row: "Token", width: int) -> tuple[Spans, ...]:
        contents = [self._tokens[self._at + 1 + 3 * place].content for place in range(width)]
        self._at += 3 * width + 1
        contents[-1] = " | ".join(filter(None, (contents[-1], *self._beyond(row, width))))
        return tuple(self._spans(content) for content in contents)

    def _beyond(self, row: "Token", width: int) -> list[str]:
        """Cells that the header has no column for: the parser drops them, people wrote them."""
        if self._lines is None:
            self._lines = self._source.split("\n")
        line = self._lines[row.map[0]] if row.map else ""
        if line.count("|") < width:
            return []
        cells = _CELL_EDGE.split(_ROW_START.sub("", line, count=1))
        return [cell.strip() for cell in cells[width:] if cell.strip()]

    def _spans(self, content: str) -> Spans:
        if not content:
            return ()
        if not _NOTABLE.search(content) or len(content) > _LONGEST_RUN or content.count("[") > _MOST_BRACKETS:
            runs: Iterable[Run] = ((content, PLAIN, ""),)
        else:
            runs = simple_runs(content) or _runs(self._parser.inline.parse(content, self._parser, {}, []))
        spans = list(_linked(runs))
        if self._spoilers and "||" in content:
            spans = _with_spoilers(spans)
        return _trimmed(_joined(spans))


def _runs(tokens: "Sequence[Token]") -> Iterator[Run]:
    """Flatten the parser's nesting: every piece of text with the styles and the link around it."""
    open_styles: list[Style] = []
    styles, url = PLAIN, ""
    for token in tokens:
        kind = token.type
        if kind == "text":
            yield token.content, styles, url
        elif kind in ("softbreak", "hardbreak"):
            yield "\n", styles, url
        elif kind == "code_inline":
            yield token.content, styles | {"code"}, url
        elif kind == "link_open":
            url = safe_url(str(token.attrs.get("href", "")))
        elif kind == "link_close":
            url = ""
        elif kind == "image":
            yield token.content or "image", styles, url or safe_url(str(token.attrs.get("src", "")))
        elif token.tag in _STYLE_OF:
            if token.nesting > 0:
                open_styles.append(_STYLE_OF[token.tag])
            elif open_styles:
                open_styles.pop()
            styles = frozenset(open_styles)
        elif token.content:
            yield token.content, styles, url


def _linked(runs: Iterable[Run]) -> Iterator[Span]:
    for text, styles, url in runs:
        if url or "code" in styles or "://" not in text:
            yield Span(text, styles, url)
            continue
        at = 0
        for start, end in bare_urls(text):
            if start > at:
                yield Span(text[at:start], styles)
            yield Span(text[start:end], styles, text[start:end])
            at = end
        if at < len(text):
            yield Span(text[at:], styles)


def _with_spoilers(spans: list[Span]) -> list[Span]:
    """Marks come in pairs within one paragraph; an odd one is text."""
    marks = sum(span.text.count("||") for span in spans if "code" not in span.styles)
    left = marks - marks % _BOTH_SPOILERS
    hidden = False
    found: list[Span] = []
    for span in spans:
        if "code" in span.styles:
            found.append(_hidden(span) if hidden else span)
            continue
        for place, piece in enumerate(span.text.split("||")):
            text = piece
            if place and left:
                left -= 1
                hidden = not hidden
            elif place:
                text = f"||{piece}"
            if text:
                part = Span(text, span.styles, span.url)
                found.append(_hidden(part) if hidden else part)
    return found


def _hidden(span: Span) -> Span:
    return Span(span.text, span.styles | {"spoiler"}, span.url)


def _joined(spans: list[Span]) -> list[Span]:
    """Neighbours of the same style and link become one run."""
    found: list[Span] = []
    for span in spans:
        last = found[-1] if found else None
        if last is not None and last.styles == span.styles and last.url == span.url:
            found[-1] = Span(last.text + span.text, span.styles, span.url)
        elif span.text:
            found.append(span)
    return found


def _trimmed(spans: list[Span]) -> Spans:
    if spans and spans[0].text[:1].isspace() and "code" not in spans[0].styles:
        spans[0] = Span(spans[0].text.lstrip(), spans[0].styles, spans[0].url)
    if spans and spans[-1].text[-1:].isspace() and "code" not in spans[-1].styles:
        spans[-1] = Span(spans[-1].text.rstrip(), spans[-1].styles, spans[-1].url)
    return tuple(span for span in spans if span.text)


def _task(item: Item) -> Item:
    first = item.blocks[0] if item.blocks else None
    if not isinstance(first, Paragraph):
        return item
    lead = first.spans[0]
    mark = _TASK.match(lead.text)
    if mark is None and lead.text in ("[ ] ", "[x] ", "[X] ") and len(first.spans) > 1:
        mark = re.match(r"\[([ xX])\] ", lead.text)
    if mark is None or lead.styles or lead.url:
        return item
    rest = Span(lead.text[mark.end() :])
    spans = (rest, *first.spans[1:]) if rest.text else first.spans[1:]
    return Item((Paragraph(spans), *item.blocks[1:]), checked=mark[1] != " ")


def _align(style: str) -> Align:
    match style.removeprefix("text-align:"):
        case "left":
            return "left"
        case "center":
            return "center"
        case "right":
            return "right"
        case _:
            return ""
