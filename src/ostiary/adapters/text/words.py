"""The words of a Document without any marks: for length, titles and as the last resort when nothing else fits."""

from collections.abc import Sequence

from ostiary.adapters.text.tables import as_text
from ostiary.contracts.text import Block, Code, Heading, Listing, Paragraph, Quote, Rule, Table


def words(blocks: Sequence[Block]) -> str:
    return "\n".join(filter(None, (_words(block) for block in blocks)))


def _words(block: Block) -> str:
    match block:
        case Paragraph(spans=spans) | Heading(spans=spans):
            return "".join(f"{span.text} ({span.url})" if span.url and span.url != span.text else span.text for span in spans)
        case Code(text=text):
            return text
        case Quote(blocks=blocks):
            return words(blocks)
        case Listing(items=items):
            return "\n".join(words(item.blocks) for item in items)
        case Table():
            return as_text(block)
        case Rule():
            return ""
