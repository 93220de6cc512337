"""No marks at all: terminals, IRC, SMS, and what is sent when a channel refuses formatted text."""

from ostiary.adapters.text.layout import Dialect, prefixed
from ostiary.adapters.text.links import says_its_address
from ostiary.adapters.text.messages import written_in
from ostiary.contracts.text import Code


def label_and_address(label: str, url: str) -> str:
    return label if says_its_address(label, url) else f"{label} ({url.removeprefix('mailto:')})"


def _lines(code: Code) -> list[str]:
    return code.text.split("\n")


PLAIN_TEXT = Dialect(
    escape=str,
    marks={"bold": ("", ""), "italic": ("", ""), "strike": ("", ""), "spoiler": ("||", "||")},
    link=label_and_address,
    code=str,
    fence=_lines,
    quote=prefixed("> "),
    tasks=("[ ] ", "[x] "),
    rule="---",
    indents_code=True,
)

render = written_in(PLAIN_TEXT)
