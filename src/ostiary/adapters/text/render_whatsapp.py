"""WhatsApp: Slack's marks without its escapes and links; a style within a word is not read, so it is left out."""

import re

from ostiary.adapters.text.layout import Dialect, prefixed
from ostiary.adapters.text.messages import written_in
from ostiary.adapters.text.render_plain import label_and_address
from ostiary.adapters.text.render_slack import broken_fence, literal_marks
from ostiary.contracts.text import Code

_GAP = "\u200b"
_SPECIAL = re.compile(r"> |[-*] |\d{1,3}\. ")


def _code(text: str) -> str:
    return "" if "`" in text else f"`{text}`"


def _fence(code: Code) -> list[str]:
    return ["```", *broken_fence(code.text).split("\n"), "```"]


WHATSAPP = Dialect(
    escape=literal_marks,
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
