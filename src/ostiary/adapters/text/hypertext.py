"""HTML of a Document, for the web page and for mail: everything escaped, only known tags, links only to safe addresses."""

from collections.abc import Callable, Mapping, Sequence
from html import escape

from ostiary.adapters.text.links import safe_url
from ostiary.adapters.text.tables import without_table
from ostiary.contracts.text import (
    Align,
    Block,
    Code,
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
    TableMode,
)

_TAGS: Mapping[Style, str] = {"bold": "strong", "italic": "em", "strike": "del", "code": "code", "spoiler": "span"}
_ORDER: tuple[Style, ...] = ("spoiler", "bold", "italic", "strike", "code")


class Page:
    """Draws blocks. `dress` gives the attributes of a tag, with a space before them, or nothing."""

    def __init__(self, dress: Callable[[str], str], tables: TableMode | None) -> None:
        self._dress = dress
        self._tables = tables

    def block(self, block: Block) -> str:
        match block:
            case Paragraph(spans=spans):
                return self._tag("p", self.inline(spans))
            case Heading(level=level, spans=spans):
                return self._tag(f"h{min(max(level, 1), 6)}", self.inline(spans))
            case Code(text=text, lang=lang):
                named = f' class="language-{escape(lang)}"' if lang else ""
                return self._tag("pre", f"<code{named}>{escape(text)}\n</code>")
            case Quote(blocks=blocks):
                return self._tag("blockquote", "\n".join(map(self.block, blocks)))
            case Listing():
                return self._listing(block)
            case Table():
                return self._table(block) if self._tables is None else self.block(without_table(block, self._tables))
            case Rule():
                return f"<hr{self._dress('hr')}>"

    def inline(self, spans: Spans) -> str:
        parts: list[str] = []
        at = 0
        while at < len(spans):
            url, start = spans[at].url, at
            while at < len(spans) and spans[at].url == url:
                at += 1
            parts.append(self._linked(self._styled(spans[start:at]), url))
        return "".join(parts)

    def _linked(self, drawn: str, url: str) -> str:
        address = safe_url(url)
        if not address:
            return drawn
        return f'<a href="{escape(address)}" rel="noopener noreferrer nofollow" target="_blank"{self._dress("a")}>{drawn}</a>'

    def _styled(self, spans: Sequence[Span]) -> str:
        parts: list[str] = []
        opened: list[Style] = []
        for span in spans:
            wanted = [style for style in _ORDER if style in span.styles]
            keep = 0
            while keep < len(opened) and opened[keep] in wanted:
                keep += 1
            parts.extend(f"</{_TAGS[style]}>" for style in reversed(opened[keep:]))
            del opened[keep:]
            for style in wanted:
                if style not in opened:
                    opened.append(style)
                    parts.append(self._opening(style))
            parts.append(escape(span.text).replace("\n", "<br>\n"))
        parts.extend(f"</{_TAGS[style]}>" for style in reversed(opened))
        return "".join(parts)

    def _opening(self, style: Style) -> str:
        return f"<{_TAGS[style]}{self._dress(style if style in ('spoiler', 'code') else _TAGS[style])}>"

    def _listing(self, block: Listing) -> str:
        items = "\n".join(map(self._item, block.items))
        if block.start is None:
            return f"<ul{self._dress('ul')}>\n{items}\n</ul>"
        start = f' start="{block.start}"' if block.start != 1 else ""
        return f"<ol{start}{self._dress('ol')}>\n{items}\n</ol>"

    def _item(self, item: Item) -> str:
        first, rest = item.blocks[:1], item.blocks[1:]
        # A short item reads better without a paragraph of its own.
        drawn = [self.inline(each.spans) if isinstance(each, Paragraph) else self.block(each) for each in first]
        drawn.extend(map(self.block, rest))
        box = ""
        if item.checked is not None and not item.continued:
            box = f'<input type="checkbox" disabled{" checked" if item.checked else ""}> '
        return f"<li{self._dress('task' if box else 'li')}>{box}{chr(10).join(drawn)}</li>"

    def _table(self, table: Table) -> str:
        head = self._row("th", table.header, table.align)
        body = "\n".join(self._row("td", row, table.align) for row in table.rows)
        return f"<table{self._dress('table')}>\n<thead>\n{head}\n</thead>\n<tbody>\n{body}\n</tbody>\n</table>"

    def _row(self, tag: str, cells: tuple[Spans, ...], align: tuple[Align, ...]) -> str:
        drawn = (
            f"<{tag}{self._dress(f'{tag} {side}'.rstrip())}>{self.inline(cell)}</{tag}>"
            for cell, side in zip(cells, align, strict=True)
        )
        return f"<tr>{''.join(drawn)}</tr>"

    def _tag(self, tag: str, drawn: str) -> str:
        return f"<{tag}{self._dress(tag)}>{drawn}</{tag}>"
