"""What an answer must look like and which tools it calls: from the official client through the house to the provider."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from anyio.from_thread import start_blocking_portal
from openai import OpenAI
from pydantic import BaseModel

from ostiary.kit.model_servers import KEY, Call, OllamaSpeech, Reply, say, serve
from tests.journeys.gateway.house import Gateway, Home
from tests.journeys.gateway.model import Model
from tests.journeys.openai.conftest import client_of, enabled

HI: Any = [{"role": "user", "content": "Where is it warm? Answer in JSON."}]
LOOK: Any = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}},
}
LOOK_FLAT: Any = {"type": "function", **LOOK["function"]}
LOOKING = Reply(parts=(Call(name="look", pieces=('{"at": "sky"}',)),), stop="tool_calls")
JSON = '{"city":"Bern","degrees":9.5}'


class Weather(BaseModel):
    city: str
    degrees: float


def own_tools(sent: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in sent.get("tools", [])]


def test_an_answer_is_parsed_into_the_callers_own_type(client: OpenAI, model: Model) -> None:
    model.begin(JSON)
    answer = client.chat.completions.parse(model="ostiary", messages=HI, response_format=Weather)
    assert answer.choices[0].message.parsed == Weather(city="Bern", degrees=9.5)
    sent = model.last["response_format"]
    assert (sent["type"], sent["json_schema"]["name"], sent["json_schema"]["strict"]) == ("json_schema", "Weather", True)


def test_a_streamed_answer_keeps_its_form(client: OpenAI, model: Model) -> None:
    model.begin(say('{"city":"Be', 'rn","degrees":9.5}'))
    with client.chat.completions.stream(model="ostiary", messages=HI, response_format=Weather) as stream:
        answer = stream.get_final_completion()
    assert answer.choices[0].message.parsed == Weather(city="Bern", degrees=9.5)


def test_any_json_object_is_asked_for(client: OpenAI, model: Model) -> None:
    model.begin(JSON)
    answer = client.chat.completions.create(model="ostiary", messages=HI, response_format={"type": "json_object"})
    assert json.loads(answer.choices[0].message.content or "")["city"] == "Bern"
    assert model.last["response_format"] == {"type": "json_object"}


def test_json_that_looks_like_a_call_stays_an_answer(client: OpenAI, model: Model) -> None:
    model.begin('{"name": "look", "arguments": {"at": "sky"}}')
    answer = client.chat.completions.create(model="ostiary", messages=HI, tools=[LOOK], response_format={"type": "json_object"})
    assert answer.choices[0].message.tool_calls is None
    assert json.loads(answer.choices[0].message.content or "")["name"] == "look"


def test_responses_are_parsed_into_the_callers_own_type(client: OpenAI, model: Model) -> None:
    model.begin(JSON)
    answer = client.responses.parse(model="ostiary", input=HI, text_format=Weather)
    assert answer.output_parsed == Weather(city="Bern", degrees=9.5)
    assert model.last["response_format"]["json_schema"]["name"] == "Weather"
    assert answer.text is not None
    assert answer.text.format is not None
    assert answer.text.format.type == "json_schema"


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("required", "required"),
        ({"type": "function", "function": {"name": "look"}}, {"type": "function", "function": {"name": "look"}}),
    ],
)
def test_a_call_is_demanded_once_and_then_left_to_the_model(client: OpenAI, model: Model, choice: Any, sent: Any) -> None:
    model.begin(LOOKING, "Warm.")
    first = client.chat.completions.create(model="ostiary", messages=HI, tools=[LOOK], tool_choice=choice)
    (call,) = first.choices[0].message.tool_calls or ()
    assert model.last["tool_choice"] == sent
    assert own_tools(model.last) == ["look"]
    history = [*HI, first.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "warm"}]
    second = client.chat.completions.create(model="ostiary", messages=history, tools=[LOOK])
    assert second.choices[0].message.content == "Warm."
    assert "tool_choice" not in model.last
    assert len(own_tools(model.last)) > 1


def test_a_call_demanded_with_the_results_begins_anew_from_the_callers_history(client: OpenAI, model: Model) -> None:
    model.begin(LOOKING, LOOKING)
    first = client.chat.completions.create(model="ostiary", messages=HI, tools=[LOOK], tool_choice="required")
    (call,) = first.choices[0].message.tool_calls or ()
    history = [*HI, first.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "warm"}]
    second = client.chat.completions.create(model="ostiary", messages=history, tools=[LOOK], tool_choice="required")
    assert second.choices[0].finish_reason == "tool_calls"
    assert model.last["tool_choice"] == "required"
    assert [each["role"] for each in model.last["messages"]][-3:] == ["assistant", "tool", "user"]


def test_the_terms_of_a_sessions_own_turn_stand(client: OpenAI, model: Model) -> None:
    model.begin(LOOKING, JSON)
    asked: Any = {"model": "ostiary", "user": "terms", "tools": [LOOK], "response_format": {"type": "json_object"}}
    first = client.chat.completions.create(messages=HI, **asked)
    (call,) = first.choices[0].message.tool_calls or ()
    result: Any = [{"role": "tool", "tool_call_id": call.id, "content": "warm"}]
    with pytest.raises(openai.BadRequestError) as refusal:
        client.chat.completions.create(messages=result, **{**asked, "tool_choice": "required"})
    assert refusal.value.param == "tool_choice"
    second = client.chat.completions.create(messages=result, **asked)
    assert second.choices[0].message.content == JSON
    assert model.last["response_format"] == {"type": "json_object"}


def test_no_tool_is_called_where_none_may_be(client: OpenAI, model: Model) -> None:
    model.begin("No call.")
    client.chat.completions.create(model="ostiary", messages=HI, tools=[LOOK], tool_choice="none")
    assert model.last["tool_choice"] == "none"


def test_one_call_at_a_time_is_asked_for_by_both_interfaces(client: OpenAI, model: Model) -> None:
    model.begin("One.", "Two.")
    client.chat.completions.create(model="ostiary", messages=HI, tools=[LOOK], parallel_tool_calls=False)
    assert model.last["parallel_tool_calls"] is False
    answer = client.responses.create(model="ostiary", input="hi", tools=[LOOK_FLAT], parallel_tool_calls=False)
    assert model.last["parallel_tool_calls"] is False
    assert answer.parallel_tool_calls is False


def test_responses_demand_a_call_by_its_name(client: OpenAI, model: Model) -> None:
    model.begin(LOOKING)
    choice: Any = {"type": "function", "name": "look"}
    answer = client.responses.create(model="ostiary", input="hi", tools=[LOOK_FLAT], tool_choice=choice)
    assert [item.type for item in answer.output] == ["function_call"]
    assert model.last["tool_choice"] == {"type": "function", "function": {"name": "look"}}


@pytest.fixture(scope="module")
def ollama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A house whose model speaks a wire that knows forms, but no choice of tools."""
    with start_blocking_portal("asyncio") as portal, portal.wrap_async_context_manager(serve(OllamaSpeech())) as server:
        portal.call(server.script, say(JSON))
        house = Home(tmp_path_factory.mktemp("ollama") / "home")
        content: Any = enabled(server.url)
        content["models"]["providers"]["kit"] |= {"api": "ollama", "baseUrl": server.url, "apiKey": KEY}
        house.configure(content)
        with house.up() as running:
            yield running


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("more", "param"),
    [({"tool_choice": "required"}, "tool_choice"), ({"parallel_tool_calls": False}, "parallel_tool_calls")],
)
def test_what_the_models_wire_cannot_promise_is_a_bad_request_that_names_it(
    ollama: Gateway, more: Any, param: str, stream: bool
) -> None:
    with client_of(ollama) as client, pytest.raises(openai.BadRequestError) as refusal:
        client.chat.completions.create(**{"model": "ostiary", "messages": HI, "tools": [LOOK], "stream": stream, **more})
    assert (refusal.value.param, refusal.value.code) == (param, "unsupported_parameter")
    assert "kit/kit-1" in refusal.value.message


def test_a_form_reaches_a_server_of_another_wire(ollama: Gateway) -> None:
    with client_of(ollama) as client:
        answer = client.chat.completions.parse(model="ostiary", messages=HI, response_format=Weather)
    assert answer.choices[0].message.parsed == Weather(city="Bern", degrees=9.5)
