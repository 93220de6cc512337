"""HTML for mail: the styles stand at every tag, since mail programs throw style sheets away. Nothing is loaded from elsewhere."""

from ostiary.adapters.text.hypertext import Page
from ostiary.adapters.text.messages import in_messages
from ostiary.contracts.text import Document, Rendered, RenderOptions

_BODY = "font-family:system-ui,sans-serif;font-size:15px;line-height:1.5;color:#1a1a1a"
_MONO = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px;background:#f4f4f4"
_CELL = "border:1px solid #ccc;padding:4px 8px"
_STYLES = {
    "code": _MONO,
    "pre": f"{_MONO};padding:10px;border-radius:4px;white-space:pre-wrap",
    "blockquote": "margin:0 0 0 4px;padding-left:12px;border-left:3px solid #ccc;color:#555",
    "table": "border-collapse:collapse",
    "spoiler": "background:#1a1a1a;color:#1a1a1a",
    "task": "list-style:none",
} | {
    f"{cell}{side and ' ' + side}": f"{_CELL}{side and ';text-align:' + side}"
    for cell in ("td", "th")
    for side in ("", "left", "center", "right")
}
_OPEN, _CLOSE = f'<div style="{_BODY}">\n', "\n</div>"


def _dress(name: str) -> str:
    found = _STYLES.get(name)
    return f' style="{found}"' if found else ""


def render(document: Document, options: RenderOptions) -> list[Rendered]:
    page = Page(_dress, options.tables)
    texts = in_messages(document, options, page.block, between="\n")
    return [Rendered(_OPEN + text + _CLOSE) for text in texts if text]
