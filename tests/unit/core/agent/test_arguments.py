import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.contracts.errors import ToolError
from ostiary.core.agent.arguments import MAX_CHARACTERS, parse_arguments, parse_object, validate

READ = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1, "maxLength": 10},
        "limit": {"type": "integer", "minimum": 1, "maximum": 5},
        "mode": {"enum": ["a", "b"]},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
    },
    "required": ["path"],
    "additionalProperties": False,
}


def test_good_arguments_come_back_as_an_object() -> None:
    assert parse_arguments('{"path": "a", "limit": 5, "mode": "b", "tags": ["x"]}', READ) == {
        "path": "a",
        "limit": 5,
        "mode": "b",
        "tags": ["x"],
    }


@pytest.mark.parametrize("nothing", ["", "  ", "\n", "{}"])
def test_no_text_means_no_arguments(nothing: str) -> None:
    assert parse_arguments(nothing, {"type": "object"}) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "path is required"),
        ('{"path": 5}', "path must be string, not integer"),
        ('{"path": ""}', "path must have at least 1 characters"),
        ('{"path": "aaaaaaaaaaa"}', "path must have at most 10 characters, not 11"),
        ('{"path": "a", "limit": 0}', "limit must be at least 1, not 0"),
        ('{"path": "a", "limit": 9}', "limit must be at most 5, not 9"),
        ('{"path": "a", "limit": true}', "limit must be integer, not boolean"),
        ('{"path": "a", "limit": 1.5}', "limit must be integer, not number"),
        ('{"path": "a", "limit": "1"}', "limit must be integer, not string"),
        ('{"path": "a", "mode": "c"}', 'mode must be one of "a", "b", not "c"'),
        ('{"path": "a", "tags": ["x", 1]}', "tags[1] must be string, not integer"),
        ('{"path": "a", "tags": ["x", "y", "z"]}', "tags must have at most 2 items, not 3"),
        ('{"path": "a", "paht": "b"}', "paht is not an argument (allowed: limit, mode, path, tags)"),
        ('{"path": "a", "approved": true}', "approved is not an argument"),
    ],
)
def test_each_problem_names_its_place_and_what_is_wanted(text: str, said: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_arguments(text, READ)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "must be a JSON object, not array"),
        ('"x"', "must be a JSON object, not string"),
        ("null", "must be a JSON object, not null"),
        ('{"a": 1', "not valid JSON"),
        ('{"a": 1} and more', "not valid JSON"),
        ("{'a': 1}", "not valid JSON"),
        ('{"a": 1, "a": 2}', "'a' appears twice"),
        ('{"b": {"a": 1, "a": 2}}', "'a' appears twice"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": -Infinity}', "-Infinity is not a JSON number"),
        ('{"a": 1e999}', "too large"),
        ('{"a": ' + "9" * 5000 + "}", "not valid JSON"),
        ('{"a": "\\ud800"}', "surrogate"),
        ('{"a": "\ud800"}', "surrogate"),
        ('{"a":' * 65 + "1" + "}" * 65, "nested more than 64"),
        ('{"a":' + "[" * 100_000, "nested more than 64"),
        ("x" * (MAX_CHARACTERS + 1), "1,000,001 characters"),
    ],
)
def test_text_that_is_not_an_acceptable_object_is_refused_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_object(text)
    assert said in str(caught.value)


def test_brackets_inside_strings_do_not_count_as_depth() -> None:
    text = json.dumps({"code": "[{" * 500 + '\\"'})
    assert parse_object(text)["code"] == "[{" * 500 + '\\"'


def test_a_proper_surrogate_pair_is_text() -> None:
    assert parse_object('{"a": "\\ud83d\\ude00"}') == {"a": "😀"}


def test_a_whole_number_written_as_a_float_is_an_integer() -> None:
    assert validate({"path": "a", "limit": 5.0}, READ) == []


def test_a_flood_of_problems_is_cut_after_five() -> None:
    assert len(validate({f"k{number}": 1 for number in range(1000)}, READ)) == 5


def test_one_of_several_forms_is_enough() -> None:
    schema = {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 3}]}
    assert (validate("a", schema), validate(3, schema), validate(2, schema)) == (
        [],
        [],
        ["arguments fits none of the allowed forms"],
    )


def test_an_error_text_stays_short_whatever_the_model_wrote() -> None:
    with pytest.raises(ToolError) as caught:
        parse_arguments(json.dumps({"path": "a", "mode": "x" * 10_000, "y" * 10_000: 1}), READ)
    assert len(str(caught.value)) < 500


@given(st.text())
def test_any_text_gives_an_object_or_a_tool_error(text: str) -> None:
    try:
        result: object = parse_object(text)
    except ToolError:
        result = {}
    assert isinstance(result, dict)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_every_object_of_proper_json_is_read_back_as_it_was(value: dict[str, object]) -> None:
    assert parse_object(json.dumps(value)) == value


@given(JSON, st.dictionaries(st.sampled_from(["type", "enum", "items", "required", "properties", "minimum", "anyOf"]), JSON))
def test_validation_never_raises_whatever_the_schema_says(value: object, schema: dict[str, object]) -> None:
    assert isinstance(validate(value, schema), list)
