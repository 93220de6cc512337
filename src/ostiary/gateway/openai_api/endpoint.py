"""`POST /v1/chat/completions`."""

from dataclasses import replace

from ostiary.contracts.engine import Outcome
from ostiary.contracts.records import dataclass
from ostiary.gateway.asgi import Receive, Scope, Send, read_body
from ostiary.gateway.openai_api import render
from ostiary.gateway.openai_api.answering import Exchange
from ostiary.gateway.openai_api.choosing import NAME, Desk
from ostiary.gateway.openai_api.options import stops_of
from ostiary.gateway.openai_api.request import Request, parse
from ostiary.gateway.openai_api.stopping import before_stop
from ostiary.gateway.openai_api.stream import Calls, Voice
from ostiary.gateway.openai_api.submission import translate
from ostiary.gateway.openai_api.terms import keep_terms


async def completions(desk: Desk, scope: Scope, receive: Receive, send: Send) -> None:
    """Raises ApiError, OstiaryError or ClientGone."""
    request = parse(await read_body(scope, receive, desk.limits))
    caller = desk.caller(scope, request.model)
    turn = await keep_terms(desk.store, translate(request, caller, desk.session_for, desk.limits))
    form = _Form(request=request, id=f"chatcmpl-{caller.fresh}", created=int(caller.at))
    exchange = Exchange(
        engine=desk.engine,
        limits=desk.limits,
        turn=turn,
        form=lambda begun: form,
        stops=stops_of(request.stop),
        question=desk.question,
    )
    await exchange.answer(scope, receive, send, streamed=bool(request.stream))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    request: Request
    id: str
    created: int

    def whole(self, outcome: Outcome, calls: Calls) -> object:
        cut = replace(outcome, text=before_stop(outcome.text, stops_of(self.request.stop)))
        return render.completion(cut, id=self.id, created=self.created, model=self._model, calls=calls)

    def voice(self) -> Voice:
        options = self.request.stream_options
        include_usage = bool(options and options.include_usage)
        return render.Chunks(id=self.id, created=self.created, model=self._model, include_usage=include_usage)

    @property
    def _model(self) -> str:
        return self.request.model or NAME
