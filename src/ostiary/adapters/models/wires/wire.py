"""What a wire is: one provider endpoint, one model, one attempt. Rotation, fallback and metering wrap it."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from typing import Literal, Protocol

from ostiary.adapters.egress import ConfiguredOrigin, Limits
from ostiary.contracts.model import ModelEvent, ModelFacts, ModelRef, ModelRequest
from ostiary.contracts.records import dataclass

Facts = Callable[[ModelRef], ModelFacts]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedModel:
    """A model as the provider's own listing names it; None where the listing does not say."""

    id: str
    name: str = ""
    context_window: int | None = None
    max_tokens: int | None = None
    sees_images: bool | None = None
    reasons: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compat:
    """What a server of the OpenAI chat wire understands beyond the common core."""

    prompt_cache_key: bool = False
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    stream_usage: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a wire speaks to. `headers` are the owner's own, sent with every request and kept out of errors."""

    origin: ConfiguredOrigin
    facts: Facts
    headers: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    compat: Compat | None = None


class Wire(Protocol):
    """Raises ModelError; the text of an error never holds the secret."""

    def stream(self, request: ModelRequest, ref: ModelRef, secret: str) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """One attempt. The last event is Answered. Leaving the context closes the connection if the answer was not finished."""
        ...

    async def list_models(self, secret: str) -> tuple[ListedModel, ...]:
        """What the endpoint offers now. Raises ModelMisconfigured if it has no such listing."""
        ...
