"""What differs between servers of the same wire, and what a wire does that others do not."""

import pytest

from ostiary.adapters.egress import Egress
from ostiary.adapters.models.wires import make_wire
from ostiary.contracts.content import (
    AssistantMessage,
    Label,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    ToolOutcome,
    Trust,
    UserMessage,
)
from ostiary.contracts.errors import ModelMisconfigured
from ostiary.contracts.model import Answered, ModelChoice, ModelFacts, ModelRef, ModelRequest
from ostiary.kit.model_servers import (
    KEY,
    AnthropicSpeech,
    Call,
    GeminiSpeech,
    OllamaSpeech,
    OpenAIChatSpeech,
    Reply,
    Speech,
    Thought,
    Words,
    say,
    serve,
)

OWNER = Label(trust=Trust.OWNER)


def user(text: str) -> UserMessage:
    return UserMessage(parts=(Text(text=text, label=OWNER),))


def request(*messages: object, **fields: object) -> ModelRequest:
    ref = ModelRef("kit", "m")
    return ModelRequest(choice=ModelChoice(primary=ref), system=(), messages=messages or (user("hi"),), **fields)  # type: ignore[arg-type]


async def bodies(
    api: str, speech: Speech, model: str, asked: ModelRequest, *, suffix: str = "", **facts: object
) -> dict[str, object]:
    ref = ModelRef("kit", model)
    async with serve(speech) as server, Egress() as egress:
        server.script(say("ok"))
        wire = make_wire(api, server.url + suffix, {}, egress, lambda _: ModelFacts(ref=ref, **facts))  # type: ignore[arg-type]
        async with wire.stream(asked, ref, KEY) as events:
            assert [event async for event in events]
        return server.requests[0].body


async def test_an_unknown_server_of_the_openai_wire_gets_only_the_common_fields() -> None:
    body = await bodies("openai-completions", OpenAIChatSpeech(), "llama", request(session="s", max_tokens=5))
    assert body.keys() == {"model", "stream", "stream_options", "max_tokens", "messages"}


async def test_newer_openai_models_get_the_newer_field_anywhere() -> None:
    body = await bodies("openai-completions", OpenAIChatSpeech(), "gpt-5-mini", request(max_tokens=5))
    assert body["max_completion_tokens"] == 5


async def test_ollama_is_told_the_window_the_owner_configured_and_may_be_written_with_v1() -> None:
    body = await bodies("ollama", OllamaSpeech(), "qwen3", request(), suffix="/v1", context_window=32768)
    assert body["options"] == {"num_ctx": 32768}


async def test_adaptive_claude_is_asked_by_effort() -> None:
    body = await bodies(
        "anthropic-messages", AnthropicSpeech(), "claude-opus-4-7", request(thinking="high", temperature=0.5), reasons=True
    )
    assert body["output_config"] == {"effort": "high"}
    assert "temperature" not in body


async def test_redacted_thinking_goes_back_as_it_came() -> None:
    ref = ModelRef("kit", "m")
    async with serve(AnthropicSpeech()) as server, Egress() as egress:
        server.script(Reply(parts=(Thought(redacted=True, proof="opaque-1"), Words(pieces=("Hi",)))), say("ok"))
        wire = make_wire("anthropic-messages", server.url, {}, egress, lambda _: ModelFacts(ref=ref, reasons=True))
        async with wire.stream(request(), ref, KEY) as events:
            *_, answered = [event async for event in events]
        assert isinstance(answered, Answered)
        history = (user("hi"), AssistantMessage(parts=answered.parts, model="kit/m"), user("more"))
        async with wire.stream(request(*history), ref, KEY) as events:
            assert [event async for event in events]
    assert server.requests[1].body["messages"][1]["content"][0] == {"type": "redacted_thinking", "data": "opaque-1"}


async def test_an_oauth_token_of_anthropic_is_sent_as_a_bearer() -> None:
    token = "sk-ant-oat01-0123456789"
    async with serve(AnthropicSpeech(key=token)) as server, Egress() as egress:
        server.script(say("ok"))
        wire = make_wire("anthropic-messages", server.url, {}, egress, lambda ref: ModelFacts(ref=ref))
        async with wire.stream(request(), ModelRef("kit", "m"), token) as events:
            assert [event async for event in events]
    sent = server.requests[0].headers
    assert sent["authorization"] == f"Bearer {token}"
    assert sent["anthropic-beta"].startswith("oauth-")
    assert "x-api-key" not in sent


async def test_gemini_three_gets_a_signature_on_calls_it_did_not_make() -> None:
    call = ToolCall(id="c1", name="read", arguments="{}")
    outcome = ToolOutcome(call_id="c1", name="read", text="x", is_error=False, label=OWNER)
    history = (user("hi"), AssistantMessage(parts=(call,), model="other/x"), ToolMessage(outcomes=(outcome,)))
    body = await bodies("google-generative-ai", GeminiSpeech(), "gemini-3-pro", request(*history))
    assert "skip_thought_signature_validator" in str(body)


async def test_gemini_gets_its_own_signatures_back_even_those_on_words() -> None:
    proof = '{"wire":"google-generative-ai","signature":"czE=","thought":false}'
    ref = ModelRef("kit", "gemini-3-pro")
    speech = GeminiSpeech()
    async with serve(speech) as server, Egress() as egress:
        server.script(Reply(parts=(Call(name="read", proof="s1"),), stop="tool_calls"), say("ok"))
        wire = make_wire("google-generative-ai", server.url, {}, egress, lambda _: ModelFacts(ref=ref))
        async with wire.stream(request(), ref, KEY) as events:
            assert [event async for event in events]
        words = AssistantMessage(parts=(Text(text="Hi", label=OWNER), Thinking(text="", replay=proof)), model=str(ref))
        async with wire.stream(request(user("hi"), words, user("more")), ref, KEY) as events:
            assert [event async for event in events]
    assert server.requests[1].body["contents"][1]["parts"] == [{"text": "Hi"}, {"text": "", "thoughtSignature": "czE="}]


@pytest.mark.parametrize("model", ["../secrets", "a b", "models/x/y", "x?key=1", ""])
async def test_a_gemini_model_name_that_is_no_name_is_refused(model: str) -> None:
    async with Egress() as egress:
        wire = make_wire("google-generative-ai", "http://127.0.0.1:9/v1beta", {}, egress, lambda ref: ModelFacts(ref=ref))
        with pytest.raises(ModelMisconfigured):
            async with wire.stream(request(), ModelRef("kit", model), KEY):
                pass


@pytest.mark.parametrize(
    ("api", "url"), [("openai-telepathy", "https://x.example"), ("ollama", "not an address"), ("ollama", "")]
)
async def test_an_unknown_wire_or_address_is_misconfigured(api: str, url: str) -> None:
    async with Egress() as egress:
        with pytest.raises(ModelMisconfigured):
            make_wire(api, url, {}, egress, lambda ref: ModelFacts(ref=ref))
