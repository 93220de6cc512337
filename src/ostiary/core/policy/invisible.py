"""Letters that nobody sees: a text that is broken up by them reads as the whole one. Pure."""

import re
from bisect import bisect_right

from ostiary.contracts.records import dataclass

# Soft hyphens, joiners, marks of direction, selectors of variants, tags.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_FAR_APART = 64
_AT_FIRST = 64 * _FAR_APART


@dataclass(frozen=True, slots=True, kw_only=True)
class Visible:
    """What is seen of a text. Its letter `n` stands in the whole as many places further on as `shifts` has up to `n`."""

    text: str
    shifts: tuple[int, ...]

    def place(self, at: int) -> int:
        return at + bisect_right(self.shifts, at)


def visible(text: str, view: bytes) -> Visible | None:
    """None if all of it is. `view` is the text in Latin-1, with a question mark for each letter that this has not."""
    if text.isascii() or not _hides(text, view):
        return None
    hidden = (found.start() for found in _INVISIBLE.finditer(text))
    return Visible(text=_INVISIBLE.sub("", text), shifts=tuple(place - number for number, place in enumerate(hidden)))


def _hides(text: str, view: bytes) -> bool:
    """Looked for where they can be, for there are mostly few such places."""
    for sign in (b"\xad", b"?"):
        count, at = 0, view.find(sign)
        while at >= 0:
            count += 1
            if count * _FAR_APART > at + _AT_FIRST:
                return _INVISIBLE.search(text, at) is not None
            if text[at] != "?" and _INVISIBLE.match(text, at):
                return True
            at = view.find(sign, at + 1)
    return False
