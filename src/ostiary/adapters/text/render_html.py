"""HTML for the web page: classes only, so that a strict Content-Security-Policy has nothing to refuse."""

from ostiary.adapters.text.hypertext import Page
from ostiary.adapters.text.messages import in_messages
from ostiary.contracts.text import Document, Rendered, RenderOptions

_CLASSES = {"spoiler": "spoiler", "task": "task"} | {
    f"{cell} {side}": side for cell in ("td", "th") for side in ("left", "center", "right")
}


def _dress(name: str) -> str:
    found = _CLASSES.get(name)
    return f' class="{found}"' if found else ""


def render(document: Document, options: RenderOptions) -> list[Rendered]:
    page = Page(_dress, options.tables)
    return [Rendered(text) for text in in_messages(document, options, page.block, between="\n") if text]
