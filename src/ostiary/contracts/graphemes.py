"""Where a text may be cut without tearing apart what people see as one character."""

import unicodedata

_JOINER = "\u200d"
_LONGEST = 64
_EXTENDING = frozenset({"Mn", "Me", "Mc"})


def boundary(text: str, at: int) -> int:
    """The last place at or before `at` where `text` may be cut: `at` itself unless a cluster spans it.

    A cluster of more than 64 code points is cut anyway; the result is then `at`."""
    if at <= 0 or at >= len(text):
        return max(0, min(at, len(text)))
    place = at
    while place > 0 and at - place < _LONGEST:
        if not _joined(text, place):
            return place
        place -= 1
    return at if place else 0


def _joined(text: str, at: int) -> bool:
    """Whether the characters on both sides of `at` belong together."""
    before, after = text[at - 1], text[at]
    if after < "\u0300":
        return before == "\r" and after == "\n"
    if before == _JOINER:
        return True
    if after == _JOINER or _extends(after):
        return before not in "\r\n"
    if "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff":
        return True
    if _is_flag_letter(before) and _is_flag_letter(after):
        return _flag_letters_before(text, at) % 2 == 1
    return _hangul_joined(before, after)


def _extends(char: str) -> bool:
    code = ord(char)
    # Skin tones and the invisible letters of regional flags follow the emoji they change.
    if 0x1F3FB <= code <= 0x1F3FF or 0xE0020 <= code <= 0xE007F:
        return True
    return unicodedata.category(char) in _EXTENDING or char == "\u200c"


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_letters_before(text: str, at: int) -> int:
    count = 0
    while count < _LONGEST and at - count > 0 and _is_flag_letter(text[at - count - 1]):
        count += 1
    return count


def _hangul_joined(before: str, after: str) -> bool:
    """Leading, vowel and trailing letters that make one syllable."""
    if not ("\u1100" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"):
        return False
    if "\u1100" <= before <= "\u115f":
        return "\u1100" <= after <= "\u11a7" or "\uac00" <= after <= "\ud7a3"
    return "\u1160" <= after <= "\u11ff"
