"""`POST /v1/responses` and `GET /v1/responses/{id}`."""

from dataclasses import replace

import anyio

from ostiary.contracts.engine import Outcome
from ostiary.core.agent.run import is_one_call
from ostiary.gateway.asgi import Receive, Scope, Send, read_body, respond
from ostiary.gateway.errors import from_outcome
from ostiary.gateway.openai_api.answering import Exchange, wire_calls
from ostiary.gateway.openai_api.begin import Begun, Replied
from ostiary.gateway.openai_api.choosing import Desk, principal_of
from ostiary.gateway.openai_api.previous import find, follow, response_id, unkept_id
from ostiary.gateway.openai_api.request import Request, ToolMessage
from ostiary.gateway.openai_api.responses_render import Response
from ostiary.gateway.openai_api.responses_request import ResponsesRequest, as_chat, parse
from ostiary.gateway.openai_api.submission import Caller, Earlier, fresh_of, plain_call_id, translate
from ostiary.gateway.openai_api.terms import keep_terms

# How long a turn that ended needs to be read; one that runs is not waited for.
_SETTLED_SECONDS = 0.2


async def responses(desk: Desk, scope: Scope, receive: Receive, send: Send) -> None:
    """Raises ApiError, OstiaryError or ClientGone."""
    request = parse(await read_body(scope, receive, desk.limits))
    chat = as_chat(request)
    caller = replace(desk.caller(scope, request.model), listed_as="input")
    if request.previous_response_id:
        caller = await _following(desk, request.previous_response_id, chat, caller)
    turn = await keep_terms(desk.store, translate(chat, caller, desk.session_for, desk.limits))
    if turn.submission is not None and request.instructions:
        instructions = "\n\n".join(filter(None, (request.instructions, turn.submission.instructions)))
        turn = replace(turn, submission=replace(turn.submission, instructions=instructions))

    def form(begun: Begun | Replied) -> Response:
        kept = request.store is not False and begun.item
        id = response_id(begun.item, begun.session, fresh_of(caller)) if kept else unkept_id(caller.fresh)
        return Response(id=id, created=int(caller.at), request=request)

    exchange = Exchange(engine=desk.engine, limits=desk.limits, turn=turn, form=form)
    await exchange.answer(scope, receive, send, streamed=bool(request.stream))


async def _following(desk: Desk, id: str, chat: Request, caller: Caller) -> Caller:
    found = await find(desk.store, id, caller.principal)
    assert desk.store is not None
    answered = {plain_call_id(each.tool_call_id) for each in chat.messages if isinstance(each, ToolMessage)}
    goes_on = await follow(desk.store, found, answered)
    if isinstance(goes_on, Earlier):
        return replace(caller, earlier=goes_on, agent=found.row.session.agent)
    return replace(caller, session=goes_on, agent=goes_on.agent)


async def retrieve(desk: Desk, id: str, scope: Scope, send: Send) -> None:
    """A response as it stands, also one whose request was given up. Raises ApiError 404."""
    found = await find(desk.store, id, principal_of(scope))
    response = Response(id=id, created=int(found.row.accepted_at), request=ResponsesRequest(input=""))
    outcome: Outcome | None = None
    with anyio.move_on_after(_SETTLED_SECONDS):
        outcome = await desk.engine.outcome(found.item)
    if outcome is None:
        await respond(send, 200, response.begun())
    elif outcome.status in ("failed", "timeout"):
        await respond(send, 200, response.failed(from_outcome(outcome), []))
    else:
        await respond(send, 200, response.whole(outcome, wire_calls(outcome, ephemeral=is_one_call(outcome.session))))
