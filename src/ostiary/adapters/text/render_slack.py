"""Slack's mrkdwn: single marks that need a word's edge, three escapes, no backslash.

Slack has no way to write a mark literally; an invisible space behind it keeps it from opening a style.
"""

import re

from ostiary.adapters.text.layout import Dialect, prefixed
from ostiary.adapters.text.links import encoded, says_its_address
from ostiary.adapters.text.messages import written_in
from ostiary.contracts.text import Code

_GAP = "\u200b"
_MARK = re.compile(r"[*_~`]")
_OPENING = re.compile(r"(?<![^\W_])([*_~`]+)(?=\S)")


def escape_entities(text: str) -> str:
    """Only these three: they also keep `<!channel>` and `<@…>` from calling people."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escape(text: str) -> str:
    return literal_marks(escape_entities(text))


def literal_marks(text: str) -> str:
    return _OPENING.sub(rf"\1{_GAP}", broken_fence(text)) if _MARK.search(text) else text


def broken_fence(text: str) -> str:
    """Three backticks begin or end code wherever they stand."""
    return text.replace("```", f"``{_GAP}`")


def _link(label: str, url: str) -> str:
    address = escape_entities(encoded(url, "<>|"))
    return f"<{address}>" if says_its_address(label, url) else f"<{address}|{escape_entities(label)}>"


def _code(text: str) -> str:
    return "" if "`" in text else f"`{escape_entities(text)}`"


def _fence(code: Code) -> list[str]:
    return ["```", *escape_entities(broken_fence(code.text)).split("\n"), "```"]


SLACK = Dialect(
    escape=escape,
    marks={"bold": ("*", "*"), "italic": ("_", "_"), "strike": ("~", "~"), "spoiler": ("||", "||")},
    link=_link,
    code=_code,
    fence=_fence,
    quote=prefixed("> "),
    in_word="gap",
    guard=lambda line: _GAP + line if line.startswith("&gt;") else line,
    bullet="• ",
)

render = written_in(SLACK)
