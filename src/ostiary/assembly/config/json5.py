"""JSON5 with positions: what a text means, and where each piece of it stands.

Positions are what lets an edit leave comments alone, a problem name its line, and a repeated key be refused.
"""

import re
from collections.abc import Iterator
from typing import Literal

from ostiary.contracts.errors import ConfigInvalid

MAX_DEPTH = 64

BLANK = re.compile(r"(?:[\s\ufeff]+|//[^\n\r\u2028\u2029]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r""""(?:[^"\\\n\r]|\\(?:\r\n|.))*"|'(?:[^'\\\n\r]|\\(?:\r\n|.))*'""", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|Infinity|NaN|(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_NAME = re.compile(r"(?:[^\W\d]|[$_]|\\u[0-9a-fA-F]{4})(?:[\w$\u200c\u200d]|\\u[0-9a-fA-F]{4})*")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_WORDS = {"true": True, "false": False, "null": None}
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_CONTINUED = frozenset({"\n", "\r", "\r\n", "\u2028", "\u2029"})

Scalar = str | int | float | bool | None


class Node:
    """A value at `text[start:end]`. Objects have `members`, arrays have `items`, the rest has `value`."""

    __slots__ = ("end", "items", "kind", "members", "start", "value")

    def __init__(self, kind: Literal["object", "array", "scalar"], start: int) -> None:
        self.kind = kind
        self.start = start
        self.end = start
        self.value: Scalar = None
        self.members: list[Member] = []
        self.items: list[Node] = []

    def member(self, name: str) -> "Member | None":
        """The last one of that name, as readers of JSON take it."""
        return next((each for each in reversed(self.members) if each.name == name), None)

    def plain(self) -> object:
        """Dictionaries, lists and scalars."""
        if self.kind == "object":
            return {each.name: each.node.plain() for each in self.members}
        if self.kind == "array":
            return [each.plain() for each in self.items]
        return self.value


class Member:
    """A key at `text[start:...]` and its value."""

    __slots__ = ("name", "node", "start")

    def __init__(self, name: str, start: int, node: Node) -> None:
        self.name = name
        self.start = start
        self.node = node


class Json5Error(ConfigInvalid):
    """The text is not JSON5. `line` and `column` count from 1."""

    def __init__(self, reason: str, *, line: int, column: int) -> None:
        sentence = f"line {line}, column {column}: {reason}"
        super().__init__(sentence, problems=(sentence,), hint="Correct the file, then run: ostiary config validate")
        self.line = line
        self.column = column


def parse(text: str) -> Node:
    """The whole text as one value. Raises Json5Error."""
    reader = _Reader(text)
    reader.skip()
    node = reader.value(1)
    reader.skip()
    if reader.place != len(text):
        raise reader.error("the value has ended, but more follows")
    return node


def line_of(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def repeated(node: Node, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """Every key that stands twice in one object: its path and the position of the second."""
    seen: set[str] = set()
    for each in node.members:
        if each.name in seen:
            yield (*path, each.name), each.start
        seen.add(each.name)
        yield from repeated(each.node, (*path, each.name))
    for index, item in enumerate(node.items):
        yield from repeated(item, (*path, index))


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def error(self, reason: str) -> Json5Error:
        start = self.text.rfind("\n", 0, self.place) + 1
        return Json5Error(reason, line=line_of(self.text, self.place), column=self.place - start + 1)

    def skip(self) -> None:
        match = BLANK.match(self.text, self.place)
        if match is not None:
            self.place = match.end()

    def value(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise self.error(f"nested deeper than {MAX_DEPTH} levels")
        head = self.text[self.place : self.place + 1]
        if head == "{":
            return self._object(depth)
        if head == "[":
            return self._array(depth)
        node = Node("scalar", self.place)
        node.value = self._string() if head in ('"', "'") and head else self._word()
        node.end = self.place
        return node

    def _object(self, depth: int) -> Node:
        node = Node("object", self.place)
        self.place += 1
        self.skip()
        while not self._closes("}"):
            start = self.place
            name = self._key()
            self.skip()
            if self.text[self.place : self.place + 1] != ":":
                raise self.error(f"a colon is missing after the key {name[:40]!r}")
            self.place += 1
            self.skip()
            node.members.append(Member(name, start, self.value(depth + 1)))
            self._separate("}")
        node.end = self.place
        return node

    def _array(self, depth: int) -> Node:
        node = Node("array", self.place)
        self.place += 1
        self.skip()
        while not self._closes("]"):
            node.items.append(self.value(depth + 1))
            self._separate("]")
        node.end = self.place
        return node

    def _closes(self, bracket: str) -> bool:
        if self.text[self.place : self.place + 1] != bracket:
            return False
        self.place += 1
        return True

    def _separate(self, bracket: str) -> None:
        self.skip()
        head = self.text[self.place : self.place + 1]
        if head == ",":
            self.place += 1
            self.skip()
        elif head == "":
            raise self.error(f"the file ends, but a {bracket} is missing")
        elif head != bracket:
            raise self.error(f"a comma or {bracket} is missing")

    def _key(self) -> str:
        if self.text[self.place : self.place + 1] in ('"', "'"):
            return self._string()
        match = _NAME.match(self.text, self.place)
        if match is None:
            missing = "a key is missing (put keys with special characters in quotes)"
            raise self.error(missing if self._more() else "the file ends, but a } is missing")
        self.place = match.end()
        return self._unescaped(match[0])

    def _more(self) -> bool:
        return self.place < len(self.text)

    def _string(self) -> str:
        match = _STRING.match(self.text, self.place)
        if match is None:
            raise self.error("a text is not closed on its line")
        inner = self._unescaped(match[0][1:-1])
        self.place = match.end()
        return inner

    def _unescaped(self, text: str) -> str:
        if "\\" not in text:
            return text
        joined = _ESCAPE.sub(self._escape, text)
        joined = _SURROGATES.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), joined)
        if any("\ud800" <= letter <= "\udfff" for letter in joined):
            raise self.error("an escaped character is half of a pair")
        return joined

    def _escape(self, match: re.Match[str]) -> str:
        code = match[1] or match[2]
        if code:
            return chr(int(code, 16))
        letter = match[3]
        if letter in _CONTINUED:
            return ""
        if letter in "ux123456789":
            raise self.error(f"\\{letter} is not an escape")
        return _LETTERS.get(letter, letter)

    def _word(self) -> Scalar:
        number = _NUMBER.match(self.text, self.place)
        name = _NAME.match(self.text, number.end() if number else self.place)
        if number is not None and name is None and not self.text[number.end() : number.end() + 1].isdigit():
            self.place = number.end()
            return _as_number(number[0])
        if number is None and name is not None and name[0] in _WORDS:
            self.place = name.end()
            return _WORDS[name[0]]
        if not self._more():
            raise self.error("the file ends, but a value is missing")
        raise self.error("a value is missing (put texts in quotes)")


def _as_number(text: str) -> int | float:
    sign = -1 if text[0] == "-" else 1
    digits = text.lstrip("+-")
    if digits[:2] in ("0x", "0X"):
        return sign * int(digits, 16)
    if digits.isdigit() and len(digits) <= 40:
        return sign * int(digits)
    return sign * float(digits)
