"""`POST /v1/chat/completions`: submit, watch, answer. Going away cancels nothing unless the caller asked for that."""

import secrets
from collections.abc import Callable

import anyio

from ostiary.contracts.content import ToolCall
from ostiary.contracts.engine import Engine, Outcome
from ostiary.contracts.errors import BadInput, OstiaryError
from ostiary.contracts.identity import SessionKey, is_id
from ostiary.contracts.model import ModelCatalogue
from ostiary.contracts.records import dataclass
from ostiary.gateway.asgi import Receive, Scope, Send, header, read_body, respond
from ostiary.gateway.errors import ApiError, from_error, from_outcome, sentence
from ostiary.gateway.limits import Limits
from ostiary.gateway.openai_api import render
from ostiary.gateway.openai_api.begin import Begun, Replied, begin, watched
from ostiary.gateway.openai_api.request import Request, parse
from ostiary.gateway.openai_api.stream import Narrator, Pipe
from ostiary.gateway.openai_api.submission import BEARER, Caller, SessionFor, Turn, translate, wire_call_id

NAME = "ostiary"
_STOP_SECONDS = 10.0
_LAST_EVENTS_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Completions:
    """What the endpoint needs of the house. `agents` are the ids that `model` may name; the first is the default."""

    engine: Engine
    catalogue: ModelCatalogue
    agents: Callable[[], tuple[str, ...]]
    session_for: SessionFor
    limits: Limits
    now: Callable[[], float]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises ApiError, OstiaryError or ClientGone."""
        request = parse(await read_body(scope, receive, self.limits))
        caller = self._caller(scope, request)
        turn = translate(request, caller, self.session_for, self.limits)
        answer = _Answer(self, request, turn, id=f"chatcmpl-{caller.fresh}", created=int(caller.at))
        leaves = _Leaving(self.engine, watched(turn), cancels=header(scope, b"x-ostiary-cancel-on-disconnect").lower() == "true")
        if request.stream:
            await answer.stream(receive, send, leaves, shows_detail=header(scope, b"x-ostiary-detail").lower() == "true")
        else:
            await answer.whole(receive, send, leaves)

    def _caller(self, scope: Scope, request: Request) -> Caller:
        agent, model = self._choose(request.model.strip())
        named = header(scope, b"x-ostiary-session")
        try:
            session = SessionKey.parse(named) if named else None
        except BadInput as error:
            raise ApiError(400, f"X-Ostiary-Session: {sentence(error)}", code="invalid_value") from None
        if session is not None and session.agent not in self.agents():
            raise ApiError(404, f"There is no agent {session.agent!r}.", code="model_not_found", param="model")
        key = header(scope, b"idempotency-key")
        if len(key) > 255 or not key.isprintable():
            raise ApiError(400, "Idempotency-Key: expected at most 255 printable characters.", code="invalid_value")
        return Caller(agent=agent, key=key, fresh=secrets.token_hex(12), at=self.now(), session=session, model=model)

    def _choose(self, name: str) -> tuple[str, str]:
        """Which agent answers, and with which model if the caller names one. Raises ApiError 404."""
        agents = self.agents()
        if name in ("", NAME, "default"):
            return agents[0], ""
        kind, _, agent = name.partition("/") if name.startswith(f"{NAME}/") else name.partition(":")
        if kind in (NAME, "agent") and is_id(agent):
            if agent not in agents:
                raise ApiError(404, f"There is no agent {agent!r}.", code="model_not_found", param="model")
            return agent, ""
        try:
            return agents[0], str(self.catalogue.choose(agents[0], name).primary)
        except OstiaryError as error:
            raise ApiError(404, sentence(error), code="model_not_found", param="model") from None


class _Leaving:
    """Notices that the client hung up."""

    def __init__(self, engine: Engine, session: SessionKey, *, cancels: bool) -> None:
        self._engine = engine
        self._session = session
        self._cancels = cancels

    async def watch(self, receive: Receive, scope: anyio.CancelScope) -> None:
        """Until it did; then the request's own work is over, and the turn too if the caller asked for that."""
        while (await receive())["type"] != "http.disconnect":
            pass
        if self._cancels:
            with anyio.move_on_after(_STOP_SECONDS, shield=True):
                await self._engine.stop(self._session, by=BEARER, reason="the client disconnected")
        scope.cancel()


class _Answer:
    """One request on its way to its answer."""

    def __init__(self, house: Completions, request: Request, turn: Turn, *, id: str, created: int) -> None:
        self._house = house
        self._request = request
        self._turn = turn
        self._id = id
        self._created = created
        self._model = request.model or NAME

    async def whole(self, receive: Receive, send: Send, leaves: _Leaving) -> None:
        begun = await begin(self._house.engine, self._turn)
        outcome: Outcome | OstiaryError | ApiError | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(leaves.watch, receive, group.cancel_scope)
            try:
                outcome = await self._outcome(begun)
            except (OstiaryError, ApiError) as error:
                outcome = error
            group.cancel_scope.cancel()
        if outcome is None:
            return
        if not isinstance(outcome, Outcome):
            raise outcome
        if outcome.status in ("failed", "timeout"):
            raise from_outcome(outcome)
        calls = self._calls(outcome)
        body = render.completion(outcome, id=self._id, created=self._created, model=self._model, calls=calls)
        await respond(send, 200, body)

    async def stream(self, receive: Receive, send: Send, leaves: _Leaving, *, shows_detail: bool) -> None:
        chunks = render.Chunks(id=self._id, created=self._created, model=self._model)
        pipe = Pipe(send, self._house.limits.keep_alive_seconds, chunks.text)
        narrator = Narrator(pipe, chunks, shows_detail=shows_detail)
        refused: ApiError | None = None
        async with self._house.engine.watch(watched(self._turn)) as shown:
            begun = await begin(self._house.engine, self._turn)
            async with anyio.create_task_group() as group:
                group.start_soon(leaves.watch, receive, group.cancel_scope)
                group.start_soon(pipe.pump)
                if isinstance(begun, Begun) and begun.is_new:
                    group.start_soon(narrator.follow, shown, begun)
                try:
                    outcome = await self._outcome(begun)
                    if isinstance(begun, Begun) and begun.is_new:
                        with anyio.move_on_after(_LAST_EVENTS_SECONDS):
                            await narrator.finished.wait()
                    options = self._request.stream_options
                    narrator.end(outcome, self._calls(outcome), include_usage=bool(options and options.include_usage))
                except ApiError as error:
                    refused = _into_stream(narrator, error)
                except OstiaryError as error:
                    refused = _into_stream(narrator, from_error(error))
                pipe.close()
                await pipe.drained.wait()
                group.cancel_scope.cancel()
        if refused is not None:
            raise refused

    async def _outcome(self, begun: Begun | Replied) -> Outcome:
        if isinstance(begun, Replied):
            return Outcome(turn="", session=begun.session, status="completed", text=begun.text)
        with anyio.move_on_after(self._house.limits.turn_seconds):
            return await self._house.engine.outcome(begun.item)
        raise ApiError(
            504,
            "The turn takes longer than this request may; it goes on. Ask again with the same Idempotency-Key.",
            code="timeout",
        )

    def _calls(self, outcome: Outcome) -> list[tuple[str, ToolCall]]:
        if outcome.status != "waiting":
            return []
        return [(wire_call_id(call, outcome.session, ephemeral=self._turn.ephemeral), call) for call in outcome.calls]


def _into_stream(narrator: Narrator, error: ApiError) -> ApiError | None:
    try:
        narrator.fail(error)
    except ApiError as refused:
        return refused
    return None
