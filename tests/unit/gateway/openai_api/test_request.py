import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.gateway.errors import ApiError
from ostiary.gateway.openai_api.request import parse

A = [{"function": {"name": "a"}}]
HI = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("body", "param", "says"),
    [
        ({"messages": 5}, "messages", "Expected `array`, got `int`"),
        ({"messages": [{"role": "king", "content": "x"}]}, "messages[0].role", "Invalid value 'king'"),
        ({"messages": [{"role": "user"}]}, "messages[0]", "missing required field `content`"),
        (
            {"messages": [{"role": "user", "content": [{"type": "smell"}]}]},
            "messages[0].content[0].type",
            "Invalid value 'smell'",
        ),
        ({"messages": []}, "messages", "at least one message"),
        ({}, "", "missing required field `messages`"),
        ({"messages": HI, "n": 2}, "n", "not supported"),
        ({"messages": HI, "stop": ["a", "b", "c", "d", "e"]}, "stop", "up to 4"),
        ({"messages": HI, "stop": ""}, "stop", "1 to 200 characters"),
        ({"messages": HI, "logprobs": True}, "logprobs", "not supported"),
        ({"messages": HI, "logit_bias": {"1": 5}}, "logit_bias", "not supported"),
        ({"messages": HI, "functions": [{"name": "f"}]}, "functions", "use tools"),
        ({"messages": HI, "modalities": ["audio"]}, "modalities", "only text"),
        ({"messages": HI, "reasoning_effort": "heroic"}, "reasoning_effort", "expected one of"),
        ({"messages": HI, "tool_choice": "required"}, "tool_choice", "tools that the request brings"),
        ({"messages": HI, "tools": A, "tool_choice": "always"}, "tool_choice", "expected auto, none, required"),
        ({"messages": HI, "tools": A, "tool_choice": {"type": "function"}}, "tool_choice", "expected auto, none, required"),
        ({"messages": HI, "tools": A, "tool_choice": {"type": "function", "function": {"name": "b"}}}, "tool_choice", "'b'"),
        ({"messages": HI, "response_format": {"type": "xml"}}, "response_format.type", "json_schema"),
        ({"messages": HI, "response_format": {"type": "json_schema"}}, "response_format.json_schema.schema", "missing"),
        (
            {"messages": HI, "response_format": {"type": "json_schema", "json_schema": {"name": "a b", "schema": {}}}},
            "response_format.json_schema.name",
            "expected 1 to 64",
        ),
        ({"messages": HI, "max_tokens": 0}, "max_tokens", "at least 1"),
        ({"messages": HI, "temperature": 9}, "temperature", "from 0 to 2"),
        ({"messages": HI, "tools": [{"function": {"name": "a b"}}]}, "tools[0].function.name", "expected 1 to 64"),
        (
            {"messages": HI, "tools": [{"function": {"name": "a"}}, {"function": {"name": "a"}}]},
            "tools[1].function.name",
            "twice",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_path(body: object, param: str, says: str) -> None:
    with pytest.raises(ApiError) as refusal:
        parse(json.dumps(body).encode())
    assert refusal.value.status == 400
    assert refusal.value.param == param
    assert says in refusal.value.message


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"messages": "\xc3\x28"}', b"[" * 100_000])
def test_a_body_that_is_no_request_is_refused(body: bytes) -> None:
    with pytest.raises(ApiError) as refusal:
        parse(body)
    assert refusal.value.status == 400


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_no_json_makes_the_parser_raise_anything_else(value: object) -> None:
    body = json.dumps({"messages": value}).encode()
    with pytest.raises(ApiError):
        parse(body)


def test_fields_that_do_not_change_the_meaning_are_accepted() -> None:
    request = parse(json.dumps({"messages": HI, "top_p": 0.5, "seed": 1, "metadata": {"a": "b"}, "store": False}).encode())
    assert len(request.messages) == 1
