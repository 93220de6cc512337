"""From a way of drawing to a Renderer: one message if it fits, else as many as are needed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ostiary.adapters.text.layout import Dialect, draw
from ostiary.adapters.text.split import Size, cut_text, fits, pack, size_of
from ostiary.adapters.text.words import words
from ostiary.contracts.text import Block, Document, Limits, Paragraph, Rendered, Renderer, RenderOptions, Spans

_SMALLEST = 32


def written_in(dialect: Dialect, finish: Callable[[str], Rendered] = Rendered) -> Renderer:
    """A renderer that draws in `dialect`; `finish` makes the message of the drawn text."""

    def render(document: Document, options: RenderOptions) -> list[Rendered]:
        tables = options.tables or dialect.tables
        texts = in_messages(document, options, lambda block: draw(block, dialect, tables), between="\n\n")
        return [message for message in map(finish, texts) if message.text.strip()]

    return render


def in_messages(document: Document, options: RenderOptions, draw: Callable[[Block], str], *, between: str) -> Iterator[str]:
    """The text of each message. None is longer than the limits say; a limit under 32 counts as 32."""
    limits = _usable(options.limits)
    # By identity, which costs nothing to look up; the block is kept so that its identity stays its own.
    known: dict[int, tuple[Block, str]] = {}

    def once(block: Block) -> str:
        found = known.get(id(block))
        if found is None:
            found = known[id(block)] = (block, draw(block))
        return found[1]

    def drawn(blocks: Sequence[Block]) -> str:
        return between.join(map(once, blocks))

    def measure(block: Block) -> Size:
        return size_of(once(block), limits)

    def measure_text(spans: Spans) -> Size:
        return measure(Paragraph(spans))

    if options.chunk_mode == "length":
        whole = drawn(document.blocks)
        if fits(size_of(whole, limits), limits):
            yield whole
            return
    for blocks in pack(document.blocks, measure, limits, options.chunk_mode):
        text = drawn(blocks)
        if fits(size_of(text, limits), limits):
            yield text
        else:
            yield from (drawn((Paragraph(part),)) for part in cut_text(words(blocks), measure_text, limits))


def _usable(limits: Limits) -> Limits:
    return limits if not limits.size or limits.size >= _SMALLEST else replace(limits, size=_SMALLEST)
