"""How a waiting call is shown to a person: all of it, with nothing in it that could hide or reorder what is read."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping

_DIGEST = re.compile(r"[0-9a-f]{40,128}")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters and marks by category, blank to the eye: a command can be padded or split with them unseen.
_BLANKS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u00ad\u034f\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f").union(
    map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)
# Languages put up to two marks on a letter; a pile of them is drawn over its neighbours.
_MOST_MARKS = 2
_MOST_DISGUISED = 10
_INDENT = "  "
_WORD = re.compile(r"[^\W_]+")
# Letters of other alphabets that nobody can tell from Latin ones.
_ALIKE = frozenset("аеорсухіјѕԁԛԝһӏАВЕКМНОРСТХІЈЅԌԜҮοανικρυϲχηΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")


def visible(text: str) -> str:
    """Control, direction and invisible characters written out as `\\u{202E}`; line breaks stay."""
    if text.isascii() and text.isprintable():
        return text
    shown, marks = [], 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        shown.append(_escaped(character) if marks > _MOST_MARKS or _is_hidden(character) else character)
    return "".join(shown)


def _is_hidden(character: str) -> bool:
    if character in " \n":
        return False
    category = unicodedata.category(character)
    # A space that is not the ordinary one looks like it and is another argument.
    return category in _HIDDEN or category == "Zs" or character in _BLANKS


def _escaped(character: str) -> str:
    return f"\\u{{{ord(character):X}}}"


def described(name: str, arguments: Mapping[str, object]) -> str:
    """Everything the call would be given, one argument a line; long texts in full. A text of several lines stands apart, each
    of them indented, so that none can pass for a line of ours."""
    lines, disguised = [visible(name)], _disguised(name)
    for key, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        shown = visible(text)
        lines.append(f"{_line(key)}: {shown}" if "\n" not in shown else f"{_line(key)}:\n{_INDENT}{_indented(shown)}")
        disguised += [each for each in (*_disguised(key), *_disguised(text)) if each not in disguised]
    if disguised:
        lines.append(f"look twice, letters that only look like others: {', '.join(disguised[:_MOST_DISGUISED])}")
    return "\n".join(lines)


def _line(text: str) -> str:
    """On one line, whatever it is."""
    return visible(text).replace("\n", _escaped("\n"))


def _indented(text: str) -> str:
    return text.replace("\n", f"\n{_INDENT}")


def _disguised(text: str) -> list[str]:
    """Words with a letter that is easily taken for another, which is written out: `p\\u{430}ypal`."""
    if text.isascii():
        return []
    # In a text that is really written in another alphabet a word of its own letters is no disguise.
    is_foreign = any(each.isalpha() and not each.isascii() and each not in _ALIKE for each in text)
    words = dict.fromkeys(word for word in _WORD.findall(text) if not word.isascii() and _is_disguised(word, is_foreign))
    return ["".join(each if each.isascii() else _escaped(each) for each in word) for word in words]


def _is_disguised(word: str, is_foreign: bool) -> bool:
    odd = [each for each in word if not each.isascii() and (each.isalpha() or each.isdecimal())]
    if any(unicodedata.normalize("NFKC", each).isascii() for each in odd):
        return True
    alike = [each for each in odd if each in _ALIKE]
    return bool(alike) and (len(odd) < len(word) or (len(alike) == len(word) and not is_foreign))


def bound_lines(bound: Mapping[str, str]) -> list[str]:
    """What else the answer is bound to, for people: what they can read, and the names of what only a digest stands for."""
    lines = [f"{_line(name)}: {_line(value)}" for name, value in bound.items() if not _DIGEST.fullmatch(value)]
    # "files" is the digest of those that are named besides it.
    sealed = [_in_words(_line(name)) for name, value in bound.items() if name != "files" and _DIGEST.fullmatch(value)]
    return [*lines, f"as they are now: {', '.join(sealed)}"] if sealed else lines


def _in_words(name: str) -> str:
    """What a digest stands for."""
    folder = name.removeprefix("folder:")
    if folder != name:
        return "all files of the workspace" if folder == "." else f"all files of {folder}"
    return {"env": "its environment", "fence": "its sandbox"}.get(name, name.removeprefix("file:"))


def digest_of(name: str, arguments: Mapping[str, object], bound: Mapping[str, str]) -> str:
    """What an approval is bound to: change anything and it is another question."""
    text = json.dumps([name, arguments, bound], sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()
