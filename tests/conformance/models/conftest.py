"""Every wire, each against the server that speaks it strictly."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from ostiary.adapters.egress import Egress, Limits
from ostiary.adapters.models.wires import Compat, Wire, make_wire
from ostiary.contracts.content import Label, Message, Text, Trust, UserMessage
from ostiary.contracts.model import Answered, ModelChoice, ModelEvent, ModelFacts, ModelRef, ModelRequest
from ostiary.kit import model_servers
from ostiary.kit.model_servers import KEY, ModelServer, Speech

OWNER = Label(trust=Trust.OWNER)
REF = ModelRef("kit", "kit-1")
FULL = Compat(prompt_cache_key=True, max_tokens_field="max_completion_tokens")

SPEECHES: dict[str, Callable[[], Speech]] = {
    "openai-completions": model_servers.OpenAIChatSpeech,
    "openai-responses": model_servers.OpenAIResponsesSpeech,
    "anthropic-messages": model_servers.AnthropicSpeech,
    "google-generative-ai": model_servers.GeminiSpeech,
    "ollama": model_servers.OllamaSpeech,
}


def user(text: str) -> UserMessage:
    return UserMessage(parts=(Text(text=text, label=OWNER),))


@dataclass(frozen=True)
class Rig:
    """A wire and its server. `ask` gives every event of one attempt; the last one is the answer."""

    api: str
    server: ModelServer
    egress: Egress
    wire: Wire
    facts: ModelFacts

    def request(self, messages: Sequence[Message] | str = "hi", **fields: Any) -> ModelRequest:
        history = [user(messages)] if isinstance(messages, str) else messages
        return ModelRequest(
            choice=ModelChoice(primary=REF), system=fields.pop("system", ("Be kind.",)), messages=history, **fields
        )

    def stream(
        self, request: ModelRequest, *, ref: ModelRef = REF, secret: str = KEY
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        return self.wire.stream(request, ref, secret)

    async def ask(
        self, messages: Sequence[Message] | str = "hi", *, secret: str = KEY, ref: ModelRef = REF, **fields: Any
    ) -> list[ModelEvent]:
        async with self.stream(self.request(messages, **fields), ref=ref, secret=secret) as events:
            return [event async for event in events]

    async def answer(self, messages: Sequence[Message] | str = "hi", **fields: Any) -> Answered:
        *_, last = await self.ask(messages, **fields)
        assert isinstance(last, Answered)
        return last

    def limited(self, limits: Limits) -> "Rig":
        return self.made(self.facts, limits=limits)

    def knowing(self, **facts: Any) -> "Rig":
        """The same with other facts about the model."""
        return self.made(replace(self.facts, **facts))

    def made(self, facts: ModelFacts, *, limits: Limits | None = None) -> "Rig":
        wire = make_wire(
            self.api, self.server.url, {}, self.egress, lambda ref: replace(facts, ref=ref), limits=limits, compat=FULL
        )
        return replace(self, wire=wire, facts=facts)

    @property
    def last(self) -> dict[str, Any]:
        return self.server.requests[-1].body


@asynccontextmanager
async def rig_of(api: str) -> AsyncIterator[Rig]:
    facts = ModelFacts(ref=REF, sees_images=True, reasons=True)
    async with model_servers.serve(SPEECHES[api]()) as server, Egress() as egress:
        wire = make_wire(api, server.url, {}, egress, lambda ref: replace(facts, ref=ref), compat=FULL)
        yield Rig(api=api, server=server, egress=egress, wire=wire, facts=facts)


@pytest.fixture(params=list(SPEECHES))
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    async with rig_of(request.param) as made:
        yield made
