import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostiary.assembly.config import edit, json5
from ostiary.assembly.config.json5 import Json5Error
from ostiary.assembly.config.problems import dotted, parse_path
from ostiary.contracts.errors import BadInput

FILE = """// Ostiary
{
  // the door
  gateway: {
    port: 18789, // usual
    auth: { token: "${TOKEN}" },
  },
  agents: { list: [{ id: "main" }, { id: 'other' }] }, /* end */
  "quoted key": [1, 2, 3]
}
"""

NAMES = st.sampled_from(["a", "b", "c", "dm-scope", "x/y", "é"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
SPACES = st.sampled_from(["", " ", "\n", "\n  ", " /* c, } */ ", " // note: {\n", "\n\t// x\n"])


@st.composite
def texts(draw: st.DrawFn, depth: int = 0) -> str:
    """JSON5 with comments and odd white space everywhere they may stand."""
    kind = draw(st.sampled_from(["object", "object", "array", "scalar"])) if depth else "object"
    gap = lambda: draw(SPACES)  # noqa: E731 - drawn anew at every place
    if kind == "scalar" or depth > 3:
        return draw(st.sampled_from(["1", "true", '"t"', "'${ENV}'", "null", "0x1F"]))
    count = draw(st.integers(0, 3))
    if kind == "array":
        entries = [draw(texts(depth + 1)) for _ in range(count)]
        inner = ",".join(f"{gap()}{each}{gap()}" for each in entries)
        comma = "," if entries and draw(st.booleans()) else ""
        return f"[{inner}{comma}{gap()}]"
    names = draw(st.lists(NAMES, unique=True, min_size=count, max_size=count))
    quoted = [name if re.fullmatch(r"[a-z]", name) and draw(st.booleans()) else f'"{name}"' for name in names]
    inner = ",".join(f"{gap()}{name}{gap()}:{gap()}{draw(texts(depth + 1))}{gap()}" for name in quoted)
    comma = "," if names and draw(st.booleans()) else ""
    body = f"{{{inner}{comma}{gap()}}}"
    return f"{gap()}{body}{gap()}" if depth == 0 else body


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(deep for name, inner in pairs for deep in places(inner, (*path, name)))]


def put(tree: Any, path: tuple[str | int, ...], value: object) -> Any:
    head, *rest = path
    if isinstance(tree, list):
        copy = list(tree) + ([None] if head == len(tree) else [])
        copy[head] = put(copy[head], tuple(rest), value) if rest else value  # type: ignore[index]
        return copy
    return {**tree, head: put(tree.get(head), tuple(rest), value) if rest else value}


def without(tree: Any, path: tuple[str | int, ...]) -> Any:
    head, *rest = path
    if isinstance(tree, list):
        return [without(each, tuple(rest)) if rest and i == head else each for i, each in enumerate(tree) if rest or i != head]
    return {
        name: without(each, tuple(rest)) if rest and name == head else each for name, each in tree.items() if rest or name != head
    }


def is_subsequence(part: str, whole: str) -> bool:
    letters = iter(whole)
    return all(letter in letters for letter in part)


@given(st.data(), texts(), VALUES)
@settings(max_examples=60, deadline=None)
def test_replacing_a_value_leaves_every_other_byte_alone(data: st.DataObject, text: str, value: object) -> None:
    tree = json5.parse(text).plain()
    path = data.draw(st.sampled_from([each for each in places(tree) if each] or [("a",)]))
    node = edit.find(json5.parse(text), path)
    result = edit.set_value(text, path, value)
    assert json5.parse(result).plain() == put(tree, path, value)
    head, tail = (text[: node.start], text[node.end :]) if node else ("", "")
    assert result.startswith(head)
    assert result.endswith(tail)


@given(st.data(), texts(), VALUES)
@settings(max_examples=60, deadline=None)
def test_adding_a_value_only_adds_text(data: st.DataObject, text: str, value: object) -> None:
    tree = json5.parse(text).plain()
    parents = [each for each in places(tree) if isinstance(edit.find(json5.parse(text), each).plain(), (dict, list))]  # type: ignore[union-attr]
    parent = data.draw(st.sampled_from(parents))
    node = edit.find(json5.parse(text), parent)
    assert node is not None
    path = (*parent, len(node.items) if node.kind == "array" else "new")
    result = edit.set_value(text, path, value)
    assert json5.parse(result).plain() == put(tree, path, value)
    assert is_subsequence(text, result)


@given(st.data(), texts())
@settings(max_examples=60, deadline=None)
def test_removing_a_value_only_removes_text(data: st.DataObject, text: str) -> None:
    tree = json5.parse(text).plain()
    path = data.draw(st.sampled_from([each for each in places(tree) if each] or [("nothing",)]))
    result = edit.unset(text, path)
    assert json5.parse(result).plain() == without(tree, path)
    assert is_subsequence(result, text)


@given(texts(), VALUES)
@settings(max_examples=40, deadline=None)
def test_adding_and_removing_again_keeps_every_comment(text: str, value: object) -> None:
    comment = re.compile(r"/\* c, } \*/|// note: \{|// x")
    assert comment.findall(edit.unset(edit.set_value(text, ("new",), value), ("new",))) == comment.findall(text)


def test_a_value_is_changed_in_place() -> None:
    assert edit.set_value(FILE, ("gateway", "port"), 1) == FILE.replace("18789", "1")


def test_a_new_key_takes_the_indentation_of_its_neighbours() -> None:
    changed = edit.set_value(FILE, ("gateway", "bind"), "lan")
    assert changed == FILE.replace('auth: { token: "${TOKEN}" },\n', 'auth: { token: "${TOKEN}" },\n    bind: "lan",\n')


def test_a_new_key_behind_one_without_a_comma_gets_its_comma() -> None:
    changed = edit.set_value(FILE, ("session", "mainKey"), "m")
    assert '"quoted key": [1, 2, 3],\n  session: {\n    mainKey: "m"\n  }\n}\n' in changed


def test_strict_json_stays_strict_json() -> None:
    import json

    text = '{\n  "a": {"b": 1},\n  "c": 2\n}'
    text = edit.set_value(text, ("a", "d"), {"e": [1]})
    text = edit.unset(edit.set_value(text, ("f",), None), ("c",))
    assert json.loads(edit.unset(text, ("f",))) == {"a": {"b": 1, "d": {"e": [1]}}}


def test_a_missing_file_begins_as_an_object() -> None:
    assert edit.set_value("", ("gateway", "port"), 1) == "{\n  gateway: {\n    port: 1\n  }\n}\n"


def test_removing_a_line_takes_its_own_comment_and_no_other() -> None:
    changed = edit.unset(FILE, ("gateway", "port"))
    assert "usual" not in changed
    assert "// the door" in changed
    assert '"${TOKEN}"' in changed


def test_a_path_through_a_single_value_is_refused() -> None:
    with pytest.raises(BadInput, match=r"gateway\.port is a single value"):
        edit.set_value(FILE, ("gateway", "port", "x"), 1)


def test_a_hole_in_a_list_is_refused() -> None:
    with pytest.raises(BadInput, match="has 2 entries"):
        edit.set_value(FILE, ("agents", "list", 5), {})


def test_a_broken_text_is_not_edited() -> None:
    with pytest.raises(Json5Error):
        edit.set_value("{a: ", ("b",), 1)


@given(st.lists(st.one_of(st.integers(0, 99), st.text(alphabet="ab.-/[] é", min_size=1, max_size=5)), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_a_path_survives_being_written_down(steps: list[str | int]) -> None:
    assert parse_path(dotted(tuple(steps))) == tuple(steps)


@pytest.mark.parametrize("text", ["", ".", "a..b", "a[", "a[x]", "a]"])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        parse_path(text)
