"""The text of a note: made safe to keep, and compared by what it says rather than how it is written."""

import re
import unicodedata

from ostiary.contracts.errors import BadInput
from ostiary.contracts.patterns import late

MOST_CHARACTERS = 4_000
MOST_TITLE = 120

_CONTROL = late("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# They are not seen and change what is read: directions, marks without width, letters of the tag alphabet.
_HIDDEN = late(
    "[\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)
_JOINERS = late("[\u200c\u200d]")
_WORD = late(r"[^\W_]+")
_UNSPACED = late("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def clean(text: str) -> str:
    """Text as it may be kept: line breaks in one way, no character that nobody sees. Raises BadInput for what is no text,
    is empty or is too long."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if not text:
        raise BadInput("There is nothing to remember: the text is empty.")
    if len(text) > MOST_CHARACTERS:
        raise BadInput(f"The text has {len(text):,} characters; one note holds at most {MOST_CHARACTERS:,}. Write what matters.")
    if _CONTROL.search(text):
        raise BadInput("The text holds control characters; only plain text can be remembered.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadInput("The text holds half a character (a lone surrogate).") from None
    return visible(unicodedata.normalize("NFC", text))


def visible(text: str) -> str:
    """Hidden characters become `<U+202E>`. Joiners stay inside of scripts and pictures that need them."""
    if text.isascii():
        return text
    text = _HIDDEN.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)
    return _JOINERS.sub(lambda found: _joiner(text, found), text)


def _joiner(text: str, found: "re.Match[str]") -> str:
    before, after = text[found.start() - 1 : found.start()], text[found.end() : found.end() + 1]
    needed = before > "\u02ff" and after > "\u02ff" and not _JOINERS.match(before) and not _JOINERS.match(after)
    return found[0] if needed else f"<U+{ord(found[0]):04X}>"


def title_of(text: str) -> str:
    """One line, or nothing. Raises BadInput."""
    if not text.strip():
        return ""
    line = " ".join(clean(text).split())
    if len(line) > MOST_TITLE:
        raise BadInput(f"The title has {len(line)} characters; at most {MOST_TITLE} are possible.")
    return line.strip("*_# ")


def normal(text: str) -> str:
    """What it says: words alone, without case, marks and spelling variants of one letter."""
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def holds(text: str, wanted: str) -> bool:
    """Whether a normal text holds another as whole words; scripts written without spaces have no whole words."""
    if not wanted or wanted not in text:
        return False
    return _UNSPACED.search(wanted) is not None or f" {wanted} " in f" {text} "
