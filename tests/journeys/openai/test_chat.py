import json
from typing import Any

import openai
import pytest
from openai import OpenAI

from ostiary.kit.model_servers import Failure, Reply, say
from ostiary.kit.model_servers.script import Call, Words
from tests.journeys.gateway.house import Gateway, Home
from tests.journeys.gateway.model import Model
from tests.journeys.openai.conftest import client_of, enabled
from tests.journeys.openai.words import PNG

HI: Any = [{"role": "user", "content": "Hello"}]
LOOK: Any = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}}}
LOOKS = Reply(parts=(Call(name="look", pieces=('{"at":', '"the door"}')),), stop="tool_calls")


def test_a_message_is_answered(client: OpenAI, model: Model) -> None:
    model.begin(say("Good ", "day."))
    answer = client.chat.completions.create(model="ostiary", messages=HI, temperature=0.5, max_completion_tokens=99)
    (choice,) = answer.choices
    assert (choice.message.content, choice.finish_reason, answer.object) == ("Good day.", "stop", "chat.completion")
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (10, 5)
    assert model.last["temperature"] == 0.5


def test_a_stream_says_the_same_and_its_usage(client: OpenAI, model: Model) -> None:
    model.begin(say("Good ", "day."))
    chunks = list(
        client.chat.completions.create(model="ostiary", messages=HI, stream=True, stream_options={"include_usage": True})
    )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Good day."
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 15


def test_the_clients_own_accumulation_agrees(client: OpenAI, model: Model) -> None:
    model.begin(LOOKS)
    with client.chat.completions.stream(model="ostiary", messages=HI, tools=[LOOK]) as stream:
        final = stream.get_final_completion()
    (call,) = final.choices[0].message.tool_calls or ()
    assert (call.function.name, call.function.arguments) == ("look", '{"at":"the door"}')


@pytest.mark.parametrize("user", ["chat-tools", None])
def test_tools_of_the_client_make_a_round_trip(client: OpenAI, model: Model, user: str | None) -> None:
    named: Any = {"user": user} if user else {}
    model.begin(LOOKS, "A cat.")
    asked = client.chat.completions.create(model="ostiary", messages=HI, tools=[LOOK], **named)
    assert asked.choices[0].finish_reason == "tool_calls"
    (call,) = asked.choices[0].message.tool_calls or ()
    history: Any = [*HI, asked.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "fur"}]
    answer = client.chat.completions.create(model="ostiary", messages=history, tools=[LOOK], **named)
    assert answer.choices[0].message.content == "A cat."
    assert model.last["messages"][-1]["content"] == "fur"
    assert len(model.requests) == 2


def test_a_stop_ends_the_answer_whole_or_streamed(client: OpenAI, model: Model) -> None:
    model.begin(say("Thought: look\nObser", "vation: a lie"), say("Thought: look\nObser", "vation: a lie"))
    whole = client.chat.completions.create(model="ostiary", messages=HI, stop=["\nObservation:"])
    chunks = list(client.chat.completions.create(model="ostiary", messages=HI, stop="\nObservation:", stream=True))
    assert whole.choices[0].message.content == "Thought: look"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Thought: look"


def test_images_are_seen(client: OpenAI, model: Model) -> None:
    model.begin("A dot.")
    content: Any = [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": PNG, "detail": "low"}}]
    client.chat.completions.create(model="ostiary", messages=[{"role": "user", "content": content}])
    assert PNG in json.dumps(model.last["messages"])


def test_models_are_listed_and_found_by_name(client: OpenAI) -> None:
    names = [each.id for each in client.models.list()]
    assert names[:2] == ["ostiary", "ostiary/main"]
    assert client.models.retrieve("ostiary").id == "ostiary"
    assert client.models.retrieve("kit/kit-1").owned_by == "kit"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("kit/none")


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"n": 2}, "n"),
        ({"logprobs": True}, "logprobs"),
        ({"response_format": {"type": "xml"}}, "response_format.type"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tools": [LOOK], "tool_choice": {"type": "function", "function": {"name": "listen"}}}, "tool_choice"),
        ({"messages": []}, "messages"),
    ],
)
def test_what_cannot_be_honoured_is_a_bad_request_that_names_it(client: OpenAI, model: Model, more: Any, param: str) -> None:
    with pytest.raises(openai.BadRequestError) as refusal:
        client.chat.completions.create(**{"model": "ostiary", "messages": HI, **more})
    assert refusal.value.param == param
    assert model.requests == []


def test_a_wrong_token_is_an_authentication_error(gateway: Gateway, model: Model) -> None:
    with (
        OpenAI(base_url=f"{gateway.url}/v1", api_key="wrong", max_retries=0) as stranger,
        pytest.raises(openai.AuthenticationError),
    ):
        stranger.chat.completions.create(model="ostiary", messages=HI)


def test_an_unknown_model_is_not_found(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as refusal:
        client.chat.completions.create(model="gpt-none", messages=HI)
    assert refusal.value.code == "model_not_found"


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_a_known_provider_does_not_have_is_not_found(client: OpenAI, model: Model, stream: bool) -> None:
    model.begin(Failure(kind="unknown_model"))
    with pytest.raises(openai.NotFoundError) as refusal:
        client.chat.completions.create(model="kit/none", messages=HI, stream=stream)
    assert (refusal.value.code, refusal.value.param) == ("model_not_found", "model")


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_the_provider_refuses_is_a_bad_request(client: OpenAI, model: Model, stream: bool) -> None:
    model.begin(Failure(kind="rejected"))
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="ostiary", messages=HI, stream=stream)


@pytest.mark.parametrize(
    ("failure", "error"),
    [("auth", openai.InternalServerError), ("rate", openai.RateLimitError), ("billing", openai.APIStatusError)],
)
def test_a_turn_that_failed_is_not_run_again_by_a_client_that_retries(
    home: Home, model: Model, failure: Any, error: type[Exception]
) -> None:
    """The client would by itself repeat a 429 and a 5xx: the gateway says that what was accepted must not be."""
    home.configure(enabled(model.url))
    model.begin(*[Failure(kind=failure)] * 20)
    with home.up() as gateway, client_of(gateway, max_retries=2) as eager:
        with pytest.raises(error):
            eager.chat.completions.create(model="ostiary", messages=HI, user="retried")
        assert len(gateway.call("GET", "/v1/ostiary/session?key=agent:main:api:retried").json["said"]) == 2


def test_the_same_key_runs_once(client: OpenAI, model: Model) -> None:
    model.begin("Once.")
    headers = {"Idempotency-Key": "chat-once"}
    answers = [client.chat.completions.create(model="ostiary", messages=HI, extra_headers=headers) for _ in range(2)]
    assert [answer.choices[0].message.content for answer in answers] == ["Once.", "Once."]
    assert len(model.requests) == 1


def test_a_client_that_times_out_finds_the_answer_with_its_key(gateway: Gateway, model: Model) -> None:
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("At last.",)),), holds={0: gate}))
    headers = {"Idempotency-Key": "chat-timeout"}
    with client_of(gateway, timeout=0.5) as hasty, pytest.raises(openai.APITimeoutError):
        hasty.chat.completions.create(model="ostiary", messages=HI, extra_headers=headers)
    model.release(gate)
    with client_of(gateway) as patient:
        answer = patient.chat.completions.create(model="ostiary", messages=HI, extra_headers=headers)
    assert answer.choices[0].message.content == "At last."
    assert len(model.requests) == 1


def test_an_interface_that_is_off_does_not_exist(home: Home, model: Model) -> None:
    off: Any = enabled(model.url)
    off["gateway"]["http"] = {"endpoints": {"chatCompletions": {"enabled": False}, "responses": {"enabled": False}}}
    home.configure(off)
    with home.up() as gateway, client_of(gateway) as client:
        with pytest.raises(openai.NotFoundError):
            client.chat.completions.create(model="ostiary", messages=HI)
        with pytest.raises(openai.NotFoundError):
            client.responses.create(model="ostiary", input="a")
        with pytest.raises(openai.NotFoundError):
            client.models.list()
