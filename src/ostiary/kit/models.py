"""A model that says what the script says, so that a test decides every word, failure and pause."""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from itertools import repeat

import anyio
import anyio.lowlevel

from ostiary.contracts.content import AnswerPart, Label, Text, Thinking, ToolCall, Trust
from ostiary.contracts.model import (
    Answered,
    CallDelta,
    ModelEvent,
    ModelRef,
    ModelRequest,
    StopReason,
    TextDelta,
    ThinkingDelta,
    Usage,
)
from ostiary.contracts.records import dataclass

MODEL_LABEL = Label(trust=Trust.UNTRUSTED, sources=("model",))
_USAGE = Usage(input=10, output=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One answer. `events` are streamed first; an `anyio.Event` among them holds the stream until it is set.

    With `error` the stream raises it after `events`; with `cut` it ends without an answer, as a lost connection does.
    """

    events: tuple[ModelEvent | anyio.Event, ...] = ()
    parts: tuple[AnswerPart, ...] = ()
    stop: StopReason = "stop"
    usage: Usage = _USAGE
    error: Exception | None = None
    cut: bool = False

    def then(self, other: "Step") -> "Step":
        """Both in one answer: `say("Let me look.").then(call("read", {...}))`."""
        return replace(other, events=self.events + other.events, parts=self.parts + other.parts)

    def after(self, *holds: anyio.Event) -> "Step":
        """The same, but nothing is streamed before every hold is set."""
        return replace(self, events=(*holds, *self.events))

    def held(self, *holds: anyio.Event) -> "Step":
        """The same, but it does not finish before every hold is set."""
        return replace(self, events=(*self.events, *holds))


Script = Step | Callable[[ModelRequest], Step]


def say(
    *chunks: str, thinking: str = "", usage: Usage | None = None, stop: StopReason = "stop", label: Label = MODEL_LABEL
) -> Step:
    """An answer in words, streamed chunk by chunk."""
    thought = (Thinking(text=thinking),) if thinking else ()
    text = "".join(chunks)
    return Step(
        events=(*(ThinkingDelta(part.text) for part in thought), *(TextDelta(chunk) for chunk in chunks)),
        parts=(*thought, *((Text(text=text, label=label),) if text else ())),
        stop=stop,
        usage=usage or Usage(input=10, output=len(chunks)),
    )


def call(name: str, arguments: object = None, *, id: str = "", usage: Usage | None = None) -> Step:
    """An answer that calls a tool. `arguments` is made JSON; a str goes out as it is, so it may be broken JSON.

    Join several with `then`. An empty `id` becomes unique within the model's life: `call_1`, `call_2`, ...
    """
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return Step(
        events=(CallDelta(0, name, text),),
        parts=(ToolCall(id=id, name=name, arguments=text),),
        stop="tool_calls",
        usage=usage or Usage(input=10, output=5),
    )


def fail(error: Exception, *chunks: str) -> Step:
    """Stream `chunks`, then raise."""
    return Step(events=tuple(TextDelta(chunk) for chunk in chunks), error=error)


def cut(*chunks: str) -> Step:
    """Stream `chunks`, then end without an answer."""
    return Step(events=tuple(TextDelta(chunk) for chunk in chunks), cut=True)


def always(step: Script) -> Iterator[Script]:
    """The same step for every request."""
    return repeat(step)


class ScriptedModel:
    """A ModelClient that plays `steps` in order, one per request, and keeps every request in `requests`.

    A step may be a callable that reads the request. A request beyond the script raises AssertionError.
    `model` overrides the ref that answers name; by default it is the request's primary.
    """

    def __init__(self, steps: Iterable[Script] | Callable[[ModelRequest], Step], *, model: str = "") -> None:
        self._steps: Iterator[Script] = always(steps) if callable(steps) else iter(steps)
        self._model = model
        self._calls = 0
        self.requests: list[ModelRequest] = []

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        self.requests.append(request)
        step = next(self._steps, None)
        if step is None:
            raise AssertionError(f"the script has no step for request {len(self.requests)}")
        yield self._play(request, step(request) if callable(step) else step)

    async def _play(self, request: ModelRequest, step: Step) -> AsyncIterator[ModelEvent]:
        index = -1
        for event in step.events:
            if isinstance(event, anyio.Event):
                await event.wait()
                continue
            await anyio.lowlevel.checkpoint()
            if isinstance(event, CallDelta):
                index += 1
                event = replace(event, index=index)
            yield event
        if step.error is not None:
            raise step.error
        if step.cut:
            return
        yield Answered(
            parts=tuple(self._numbered(part) for part in step.parts),
            stop=step.stop,
            usage=step.usage,
            model=self._model or str(request.choice.primary),
            profile=request.choice.profile,
        )

    def _numbered(self, part: AnswerPart) -> AnswerPart:
        if isinstance(part, ToolCall) and not part.id:
            self._calls += 1
            return replace(part, id=f"call_{self._calls}")
        return part


class ScriptedWire:
    """A wire with one script per model (`provider/model`); `calls` keeps the ref and the key of every attempt."""

    def __init__(self, scripts: Mapping[str, Iterable[Script]]) -> None:
        self._models = {ref: ScriptedModel(steps, model=ref) for ref, steps in scripts.items()}
        self.calls: list[tuple[str, str]] = []

    def requests(self, ref: str) -> list[ModelRequest]:
        return self._models[ref].requests

    def stream(self, request: ModelRequest, ref: ModelRef, secret: str) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        self.calls.append((str(ref), secret))
        return self._models[str(ref)].stream(request)
