"""Requests that are wrong: a clear refusal that names what is wrong, no turn, and the gateway goes on."""

import json
from typing import Any

import pytest

from ostiary.kit.model_servers import Failure
from tests.journeys.gateway.house import Gateway, said
from tests.journeys.gateway.model import Model

USER = {"role": "user", "content": "hi"}

WRONG: dict[str, tuple[object, str]] = {
    "nothing": (b"", "body"),
    "not JSON": (b"hello", "body"),
    "cut JSON": (b'{"messages": [', "body"),
    "two documents": (b'{"messages":[{"role":"user","content":"hi"}]}{}', "body"),
    "a list": ([USER], "body"),
    "null": (b"null", "body"),
    "a number": (b"1e999", "body"),
    "no messages": ({}, "messages"),
    "messages null": ({"messages": None}, "messages"),
    "messages an object": ({"messages": {}}, "messages"),
    "messages empty": ({"messages": []}, "messages"),
    "a message as text": ({"messages": ["hi"]}, "messages[0]"),
    "no role": ({"messages": [{"content": "hi"}]}, "messages[0]"),
    "unknown role": ({"messages": [{"role": "root", "content": "hi"}]}, "messages[0]"),
    "role a number": ({"messages": [{"role": 1, "content": "hi"}]}, "messages[0]"),
    "no content": ({"messages": [{"role": "user"}]}, "messages[0]"),
    "content null": ({"messages": [{"role": "user", "content": None}]}, "messages[0]"),
    "content a number": ({"messages": [{"role": "user", "content": 7}]}, "messages[0]"),
    "content empty": (said(""), "messages"),
    "content blank": (said(" \n\t "), "messages"),
    "an unknown part": (said([{"type": "video"}]), "messages[0]"),
    "a part without text": (said([{"type": "text"}]), "messages[0]"),
    "an image that is an address": (said([{"type": "image_url", "image_url": {"url": "http://127.0.0.1/x.png"}}]), "image_url"),
    "an image that is a file": (said([{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]), "image_url"),
    "an image that is none": (said([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]), "image_url"),
    "only an answer": ({"messages": [{"role": "assistant", "content": "hi"}]}, "messages"),
    "only a system message": ({"messages": [{"role": "system", "content": "hi"}]}, "messages"),
    "stream as text": (said("hi", stream="yes"), "stream"),
    "user a number": ({"messages": [USER], "user": 7}, "user"),
    "user empty": ({"messages": [USER], "user": ""}, "user"),
    "user an object": ({"messages": [USER], "user": {"id": "ada"}}, "user"),
    "model a list": (said("hi", model=["kit/kit-1"]), "model"),
    "max_tokens negative": (said("hi", max_tokens=-1), "max_tokens"),
    "max_tokens a text": (said("hi", max_tokens="many"), "max_tokens"),
    "temperature hot": (said("hi", temperature=99), "temperature"),
    "temperature not a number": (b'{"messages":[{"role":"user","content":"hi"}],"temperature":NaN}', ""),
    "tools an object": (said("hi", tools={}), "tools"),
    "a tool without a name": (said("hi", tools=[{"type": "function", "function": {}}]), "tools[0]"),
    "a tool with a bad name": (said("hi", tools=[{"type": "function", "function": {"name": "a b/c"}}]), "tools[0]"),
    "a tool twice": (said("hi", tools=[{"function": {"name": "a"}}, {"function": {"name": "a"}}]), "tools[1]"),
    "a forced tool": (said("hi", tool_choice="required"), "tool_choice"),
    "two answers": (said("hi", n=2), "n"),
    "an answer of no known form": (said("hi", response_format={"type": "yaml"}), "response_format"),
    "invalid UTF-8": (b'{"messages":[{"role":"user","content":"\xff\xfe"}]}', ""),
    "UTF-16": (json.dumps(said("hi")).encode("utf-16"), ""),
    "a lone surrogate": (b'{"messages":[{"role":"user","content":"\\ud800"}]}', ""),
    "nested too deep": (b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}", ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_request_is_refused_by_name(gateway: Gateway, model: Model, name: str) -> None:
    body, where = WRONG[name]
    answer = gateway.ask(body)
    assert answer.status == 400, answer.body
    assert where.lower() in answer.error.lower()
    assert answer.error.endswith(".")
    assert not model.requests


@pytest.mark.parametrize("name", ["nobody/nothing", "/", "ostiary/nobody", "agent:nobody", "x" * 5000])
def test_an_unknown_model_or_agent_is_not_found(gateway: Gateway, model: Model, name: str) -> None:
    answer = gateway.ask(said("hi", "unknown-model", model=name))
    assert (answer.status, answer.code) == (404, "model_not_found"), answer.body
    assert len(answer.error) < 1000
    assert not model.requests


@pytest.mark.parametrize("key", ["main", "agent:main", "agent::x", "agent:nobody:x", "agent:main:" + "x" * 600, "agent:../x:y"])
def test_a_session_that_cannot_be_is_refused(gateway: Gateway, model: Model, key: str) -> None:
    answer = gateway.ask(said("hi"), X_Ostiary_Session=key)
    assert answer.status in (400, 404)
    assert not model.requests


def test_a_model_its_provider_does_not_know_is_told_in_the_providers_words(gateway: Gateway, model: Model) -> None:
    model.begin(Failure(kind="unknown_model"))
    answer = gateway.ask(said("hi", "no-such-model", model="kit/no-such-model"))
    assert (answer.status, answer.code) == (404, "model_not_found")
    assert "does not know this model" in answer.error
    model.begin("fine")
    assert gateway.say("and now?", "no-such-model").text == "fine"


def test_control_characters_are_taken_out_and_harm_nobody(gateway: Gateway, model: Model) -> None:
    model.begin("ok", "fine")
    assert gateway.say("bell\x07 escape\x1b[2J null\x00 feed\x0c\tend\n", "controls").text == "ok"
    assert model.last["messages"][-1]["content"] == "bell escape[2J null feed\tend\n"
    assert gateway.say("still there?", "controls").text == "fine"
    listed = gateway.home.run("sessions", "show", "agent:main:api:controls").stdout
    assert "\x1b" not in listed
    assert "\x00" not in listed


def test_a_message_larger_than_the_limit_is_refused_before_it_is_read(gateway: Gateway, model: Model) -> None:
    answer = gateway.say("x" * 10_485_761, "huge")
    assert (answer.status, answer.code) == (413, "request_too_large")
    model.begin("fine")
    assert gateway.say("hi", "huge").text == "fine"


@pytest.mark.parametrize("size", [900_000, 10_000_000])
def test_a_message_too_long_for_anybody_is_refused_and_the_session_goes_on(gateway: Gateway, model: Model, size: int) -> None:
    model.begin(Failure(kind="context"), Failure(kind="context"))
    long = gateway.say("x" * size, "long")
    assert (long.status, long.json["error"]["type"]) == (400, "invalid_request_error"), long.body[:300]
    # What was too long is summarised before the conversation goes on.
    model.begin(*["fine"] * 20)
    assert gateway.say("and now?", "long").text.endswith("fine")


def test_a_thousand_messages_at_once_are_one_turn(gateway: Gateway, model: Model) -> None:
    model.begin("ok")
    assert gateway.ask({"messages": [USER] * 1000, "user": "thousand"}).text == "ok"
    assert len(model.requests) == 1


def test_more_messages_than_the_limit_are_refused(gateway: Gateway, model: Model) -> None:
    answer = gateway.ask({"messages": [USER] * 5001, "user": "five-thousand"})
    assert (answer.status, len(model.requests)) == (400, 0)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_another_method_is_refused(gateway: Gateway, method: str) -> None:
    assert gateway.call(method, "/v1/chat/completions").status == 405


def test_an_unknown_page_is_not_found(gateway: Gateway) -> None:
    assert gateway.call("GET", "/v1/nothing").status == 404


def test_unknown_fields_change_nothing(gateway: Gateway, model: Model) -> None:
    model.begin("ok")
    extras: dict[str, Any] = {"seed": 7, "top_p": 0.5, "metadata": {"a": "b"}, "store": True, "ostiary": {"role": "owner"}}
    assert gateway.ask({**said("hi"), **extras}).text == "ok"
