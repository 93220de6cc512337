"""Answers in OpenAI's shapes: whole, and as chunks. Encoded by msgspec from structs, field order as clients expect it."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from ostiary.contracts.content import ToolCall
from ostiary.contracts.engine import Outcome
from ostiary.contracts.model import Usage
from ostiary.gateway.errors import ApiError

Finish = Literal["stop", "length", "tool_calls", "content_filter"]
FINISH: dict[str, Finish] = {"length": "length", "refusal": "content_filter"}

_encode = msgspec.json.Encoder().encode


class _Function(msgspec.Struct):
    name: str
    arguments: str


class _Call(msgspec.Struct):
    index: int
    id: str
    function: _Function
    type: str = "function"


class _WholeCall(msgspec.Struct):
    id: str
    function: _Function
    type: str = "function"


class _Whole(msgspec.Struct, omit_defaults=True):
    role: str
    content: str | None
    tool_calls: list[_WholeCall] | None = None


class _WholeChoice(msgspec.Struct):
    index: int
    message: _Whole
    finish_reason: Finish
    logprobs: None = None


class _CacheDetails(msgspec.Struct):
    cached_tokens: int


class _Usage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: _CacheDetails


class _Ours(msgspec.Struct, omit_defaults=True):
    """What OpenAI's shape has no place for. `restarted`: text sent so far is void, the answer begins again.

    `approval` waits for a person; `answered` does no more, and `answer` is what became of it."""

    session: str = ""
    turn: str = ""
    status: str = ""
    reason: str = ""
    cost: float | None = None
    restarted: bool = False
    tool: str = ""
    approval: object = None
    answered: str = ""
    answer: str = ""


class _Completion(msgspec.Struct):
    id: str
    created: int
    model: str
    choices: list[_WholeChoice]
    usage: _Usage
    ostiary: _Ours
    object: str = "chat.completion"


class _Piece(msgspec.Struct, omit_defaults=True):
    role: str = ""
    content: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[_Call] | None = None


class _PieceChoice(msgspec.Struct):
    index: int
    delta: _Piece
    finish_reason: Finish | None = None


class _Chunk(msgspec.Struct, omit_defaults=True):
    id: str
    created: int
    model: str
    choices: list[_PieceChoice]
    object: str = msgspec.field(default_factory=lambda: "chat.completion.chunk")
    usage: _Usage | None = None
    ostiary: _Ours | None = None


def completion(outcome: Outcome, *, id: str, created: int, model: str, calls: Sequence[tuple[str, ToolCall]]) -> object:
    """The whole answer; `calls` are the client's, each with the id it is known by on the wire."""
    whole = _Whole(role="assistant", content=outcome.text or (None if calls else ""))
    if calls:
        whole.tool_calls = [_WholeCall(id=i, function=_Function(name=c.name, arguments=c.arguments)) for i, c in calls]
    return _Completion(
        id=id,
        created=created,
        model=outcome.model or model,
        choices=[_WholeChoice(index=0, message=whole, finish_reason=finish_of(outcome, calls))],
        usage=_usage(outcome.usage),
        ostiary=_ours(outcome),
    )


def finish_of(outcome: Outcome, calls: Sequence[tuple[str, ToolCall]]) -> Finish:
    return "tool_calls" if calls else FINISH.get(outcome.stop, "stop")


class Chunks:
    """Makes the events of one stream; all of them share id, time and model."""

    def __init__(self, *, id: str, created: int, model: str, include_usage: bool) -> None:
        self._id = id
        self._created = created
        self._model = model
        self._include_usage = include_usage

    def opening(self) -> bytes:
        return self._event(_Piece(role="assistant", content=""))

    def text(self, text: str) -> bytes:
        return self._event(_Piece(content=text))

    def thinking(self, text: str) -> bytes:
        return self._event(_Piece(reasoning_content=text))

    def tool(self, name: str) -> bytes:
        """A tool of ours begins; for screens."""
        return self._event(_Piece(), ours=_Ours(tool=name))

    def asked(self, question: object) -> bytes:
        return self._event(_Piece(), ours=_Ours(approval=question))

    def settled(self, approval: str, answer: str) -> bytes:
        return self._event(_Piece(), ours=_Ours(answered=approval, answer=answer))

    def restarted(self) -> bytes:
        """Clients that know the mark clear what they showed; others see a blank line and the new answer."""
        return self._event(_Piece(content="\n\n"), ours=_Ours(restarted=True))

    def ending(self, outcome: Outcome, calls: Sequence[tuple[str, ToolCall]]) -> bytes:
        pieces = [self._calls(calls)] if calls else []
        # Only now it is certain which model answered.
        self._model = outcome.model or self._model
        pieces.append(self._event(_Piece(), finish=finish_of(outcome, calls), ours=_ours(outcome)))
        if self._include_usage:
            chunk = _Chunk(id=self._id, created=self._created, model=self._model, choices=[], usage=_usage(outcome.usage))
            pieces.append(sse(_encode(chunk)))
        return b"".join((*pieces, DONE))

    def failing(self, error: ApiError) -> bytes:
        """An error once the answer has begun: the status can no longer be changed."""
        return sse(_encode(error.body())) + DONE

    def _calls(self, calls: Sequence[tuple[str, ToolCall]]) -> bytes:
        pieces = [_Call(index=n, id=i, function=_Function(name=c.name, arguments=c.arguments)) for n, (i, c) in enumerate(calls)]
        return self._event(_Piece(tool_calls=pieces))

    def _event(self, piece: _Piece, *, finish: Finish | None = None, ours: _Ours | None = None) -> bytes:
        choice = _PieceChoice(index=0, delta=piece, finish_reason=finish)
        return sse(_encode(_Chunk(id=self._id, created=self._created, model=self._model, choices=[choice], ostiary=ours)))


DONE = b"data: [DONE]\n\n"


def sse(data: bytes) -> bytes:
    return b"data: " + data + b"\n\n"


def _usage(usage: Usage) -> _Usage:
    prompt = usage.input + usage.cache_read + usage.cache_write
    return _Usage(
        prompt_tokens=prompt,
        completion_tokens=usage.output,
        total_tokens=prompt + usage.output,
        prompt_tokens_details=_CacheDetails(cached_tokens=usage.cache_read),
    )


def _ours(outcome: Outcome) -> _Ours:
    return _Ours(
        session=str(outcome.session), turn=outcome.turn, status=outcome.status, reason=outcome.reason, cost=outcome.usage.cost
    )
