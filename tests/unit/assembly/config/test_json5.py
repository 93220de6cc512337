import json
import math
from collections.abc import Callable

import pyjson5
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ostiary.assembly.config import json5
from ostiary.assembly.config.json5 import Json5Error

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
)
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4), max_leaves=12
)


@given(TREES)
@settings(max_examples=60, deadline=None)
def test_it_reads_all_of_json(tree: object) -> None:
    assert json5.parse(json.dumps(tree)).plain() == tree
    assert json5.parse(json.dumps(tree, ensure_ascii=False, indent=1)).plain() == tree


@given(st.text(alphabet="{}[]:,\"'\\/*\n ab01.-+eExu_$tn\u2028", max_size=24))
@example("{a:1,}")
@example("[1,]")
@example("[,]")
@example("{a:'\\\n'}")
@example("0x")
@example("-0")
@settings(max_examples=200, deadline=None)
def test_whatever_it_accepts_means_the_same_to_another_implementation(text: str) -> None:
    ours = outcome(lambda: json5.parse(text).plain())
    assert ours in ("refused", outcome(lambda: pyjson5.decode(text)))


def outcome(read: Callable[[], object]) -> str:
    try:
        return repr(read())
    except (Json5Error, pyjson5.Json5Exception):
        return "refused"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("\ufeff// head\n{/* in */}", {}),
        ("{a: .5, b: +1, c: 0xFF, d: -0x10, $e_1: 1e3}", {"a": 0.5, "b": 1, "c": 255, "d": -16, "$e_1": 1000.0}),
        (
            r"{a: 'x\'y', b: 'one\
two', c: '\x41\u0042\v\0'}",
            {"a": "x'y", "b": "onetwo", "c": "AB\v\0"},
        ),
        (r'"\ud83d\ude00"', "😀"),
        ("[true, false, null,]", [True, False, None]),
        ("Infinity", math.inf),
        (r"{\u0061b: 1}", {"ab": 1}),
    ],
)
def test_the_comforts_of_json5_are_understood(text: str, value: object) -> None:
    assert json5.parse(text).plain() == value


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "line 1, column 1"),
        ("{a: 1 b: 2}", "line 1, column 7"),
        ("{\n  a: 1,\n  b 2\n}", "line 3, column 5"),
        ("{a: 'x\n'}", "line 1, column 5"),
        ("{a: 1", "line 1, column 6"),
        ("{} {}", "line 1, column 4"),
        ("{a: 012}", "line 1, column 5"),
        ("{a: yes}", "line 1, column 5"),
        (r"{a: '\u12'}", "line 1, column 5"),
        (r"{a: '\ud800'}", "line 1, column 5"),
        ("{} /* open", "line 1, column 4"),
    ],
)
def test_an_error_names_its_line_and_column(text: str, where: str) -> None:
    with pytest.raises(Json5Error, match=where):
        json5.parse(text)


def test_nesting_has_a_limit() -> None:
    json5.parse("[" * 64 + "]" * 64)
    with pytest.raises(Json5Error, match="deeper than 64"):
        json5.parse("[" * 65 + "]" * 65)
    with pytest.raises(Json5Error, match="deeper than 64"):
        json5.parse("[" * 1_000_000)


def test_repeated_keys_are_found_with_their_paths() -> None:
    text = "{a: {b: 1, b: 2}, c: [{d: 1, d: 1}], a: 3}"
    assert [path for path, _ in json5.repeated(json5.parse(text))] == [("a", "b"), ("c", 0, "d"), ("a",)]
