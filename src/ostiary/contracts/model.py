"""The port to language models: one request in, a stream of events out, the finished answer last."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from typing import Literal, Protocol

from ostiary.contracts.content import AnswerPart, Message
from ostiary.contracts.errors import BadInput
from ostiary.contracts.records import dataclass

ThinkingLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh"]
StopReason = Literal["stop", "tool_calls", "length", "refusal", "other"]


@dataclass(frozen=True, slots=True)
class ModelRef:
    """`provider/model`, split at the first slash; the model's own name may hold more slashes."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"

    @classmethod
    def parse(cls, text: str) -> "ModelRef":
        provider, slash, model = text.strip().partition("/")
        if not (provider and slash and model):
            raise BadInput(f"{text[:120]!r} is not a model", hint="Write provider/model, for example anthropic/claude-sonnet-5.")
        return cls(provider.lower(), model)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSchema:
    """What the model is told of a tool. `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerForm:
    """The answer must be JSON: any object, or what `schema` describes. The rest is for the provider, as the caller gave it."""

    schema: Mapping[str, object] | None = None
    name: str = "answer"
    description: str = ""
    strict: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChoice:
    """`required`: the answer calls at least one tool, the one named `tool` if it is set. `none`: it calls none."""

    mode: Literal["required", "none"]
    tool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """Which models may answer, in order. `profile` pins one auth profile and then nothing rotates."""

    primary: ModelRef
    fallbacks: tuple[ModelRef, ...] = ()
    profile: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """`system` is the stable prefix first, then this turn's additions; a wire marks the cache point after `system[0]`.

    `session` keys stickiness and provider prompt caches. `blobs` holds the bytes of every Image in `messages`.
    `form`, `tool_choice` and `parallel_calls` bind the answer; a wire that cannot promise one raises ModelRejected naming it.
    """

    choice: ModelChoice
    system: tuple[str, ...]
    messages: Sequence[Message]
    tools: tuple[ToolSchema, ...] = ()
    thinking: ThinkingLevel = "off"
    max_tokens: int | None = None
    temperature: float | None = None
    session: str = ""
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    form: AnswerForm | None = None
    tool_choice: ToolChoice | None = None
    parallel_calls: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """`input` counts tokens that were not read from or written to a cache. `cost` is USD, None when no price is known."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A tool call is being written; for screens only."""

    index: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarted:
    """What was streamed so far is void: another attempt (profile, model, cut stream) begins."""

    model: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The whole answer. Always the last event; a stream that ends without it raises ModelUnavailable."""

    parts: tuple[AnswerPart, ...]
    stop: StopReason
    usage: Usage
    model: str
    profile: str = ""


ModelEvent = TextDelta | ThinkingDelta | CallDelta | Restarted | Answered


class ModelClient(Protocol):
    """Raises ModelError. Leaving the context closes the connection."""

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What is known of a model; defaults are those of a custom entry."""

    ref: ModelRef
    name: str = ""
    context_window: int = 200_000
    max_tokens: int = 8192
    sees_images: bool = False
    reasons: bool = False


class ModelCatalogue(Protocol):
    """Names, limits and choices of models; knows configuration, calls nobody."""

    def facts(self, ref: ModelRef) -> ModelFacts: ...

    def choose(self, agent: str, override: str = "", *, with_images: bool = False) -> ModelChoice:
        """Resolve aliases and fuzzy names. Raises BadInput (unknown) or NotAllowed (not on the allowlist)."""
        ...

    def choices(self, agent: str) -> tuple[ModelFacts, ...]:
        """Models a person may switch to, in the order `/models` numbers them."""
        ...
