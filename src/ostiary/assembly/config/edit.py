"""Changing one value in a JSON5 text and leaving every other byte alone."""

import json
import re
from collections.abc import Mapping

from ostiary.assembly.config import json5
from ostiary.assembly.config.json5 import Node
from ostiary.assembly.config.problems import Path, dotted
from ostiary.contracts.errors import BadInput
from ostiary.contracts.records import dataclass

_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_STEP = "  "


def set_value(text: str, path: Path, value: object) -> str:
    """Set `path`, making the objects on the way. Raises BadInput if something on the way is not one, Json5Error."""
    return _set(text or "{\n}\n", path, value)


def set_source(text: str, path: Path, source: str) -> str:
    """Set `path` to a piece of JSON5 as it is written, comments and references included."""
    json5.parse(source)
    return _set(text or "{\n}\n", path, _Source(source))


def source_at(text: str, path: Path) -> str | None:
    """The piece of text that `path` holds."""
    node = find(json5.parse(text), path)
    return None if node is None else text[node.start : node.end]


def unset(text: str, path: Path) -> str:
    """Remove `path` and the comment behind it on its line; a path that is not there changes nothing."""
    if not text:
        return text
    parent = find(json5.parse(text), path[:-1])
    if parent is None or not path:
        return text
    index = _index(parent, path[-1])
    return text if index is None else _remove(text, parent, index)


def find(node: Node, path: Path) -> Node | None:
    """The value at `path`, if there is one."""
    for step in path:
        index = _index(node, step)
        if index is None:
            return None
        node = node.items[index] if node.kind == "array" else node.members[index].node
    return node


@dataclass(frozen=True, slots=True)
class _Source:
    text: str


def _index(node: Node, step: str | int) -> int | None:
    if node.kind == "array":
        return step if isinstance(step, int) and step < len(node.items) else None
    names = [each.name for each in node.members]
    return len(names) - 1 - names[::-1].index(str(step)) if str(step) in names else None


def _set(text: str, path: Path, value: object) -> str:
    if not path:
        raise BadInput("the whole file cannot be set", hint="Name a key.")
    node = json5.parse(text)
    quoted = bool(node.members) and text[node.members[0].start] in "\"'"
    for depth, step in enumerate(path):
        if node.kind == "scalar" or (node.kind == "array") != isinstance(step, int):
            what = {"scalar": "a single value", "array": "a list", "object": "an object"}[node.kind]
            raise BadInput(f"{dotted(path[:depth]) or 'the file'} is {what}, so {dotted(path)} cannot be set in it")
        index = _index(node, step)
        if index is None:
            return _insert(text, node, step, _wrapped(path[depth + 1 :], value, path), quoted)
        node = node.items[index] if node.kind == "array" else node.members[index].node
    return text[: node.start] + render(value, _indent_at(text, node.start), quoted) + text[node.end :]


def _wrapped(path: Path, value: object, whole: Path) -> object:
    for step in reversed(path):
        if isinstance(step, int) and step != 0:
            raise BadInput(f"{dotted(whole)} cannot be set: the list has no entries before it")
        value = [value] if isinstance(step, int) else {step: value}
    return value


def _insert(text: str, parent: Node, step: str | int, value: object, quoted: bool) -> str:
    if isinstance(step, int) and step != len(parent.items):
        raise BadInput(f"the list has {len(parent.items)} entries, so [{step}] cannot be set", hint="Add one at the end.")
    spans = _spans(parent)
    close = parent.end - 1
    line = text.rfind("\n", 0, close) + 1
    own_line = line > parent.start and not text[line:close].strip()
    if own_line:
        first = spans[0][0] if spans else 0
        indent = _indent_at(text, first) if spans and first > parent.start else _indent_at(text, close) + _STEP
        entry = f"{indent}{_entry(step, value, indent, quoted)}"
        if not spans:
            return f"{text[:line]}{entry}\n{text[line:]}"
        comma = _comma_after(text, spans[-1][1])
        if comma is not None:
            return f"{text[:line]}{entry},\n{text[line:]}"
        return f"{text[: spans[-1][1]]},{text[spans[-1][1] : line]}{entry}\n{text[line:]}"
    base = _indent_at(text, parent.start)
    if not spans:
        if text[parent.start + 1 : close].strip():
            return f"{text[: parent.start + 1]} {_entry(step, value, base, quoted)}{text[parent.start + 1 :]}"
        inner = base + _STEP
        return f"{text[: parent.start + 1]}\n{inner}{_entry(step, value, inner, quoted)}\n{base}{text[close:]}"
    entry = _entry(step, value, base, quoted)
    comma = _comma_after(text, spans[-1][1])
    if comma is not None:
        return f"{text[: comma + 1]} {entry},{text[comma + 1 :]}"
    return f"{text[: spans[-1][1]]}, {entry}{text[spans[-1][1] :]}"


def _remove(text: str, parent: Node, index: int) -> str:
    spans = _spans(parent)
    start, end = spans[index]
    comma = _comma_after(text, end)
    is_last = index == len(spans) - 1
    if is_last and comma is None and index > 0:
        before = _comma_after(text, spans[index - 1][1])
        if before is not None:
            text = text[:before] + text[before + 1 :]
            start, end = start - 1, end - 1
    elif comma is not None:
        end = comma + 1
    head = text.rfind("\n", 0, start) + 1
    tail = re.compile(r"[ \t]*(?://[^\n\r]*)?(\r?\n)").match(text, end)
    if not text[head:start].strip() and tail is not None:
        return text[:head] + text[tail.end() :]
    while end < len(text) and text[end] in " \t" and not is_last:
        end += 1
    while start > 0 and text[start - 1] in " \t" and is_last and index > 0:
        start -= 1
    return text[:start] + text[end:]


def _spans(node: Node) -> list[tuple[int, int]]:
    if node.kind == "array":
        return [(each.start, each.end) for each in node.items]
    return [(each.start, each.node.end) for each in node.members]


def _comma_after(text: str, place: int) -> int | None:
    match = json5.BLANK.match(text, place)
    end = match.end() if match else place
    return end if text[end : end + 1] == "," else None


def _indent_at(text: str, place: int) -> str:
    """The white space the line of `place` begins with."""
    line = text.rfind("\n", 0, place) + 1
    return text[line : line + len(text[line:]) - len(text[line:].lstrip(" \t"))]


def _entry(step: str | int, value: object, indent: str, quoted: bool) -> str:
    rendered = render(value, indent, quoted)
    return rendered if isinstance(step, int) else f"{_key(step, quoted)}: {rendered}"


def _key(name: str, quoted: bool) -> str:
    return name if not quoted and _NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def render(value: object, indent: str = "", quoted: bool = False) -> str:
    """A value as JSON5, its further lines indented by `indent`. Raises ValueError for numbers JSON cannot hold."""
    inner = indent + _STEP
    if isinstance(value, _Source):
        return value.text
    if isinstance(value, Mapping) and value:
        lines = [f"{inner}{_key(str(name), quoted)}: {render(each, inner, quoted)}" for name, each in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, (list, tuple)) and any(isinstance(each, (Mapping, list, tuple)) for each in value):
        return "[\n" + ",\n".join(f"{inner}{render(each, inner, quoted)}" for each in value) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
