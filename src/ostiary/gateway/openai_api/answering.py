"""One request on its way to its answer: submit, watch, answer. Going away cancels nothing unless the caller asked for that."""

from collections.abc import Callable, Sequence
from typing import Protocol

import anyio

from ostiary.contracts.engine import Engine, Outcome
from ostiary.contracts.errors import OstiaryError
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.records import dataclass
from ostiary.gateway.asgi import Header, Receive, Scope, Send, header, respond
from ostiary.gateway.errors import ApiError, from_error, from_outcome
from ostiary.gateway.limits import Limits
from ostiary.gateway.openai_api.begin import Begun, Replied, begin, watched
from ostiary.gateway.openai_api.stream import Calls, Narrator, Pipe, Question, Voice
from ostiary.gateway.openai_api.submission import Turn, wire_call_id

_STOP_SECONDS = 10.0
_LAST_EVENTS_SECONDS = 0.05
_LAST_WORDS_SECONDS = 2.0
_RESTART_SECONDS = 5


class Form(Protocol):
    """How one interface words the answer to one request."""

    def whole(self, outcome: Outcome, calls: Calls) -> object:
        """The body."""
        ...

    def voice(self) -> Voice: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """`form` is made once the inbox item is known: an interface may name its answers by it. `question` gives what waits."""

    engine: Engine
    limits: Limits
    turn: Turn
    form: Callable[[Begun | Replied], Form]
    stops: Sequence[str] = ()
    question: Question = lambda approval: None

    async def answer(self, scope: Scope, receive: Receive, send: Send, *, streamed: bool) -> None:
        """Raises ApiError or OstiaryError if nothing was accepted."""
        cancels = header(scope, b"x-ostiary-cancel-on-disconnect").lower() == "true"
        leaves = _Leaving(self.engine, watched(self.turn), self.turn.principal, cancels=cancels)
        cut = _cut_off(header(scope, b"idempotency-key"))
        if streamed:
            shows_detail = header(scope, b"x-ostiary-detail").lower() == "true"
            await self._stream(receive, send, leaves, cut, shows_detail=shows_detail)
        else:
            await self._whole(receive, send, leaves, cut)

    async def _whole(self, receive: Receive, send: Send, leaves: "_Leaving", cut: ApiError) -> None:
        begun = await begin(self.engine, self.turn)
        outcome: Outcome | ApiError | None = None
        try:
            if not leaves.cancels:
                # Whoever hangs up cancels nothing, so nobody needs to watch for it.
                outcome = await self._settled(begun)
            else:
                async with anyio.create_task_group() as group:
                    group.start_soon(leaves.watch, receive, group.cancel_scope)
                    outcome = await self._settled(begun)
                    group.cancel_scope.cancel()
        except anyio.get_cancelled_exc_class():
            # The server stops and waits no longer.
            with anyio.move_on_after(_LAST_WORDS_SECONDS, shield=True):
                await self._tell(send, cut)
            raise
        if isinstance(outcome, Outcome) and outcome.status in ("failed", "timeout"):
            outcome = from_outcome(outcome)
        if isinstance(outcome, Outcome):
            await respond(send, 200, self.form(begun).whole(outcome, wire_calls(outcome, ephemeral=self.turn.ephemeral)))
        elif outcome is not None:
            await self._tell(send, outcome)

    async def _settled(self, begun: Begun | Replied) -> Outcome | ApiError:
        try:
            return await self._outcome(begun)
        except OstiaryError as error:
            return from_error(error)
        except ApiError as error:
            return error

    async def _stream(self, receive: Receive, send: Send, leaves: "_Leaving", cut: ApiError, *, shows_detail: bool) -> None:
        refused: ApiError | None = None
        async with self.engine.watch(watched(self.turn)) as shown:
            begun = await begin(self.engine, self.turn)
            voice = self.form(begun).voice()
            pipe = Pipe(send, self.limits.keep_alive_seconds, voice.text)
            narrator = Narrator(pipe, voice, shows_detail=shows_detail, stops=self.stops, question=self.question)
            async with anyio.create_task_group() as group:
                group.start_soon(leaves.watch, receive, group.cancel_scope)
                group.start_soon(pipe.pump)
                if isinstance(begun, Begun) and begun.is_new:
                    group.start_soon(narrator.follow, shown, begun)
                try:
                    outcome = await self._outcome(begun)
                    # Who hangs up now has its answer: there is nothing left to cancel but what comes after it.
                    leaves.cancels = False
                    if isinstance(begun, Begun) and begun.is_new:
                        with anyio.move_on_after(_LAST_EVENTS_SECONDS):
                            await narrator.finished.wait()
                    narrator.end(outcome, wire_calls(outcome, ephemeral=self.turn.ephemeral))
                except ApiError as error:
                    refused = _into_stream(narrator, error)
                except OstiaryError as error:
                    refused = _into_stream(narrator, from_error(error))
                except anyio.get_cancelled_exc_class():
                    if not group.cancel_scope.cancel_called:
                        # The server stops and waits no longer.
                        with anyio.move_on_after(_LAST_WORDS_SECONDS, shield=True):
                            refused = await _last_words(pipe, narrator, cut)
                            if refused is not None:
                                await self._tell(send, refused)
                    raise
                pipe.close()
                await pipe.drained.wait()
                group.cancel_scope.cancel()
        if refused is not None:
            await self._tell(send, refused)

    async def _tell(self, send: Send, error: ApiError) -> None:
        if error.param == "response_format" and self.turn.listed_as == "input":
            error.param, error.message = "text.format", error.message.replace("response_format", "text.format", 1)
        # What was accepted has run or runs: a client that simply asks again would have it done twice.
        headers: list[Header] = [(b"x-should-retry", b"true" if error.is_repeatable else b"false")]
        if error.retry_after:
            headers.append((b"retry-after", str(error.retry_after).encode()))
        await respond(send, error.status, error.body(), headers)

    async def _outcome(self, begun: Begun | Replied) -> Outcome:
        if isinstance(begun, Replied):
            return Outcome(turn="", session=begun.session, status="completed", text=begun.text)
        with anyio.move_on_after(self.limits.turn_seconds):
            return await self.engine.outcome(begun.item)
        raise ApiError(
            504,
            "The turn takes longer than this request may; it goes on. Ask again with the same Idempotency-Key.",
            code="timeout",
        )


def wire_calls(outcome: Outcome, *, ephemeral: bool) -> Calls:
    """The calls a turn waits for, each with the id it is known by on the wire."""
    if outcome.status != "waiting":
        return ()
    return [(wire_call_id(call, outcome.session, ephemeral=ephemeral), call) for call in outcome.calls]


class _Leaving:
    """Notices that the client hung up."""

    def __init__(self, engine: Engine, session: SessionKey, by: Principal, *, cancels: bool) -> None:
        self._engine = engine
        self._session = session
        self._by = by
        self.cancels = cancels

    async def watch(self, receive: Receive, scope: anyio.CancelScope) -> None:
        """Until it did; then the request's own work is over, and the turn too if the caller asked for that."""
        while (await receive())["type"] != "http.disconnect":
            pass
        if self.cancels:
            with anyio.move_on_after(_STOP_SECONDS, shield=True):
                await self._engine.stop(self._session, by=self._by, reason="the client disconnected")
        scope.cancel()


def _cut_off(key: str) -> ApiError:
    """For a request that is still waiting when the gateway stops."""
    how = (
        "Ask again with the same Idempotency-Key to get its answer."
        if key
        else "Asking again would begin another; a request with an Idempotency-Key could ask again for its answer."
    )
    return ApiError(
        503,
        f"The gateway stops; the turn goes on after its next start. {how}",
        code="gateway_stopping",
        retry_after=_RESTART_SECONDS,
        is_repeatable=bool(key),
    )


async def _last_words(pipe: Pipe, narrator: Narrator, cut: ApiError) -> ApiError | None:
    """Gives what must be told by the status, if nothing was said yet."""
    refused = _into_stream(narrator, cut)
    pipe.close()
    await pipe.drained.wait()
    return refused


def _into_stream(narrator: Narrator, error: ApiError) -> ApiError | None:
    try:
        narrator.fail(error)
    except ApiError as refused:
        return refused
    return None
