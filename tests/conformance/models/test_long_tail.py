"""The long tail: pydantic-ai's own function model stands for a provider, and the bridge carries real requests."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from pydantic_ai.exceptions import ModelHTTPError, UnexpectedModelBehavior, UserError
from pydantic_ai.messages import ModelRequest as TheirRequest
from pydantic_ai.messages import ModelResponse, ThinkingPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.models.wrapper import WrapperModel

from ostiary.adapters.egress import Egress, Limits
from ostiary.adapters.models.wires import make_wire
from ostiary.adapters.models.wires.longtail import LongTail
from ostiary.adapters.models.wires.longtail_http import bridged
from ostiary.contracts.content import AssistantMessage, Text, Thinking, ToolCall, ToolMessage, ToolOutcome, UserMessage
from ostiary.contracts.errors import (
    ContextOverflow,
    EgressRefused,
    ModelBilling,
    ModelError,
    ModelMisconfigured,
    ModelRateLimited,
    ModelUnauthorized,
    ModelUnavailable,
)
from ostiary.contracts.model import Answered, ModelChoice, ModelEvent, ModelFacts, ModelRequest, TextDelta, ThinkingDelta
from ostiary.kit.model_servers import KEY, Failure, OpenAIChatSpeech, Reply, Words, say, serve
from tests.conformance.models.conftest import OWNER, REF, user
from tests.conformance.models.test_answers import READ
from tests.conformance.models.test_failures import everything_said
from tests.conformance.models.test_images import PICTURE, PNG

Saying = Callable[[Any, Any], AsyncIterator[Any]]


class Ending(WrapperModel):
    """The function model never says why it stopped; providers do."""

    def __init__(self, wrapped: FunctionModel, reason: str | None) -> None:
        super().__init__(wrapped)
        self._reason = reason

    @asynccontextmanager
    async def request_stream(self, *arguments: Any, **named: Any) -> AsyncIterator[Any]:
        async with super().request_stream(*arguments, **named) as streamed:
            streamed.finish_reason = self._reason  # type: ignore[assignment]
            yield streamed


def tail(saying: Saying, *, reason: str | None = "stop") -> LongTail:
    facts = ModelFacts(ref=REF, sees_images=True)
    return LongTail("kit", lambda model, secret: Ending(FunctionModel(stream_function=saying), reason), lambda _: facts)


async def ask(wire: LongTail, *messages: Any, **fields: Any) -> list[ModelEvent]:
    history = messages or (user("hi"),)
    request = ModelRequest(choice=ModelChoice(primary=REF), system=("Be kind.",), messages=history, **fields)
    async with wire.stream(request, REF, KEY) as events:
        return [event async for event in events]


async def hello(messages: Any, info: Any) -> AsyncIterator[Any]:
    yield "Hel"
    yield "lo"


async def test_words_come_through() -> None:
    *deltas, answered = await ask(tail(hello))
    assert deltas == [TextDelta("Hel"), TextDelta("lo")]
    assert isinstance(answered, Answered)
    assert ([part.text for part in answered.parts], answered.stop) == (["Hello"], "stop")  # type: ignore[union-attr]
    assert answered.usage.output > 0


@pytest.mark.parametrize(("reason", "stop"), [("length", "length"), ("content_filter", "refusal"), ("error", "other")])
async def test_the_reason_to_stop_is_told(reason: str, stop: str) -> None:
    *_, answered = await ask(tail(hello, reason=reason))
    assert answered.stop == stop  # type: ignore[union-attr]


async def test_an_answer_without_a_finish_is_cut_off() -> None:
    with pytest.raises(ModelUnavailable, match="cut off"):
        await ask(tail(hello, reason=None))


async def test_thinking_and_parallel_calls_come_through_and_go_back() -> None:
    seen: list[list[Any]] = []

    async def calls(messages: list[Any], info: Any) -> AsyncIterator[Any]:
        seen.append(messages)
        yield {0: DeltaThinkingPart(content="Hmm, ")}
        yield {0: DeltaThinkingPart(content="yes.", signature="proof-1")}
        yield {1: DeltaToolCall(name="read", json_args='{"path"', tool_call_id="call_a")}
        yield {1: DeltaToolCall(json_args=':"a"}')}
        yield {2: DeltaToolCall(name="read", json_args='{"path":"b"}', tool_call_id="call_b")}

    wire = tail(calls, reason="tool_call")
    *deltas, answered = await ask(wire, tools=(READ,))
    assert isinstance(answered, Answered)
    assert [delta.text for delta in deltas if isinstance(delta, ThinkingDelta)] == ["Hmm, ", "yes."]
    made = [part for part in answered.parts if isinstance(part, ToolCall)]
    assert [(call.id, call.arguments) for call in made] == [("call_a", '{"path":"a"}'), ("call_b", '{"path":"b"}')]
    assert answered.stop == "tool_calls"
    outcomes = tuple(ToolOutcome(call_id=call.id, name="read", text="x", is_error=False, label=OWNER) for call in made)
    said = AssistantMessage(parts=answered.parts, model=answered.model)
    await ask(wire, user("hi"), said, ToolMessage(outcomes=outcomes), user("and?"), tools=(READ,))
    first, response, last = seen[1]
    assert isinstance(first, TheirRequest)
    assert isinstance(response, ModelResponse)
    assert [type(part) for part in response.parts] == [ThinkingPart, ToolCallPart, ToolCallPart]
    assert response.parts[0].signature == "proof-1"  # type: ignore[union-attr]
    assert [part.tool_call_id for part in last.parts if isinstance(part, ToolReturnPart)] == ["call_a", "call_b"]
    assert last.instructions == "Be kind."


async def test_thinking_of_another_provider_is_not_given_to_it() -> None:
    seen: list[list[Any]] = []

    async def saying(messages: list[Any], info: Any) -> AsyncIterator[Any]:
        seen.append(messages)
        yield "ok"

    thought = Thinking(text="plan", replay='{"wire":"pydantic-ai:kit","signature":"s"}')
    parts = (thought, Text(text="Hi", label=OWNER))
    await ask(tail(saying), user("hi"), AssistantMessage(parts=parts, model="other/x"), user("more"))
    assert "plan" not in str(seen)


async def test_images_are_given_as_bytes() -> None:
    seen: list[list[Any]] = []

    async def saying(messages: list[Any], info: Any) -> AsyncIterator[Any]:
        seen.append(messages)
        yield "ok"

    await ask(tail(saying), UserMessage(parts=(Text(text="?", label=OWNER), PICTURE)), blobs={"d1": PNG})
    assert seen[0][0].parts[0].content[1].data == PNG


ERRORS = [
    (ModelHTTPError(401, "m", {"error": {"message": f"bad {KEY}"}}), ModelUnauthorized),
    (ModelHTTPError(402, "m", f"pay, {KEY}"), ModelBilling),
    (ModelHTTPError(400, "m", {"message": "prompt is too long"}), ContextOverflow),
    (ModelHTTPError(429, "m", None, headers={"Retry-After": "7"}), ModelRateLimited),
    (ModelHTTPError(503, "m", None), ModelUnavailable),
    (UserError(f"no {KEY}"), ModelMisconfigured),
    (UnexpectedModelBehavior("nonsense"), ModelUnavailable),
    (RuntimeError(f"surprise {KEY}"), ModelUnavailable),
]


@pytest.mark.parametrize(("raised", "kind"), ERRORS)
async def test_the_library_errors_become_ours_without_the_key(raised: Exception, kind: type[ModelError]) -> None:
    async def failing(messages: Any, info: Any) -> AsyncIterator[Any]:
        yield "a"
        raise raised

    with pytest.raises(ModelError) as caught:
        await ask(tail(failing))
    assert type(caught.value) is kind
    assert KEY not in everything_said(caught.value)


async def test_what_the_caller_raises_is_left_alone() -> None:
    request = ModelRequest(choice=ModelChoice(primary=REF), system=(), messages=[user("hi")])

    async def stumble() -> None:
        async with tail(hello).stream(request, REF, KEY) as events:
            await anext(events)
            raise KeyError("mine")

    with pytest.raises(KeyError):
        await stumble()


async def test_too_many_calls_are_an_error() -> None:
    async def calls(messages: Any, info: Any) -> AsyncIterator[Any]:
        for index in range(129):
            yield {index: DeltaToolCall(name="read", json_args="{}", tool_call_id=f"c{index}")}

    with pytest.raises(ModelError, match="tool calls"):
        await ask(tail(calls))


class Provider:
    """What the bridge needs of a provider class."""

    def __init__(self, *, api_key: str, base_url: str, http_client: httpx2.AsyncClient) -> None:
        self.base_url = base_url
        self.http_client = http_client
        self.headers = {"Authorization": f"Bearer {api_key}"}


class Stubborn:
    def __init__(self, *, api_key: str) -> None:
        pass


BODY = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}


async def test_requests_of_the_library_leave_through_egress() -> None:
    async with serve(OpenAIChatSpeech()) as server, Egress() as egress:
        provider = bridged(Provider, server.url, {"X-Own": "1"}, KEY, egress, Limits())
        server.script(say("Hello"))
        answer = await provider.http_client.post(f"{server.url}/chat/completions", json=BODY, headers=provider.headers)
    assert answer.status_code == 200
    assert "Hello" in answer.text
    assert server.requests[0].headers["user-agent"] == "ostiary"
    assert server.requests[0].headers["x-own"] == "1"


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/v1/chat/completions", "{root}/admin", "{root}/v1evil/x"])
async def test_a_request_to_anywhere_else_is_refused(address: str) -> None:
    async with serve(OpenAIChatSpeech()) as server, Egress() as egress:
        provider = bridged(Provider, server.url, {}, KEY, egress, Limits())
        root = server.url.removesuffix("/v1")
        with pytest.raises(EgressRefused):
            await provider.http_client.post(address.format(root=root), json=BODY, headers=provider.headers)
    assert server.requests == []


async def test_a_redirect_is_not_followed() -> None:
    async with serve(OpenAIChatSpeech()) as server, Egress() as egress:
        provider = bridged(Provider, server.url, {}, KEY, egress, Limits())
        server.script(Failure(kind="rejected", status=307, headers={"Location": f"{server.url}/models"}))
        with pytest.raises(EgressRefused, match="redirect"):
            await provider.http_client.post(f"{server.url}/chat/completions", json=BODY, headers=provider.headers)


async def test_a_cut_answer_is_an_error_of_the_library() -> None:
    async with serve(OpenAIChatSpeech()) as server, Egress() as egress:
        provider = bridged(Provider, server.url, {}, KEY, egress, Limits())
        server.script(Reply(parts=(Words(pieces=("Hello", " there")),), cut_after=100))
        with pytest.raises(httpx2.ReadError, match="broke off"):
            await provider.http_client.post(f"{server.url}/chat/completions", json=BODY, headers=provider.headers)


@pytest.mark.parametrize(("kind", "secret"), [(Stubborn, KEY), (Provider, "")])
async def test_a_provider_that_cannot_be_carried_is_refused(kind: type, secret: str) -> None:
    async with Egress() as egress:
        with pytest.raises(ModelMisconfigured):
            bridged(kind, "https://api.example.com", {}, secret, egress, Limits())


async def test_an_unknown_provider_is_misconfigured() -> None:
    async with Egress() as egress:
        with pytest.raises(ModelMisconfigured, match="nonsense"):
            make_wire("pydantic-ai:nonsense", "", {}, egress, lambda ref: ModelFacts(ref=ref))


async def test_the_library_has_no_list_of_models() -> None:
    with pytest.raises(ModelMisconfigured):
        await tail(hello).list_models(KEY)
