"""How a waiting call is shown to a person: all of it, with nothing in it that could hide or reorder what is read."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping

_DIGEST = re.compile(r"[0-9a-f]{40,128}")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters by category, blank to the eye: a command can be padded or split with them unseen.
_BLANKS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u00ad\u034f\u180e")


def visible(text: str) -> str:
    """Control, direction and invisible characters written out as `\\u{202E}`; line breaks stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character == "\n" or (character not in _BLANKS and unicodedata.category(character) not in _HIDDEN):
        # A space that is not the ordinary one looks like it and is another argument.
        return character if character in " \n" or unicodedata.category(character) != "Zs" else f"\\u{{{ord(character):X}}}"
    return f"\\u{{{ord(character):X}}}"


def described(name: str, arguments: Mapping[str, object]) -> str:
    """Everything the call would be given, one argument a line; long texts in full."""
    lines = [visible(name)]
    for key, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        shown = visible(text)
        lines.append(f"{visible(key)}: {shown}" if "\n" not in shown else f"{visible(key)}:\n{shown}")
    return "\n".join(lines)


def bound_lines(bound: Mapping[str, str]) -> list[str]:
    """What else the answer is bound to, for people: what they can read, and the names of what only a digest stands for."""
    lines = [f"{visible(name)}: {visible(value)}" for name, value in bound.items() if not _DIGEST.fullmatch(value)]
    sealed = [visible(name.removeprefix("file:")) for name, value in bound.items() if _DIGEST.fullmatch(value)]
    return [*lines, f"as they are now: {', '.join(sealed)}"] if sealed else lines


def digest_of(name: str, arguments: Mapping[str, object], bound: Mapping[str, str]) -> str:
    """What an approval is bound to: change anything and it is another question."""
    text = json.dumps([name, arguments, bound], sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()
