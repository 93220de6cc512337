"""Telegram's HTML: few tags, three escapes, quotes that do not nest, code that carries no other style."""

import re
from html import escape as escape_attribute
from html import unescape

from ostiary.adapters.text.layout import Dialect, Line
from ostiary.adapters.text.messages import written_in
from ostiary.contracts.text import Code

_TAG = re.compile(r"</?(?:b|i|s|code|pre|blockquote|tg-spoiler|a)(?: (?:href|class)=\"[^\"<>]*\")?>")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]+")
_OPEN, _CLOSE = "<blockquote>", "</blockquote>"


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def without_markup(text: str) -> str:
    """What a rendered message says, for sending again after Telegram refused its markup."""
    return unescape(_TAG.sub("", text))


def _link(label: str, url: str) -> str:
    return f'<a href="{escape_attribute(url)}">{escape(label)}</a>'


def _fence(code: Code) -> list[str]:
    language = code.lang if _LANGUAGE.fullmatch(code.lang) else ""
    opening, closing = (f'<pre><code class="language-{language}">', "</code></pre>") if language else ("<pre>", "</pre>")
    return (opening + escape(code.text) + closing).split("\n")


def _quote(lines: list[Line]) -> list[Line]:
    """One tag around each stretch of text; code stands between them, and a quote within a quote is only marked."""
    found: list[Line] = []
    inside = False
    for line in _flat(lines):
        if inside and line.fixed:
            found[-1] = Line(found[-1].text + _CLOSE)
        found.append(line if line.fixed or inside else Line(_OPEN + line.text))
        inside = not line.fixed
    if inside:
        found[-1] = Line(found[-1].text + _CLOSE)
    return found


def _flat(lines: list[Line]) -> list[Line]:
    if not any(_OPEN in line.text for line in lines if not line.fixed):
        return lines
    found: list[Line] = []
    nested = False
    for line in lines:
        if line.fixed:
            found.append(line)
            continue
        nested = nested or _OPEN in line.text
        text = line.text.replace(_OPEN, "").replace(_CLOSE, "")
        found.append(Line(f"&gt; {text}" if nested else text))
        nested = nested and _CLOSE not in line.text
    return found


TELEGRAM = Dialect(
    escape=escape,
    marks={
        "bold": ("<b>", "</b>"),
        "italic": ("<i>", "</i>"),
        "strike": ("<s>", "</s>"),
        "spoiler": ("<tg-spoiler>", "</tg-spoiler>"),
    },
    link=_link,
    code=lambda text: f"<code>{escape(text)}</code>",
    fence=_fence,
    quote=_quote,
    code_alone=True,
    bullet="• ",
)

render = written_in(TELEGRAM)
