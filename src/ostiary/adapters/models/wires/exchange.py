"""Driving one attempt: send, cut the bytes into events, let the wire read them, hand out what it makes of them."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

import anyio
import msgspec

from ostiary.adapters.egress import EgressFailed
from ostiary.adapters.models.wires.answer import Answer, AnswerFull
from ostiary.adapters.models.wires.errors import from_egress, from_response
from ostiary.adapters.models.wires.wire import Endpoint
from ostiary.contracts.errors import EgressRefused, ModelError, ModelUnavailable
from ostiary.contracts.model import ModelEvent, ModelRef

if TYPE_CHECKING:
    from ostiary.adapters.egress.transport import Response

_DRAIN_SECONDS = 0.1


class Splitter(Protocol):
    def feed(self, chunk: bytes) -> list[bytes]: ...

    def end(self) -> list[bytes]: ...


class Reader(Protocol):
    """A wire's understanding of its own stream. `answer.stop` is set when the provider said it is done."""

    @property
    def answer(self) -> Answer: ...

    def read(self, data: bytes) -> bool:
        """Take one event in; True when nothing more is to come. Raises ModelError or msgspec.DecodeError."""
        ...


class Attempt:
    """`async with` it, then iterate. Raises ModelError from both; an answer that breaks off is ModelUnavailable."""

    __slots__ = (
        "_body",
        "_done",
        "_endpoint",
        "_exchange",
        "_full",
        "_headers",
        "_path",
        "_pending",
        "_reader",
        "_ref",
        "_response",
        "_secret_headers",
        "_splitter",
        "_who",
    )

    def __init__(
        self,
        endpoint: Endpoint,
        ref: ModelRef,
        path: str,
        body: bytes,
        *,
        headers: Mapping[str, str],
        secret_headers: Mapping[str, str],
        splitter: Callable[[str], Splitter],
        reader: Callable[[Answer], Reader],
    ) -> None:
        self._endpoint = endpoint
        self._ref = ref
        self._path = path
        self._body = body
        self._headers = headers
        self._secret_headers = secret_headers
        self._who = ref.provider
        self._splitter = splitter(self._who)
        self._pending: deque[ModelEvent] = deque()
        self._reader = reader(Answer(self._pending.append))
        self._done = False
        self._full = False
        self._response: Response | None = None

    async def __aenter__(self) -> AsyncIterator[ModelEvent]:
        endpoint = self._endpoint
        self._exchange = endpoint.origin.post(
            self._path,
            self._body,
            self._headers,
            secret_headers={**endpoint.headers, **self._secret_headers},
            limits=endpoint.limits,
        )
        try:
            self._response = await self._exchange.__aenter__()
        except (EgressFailed, EgressRefused) as error:
            raise from_egress(self._who, error) from error
        if self._response.status != 200:
            try:
                raise await from_response(self._who, self._response)
            finally:
                await self._exchange.__aexit__(None, None, None)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if self._done and kind is None:
                await self._drain()
        finally:
            await self._exchange.__aexit__(kind, error, trace)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ModelEvent:
        pending = self._pending
        while not pending:
            if self._done:
                raise StopAsyncIteration
            await self._advance()
        return pending.popleft()

    async def _advance(self) -> None:
        assert self._response is not None
        answer = self._reader.answer
        try:
            chunk = await self._response.read()
        except EgressFailed as error:
            if answer.stop is None:
                raise from_egress(self._who, error) from error
            # The answer was complete; only the end of the stream was lost.
            chunk = b""
        try:
            for data in self._splitter.feed(chunk) if chunk else self._splitter.end():
                if self._reader.read(data):
                    self._finish()
                    return
        except AnswerFull:
            answer.stop = "length"
            self._full = True
            self._finish()
        except msgspec.DecodeError as error:
            raise ModelUnavailable(f"{self._who} sent an event that cannot be read: {str(error)[:200]}.") from None
        except ModelError as error:
            raise _without_secret(error, self._response) from None
        else:
            if not chunk:
                if answer.stop is None:
                    raise ModelUnavailable(f"The answer of {self._who} was cut off.")
                self._finish()

    def _finish(self) -> None:
        self._done = True
        answer = self._reader.answer
        self._pending.append(answer.answered(self._ref, answer.stop or "other"))

    async def _drain(self) -> None:
        """Read what little follows the end, so that the connection can be used again; a server that lingers is left."""
        response = self._response
        assert response is not None
        if response.at_end or self._full:
            return
        with anyio.move_on_after(_DRAIN_SECONDS):
            try:
                while await response.read():
                    pass
            except EgressFailed:
                return


def _without_secret(error: ModelError, response: Response) -> ModelError:
    """Words of the provider inside the error may quote the key."""
    if error.args:
        error.args = (response.redacted(str(error.args[0])), *error.args[1:])
    return error
