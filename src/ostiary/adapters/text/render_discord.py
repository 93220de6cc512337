"""Discord's Markdown: backslash escapes, three heading sizes, links behind text only to the web, nobody called by accident."""

import re

from ostiary.adapters.text.layout import Dialect, prefixed
from ostiary.adapters.text.links import encoded, says_its_address
from ostiary.adapters.text.messages import written_in
from ostiary.adapters.text.render_slack import broken_fence
from ostiary.contracts.text import Code

_GAP = "\u200b"
_SPECIAL = re.compile(r"[\\*_~`|\[\]<]")
_CALL = re.compile(r"@(?=everyone\b|here\b)")
_LINE_START = re.compile(r"(#{1,3} |-# |>(?:>>)? |[-*+] )|(\d{1,9})(\. )")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]+")
_SMALLEST_HEADING = 3


def escape(text: str) -> str:
    text = _SPECIAL.sub(r"\\\g<0>", text)
    return _CALL.sub(f"@{_GAP}", text) if "@" in text else text


def _guard(line: str) -> str:
    found = _LINE_START.match(line)
    if found is None:
        return line
    return "\\" + line if found[1] else f"{found[2]}\\{line[len(found[2]) :]}"


def _link(label: str, url: str) -> str:
    if says_its_address(label, url) and url.startswith("http"):
        return encoded(url, "<>")
    # A label that looks like another address would be shown as written; so would a link that does not lead to the web.
    if not url.startswith("http") or "://" in label:
        return escape(label) if says_its_address(label, url) else f"{escape(label)} ({url.removeprefix('mailto:')})"
    return f"[{escape(label)}]({encoded(url, '()<>')})"


def _code(text: str) -> str:
    if "``" in text:
        return ""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _fence(code: Code) -> list[str]:
    language = code.lang if _LANGUAGE.fullmatch(code.lang) else ""
    return [f"```{language}", *broken_fence(code.text).split("\n"), "```"]


def _heading(level: int, text: str) -> str:
    return f"{'#' * min(level, _SMALLEST_HEADING)} {text}"


DISCORD = Dialect(
    escape=escape,
    marks={"bold": ("**", "**"), "italic": ("*", "*"), "strike": ("~~", "~~"), "spoiler": ("||", "||")},
    link=_link,
    code=_code,
    fence=_fence,
    quote=prefixed("> "),
    guard=_guard,
    heading=_heading,
    indents_code=True,
)

render = written_in(DISCORD)
