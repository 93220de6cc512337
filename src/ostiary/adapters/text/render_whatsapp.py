"""WhatsApp: Slack's marks without its escapes and links; a style within a word is not read, so it is left out."""

import re

from ostiary.adapters.text.layout import Dialect, prefixed
from ostiary.adapters.text.messages import written_in
from ostiary.adapters.text.render_plain import label_and_address
from ostiary.adapters.text.render_slack import broken_fence
from ostiary.contracts.text import Code

_GAP = "\u200b"
_OPENING = re.compile(r"(?<![^\W_])([*_~`]+)(?=\S)")
_SPECIAL = re.compile(r"> |[-*] |\d{1,3}\. ")


def _escape(text: str) -> str:
    return _OPENING.sub(rf"\1{_GAP}", text)


def _code(text: str) -> str:
    return "" if "`" in text else f"`{text}`"


def _fence(code: Code) -> list[str]:
    return ["```", *broken_fence(code.text).split("\n"), "```"]


WHATSAPP = Dialect(
    escape=_escape,
    marks={"bold": ("*", "*"), "italic": ("_", "_"), "strike": ("~", "~"), "spoiler": ("||", "||")},
    link=label_and_address,
    code=_code,
    fence=_fence,
    quote=prefixed("> "),
    tables="bullets",
    in_word="drop",
    guard=lambda line: _GAP + line if _SPECIAL.match(line) else line,
)

render = written_in(WHATSAPP)
