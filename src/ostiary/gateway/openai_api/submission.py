"""From a request to what the engine takes: who speaks, in which session, with what context."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from hashlib import sha256

from ostiary.contracts import content
from ostiary.contracts.content import Image, Label, Text, ToolCall, ToolOutcome, Trust
from ostiary.contracts.engine import Submission
from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import OWNER, Principal, SessionKey
from ostiary.contracts.messages import Address, Attachment, InboundMessage, UserId
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.records import dataclass
from ostiary.core.agent.terms import terms_of
from ostiary.core.routing.scopes import api_scope
from ostiary.gateway.errors import ApiError, sentence
from ostiary.gateway.limits import Limits
from ostiary.gateway.openai_api import images
from ostiary.gateway.openai_api.options import EFFORTS, choice_of, wrong
from ostiary.gateway.openai_api.request import (
    AssistantMessage,
    DeveloperMessage,
    ImagePart,
    Message,
    Request,
    SystemMessage,
    TextPart,
    ToolMessage,
    UserMessage,
    chat_form,
)

# The token is the principal, whatever `user` says.
BEARER = Principal(user=UserId(channel="api", stable_id="token"), role=OWNER)
_RETURNED = Label(trust=Trust.UNTRUSTED, sources=("api:tool",))
_SCOPE = "call:"
_MARK = "~"
GO_ON = "Go on with the tool results above."

SessionFor = Callable[[str, str], SessionKey]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What a request asks of the engine: first `answers` to the open calls of the session `asking`, then the submission.

    A request that only answers `speaks` not: its submission, if any, is for when the answers match no open call.
    `terms` are what it demands of the answer, as core.agent.terms has them.
    """

    principal: Principal
    asking: SessionKey | None
    answers: tuple[ToolOutcome, ...]
    submission: Submission | None
    speaks: bool
    ephemeral: bool
    listed_as: str
    terms: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What a response follows: the conversation up to there, and the session in which it may still wait for answers."""

    context: tuple[content.Message, ...]
    asking: SessionKey | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """What the request says besides its words. `agent` and `model` come from the model field.

    `listed_as` is what the list of words is called on the wire. With `earlier` the conversation follows a response.
    """

    agent: str
    key: str
    fresh: str
    at: float
    principal: Principal = BEARER
    session: SessionKey | None = None
    model: str = ""
    earlier: Earlier | None = None
    listed_as: str = "messages"


@dataclass(slots=True)
class _Said:
    texts: list[str] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class _Reading:
    """What reading the words of one request needs, and the images it found. `names` are those of the calls, by id."""

    listed_as: str
    limits: Limits
    names: Mapping[str, str]
    label: Label
    blobs: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    session: SessionKey
    asking: SessionKey | None
    is_one_call: bool


def translate(request: Request, caller: Caller, session_for: SessionFor, limits: Limits) -> Turn:
    """Raises ApiError 400. Everything the engine stores comes from here, so nothing of `request` is kept by reference."""
    if len(request.messages) > limits.messages:
        raise wrong(caller.listed_as, f"more than {limits.messages}")
    reading = _Reading(listed_as=caller.listed_as, limits=limits, names=_call_names(request.messages), label=_label(caller))
    split = _after_last_answer(request.messages)
    said, answers, instructions = _read_new(request.messages, range(split, len(request.messages)), reading)
    instructions = [*_instructions(request.messages[:split]), *instructions]
    spoke = bool(said.attachments) or any(text.strip() for text in said.texts)
    if not spoke and not answers:
        raise wrong(caller.listed_as, "expected a user message after the last answer")
    outcomes = tuple(_outcome(message, reading.names) for message in answers)
    place = _place(request, caller, session_for, answers, spoke=spoke)
    terms = _terms(request)
    context = _history(request.messages[:split], outcomes, caller.earlier, reading) if place.is_one_call else ()
    submission = Submission(
        message=_message(caller, request.user or "", "\n\n".join(said.texts) if spoke else GO_ON, said.attachments),
        principal=caller.principal,
        session=place.session,
        ephemeral=place.is_one_call,
        instructions="\n\n".join(instructions),
        context=context,
        client_tools=_client_tools(request),
        blobs=reading.blobs,
        directives={**_directives(request, caller), **terms},
        max_tokens=request.max_completion_tokens or request.max_tokens,
        temperature=request.temperature,
    )
    return Turn(
        principal=caller.principal,
        asking=place.asking,
        answers=outcomes if place.asking else (),
        submission=submission if spoke or place.is_one_call else None,
        speaks=spoke,
        ephemeral=place.is_one_call,
        listed_as=caller.listed_as,
        terms=terms,
    )


def _place(request: Request, caller: Caller, session_for: SessionFor, answers: Sequence[ToolMessage], *, spoke: bool) -> _Place:
    """A session that is named goes on; a call without one gets its own, whatever it brings along or follows."""
    if caller.earlier is None and (request.user is not None or caller.session is not None):
        session = caller.session or _named(session_for, caller, request.user or "")
        return _Place(session=session, asking=session if answers else None, is_one_call=False)
    session = SessionKey(caller.agent, _SCOPE + fresh_of(caller))
    asking = None
    if answers and not spoke:
        asking = caller.earlier.asking if caller.earlier is not None else _asking(answers, caller.agent)
    return _Place(session=session, asking=asking, is_one_call=True)


def _directives(request: Request, caller: Caller) -> Mapping[str, str]:
    directives = {"model": caller.model, "thinking": EFFORTS.get(request.reasoning_effort or "", "")}
    return {name: value for name, value in directives.items() if value}


def _terms(request: Request) -> Mapping[str, str]:
    one_at_a_time = request.parallel_tool_calls is False and request.tools
    return terms_of(form=chat_form(request), choice=choice_of(request.tool_choice), parallel=False if one_at_a_time else None)


def wire_call_id(call: ToolCall, session: SessionKey, *, ephemeral: bool) -> str:
    """A stateless caller names no session, so the id it sends back does."""
    return f"{call.id}{_MARK}{session.scope.removeprefix(_SCOPE)}" if ephemeral else call.id


def plain_call_id(id: str) -> str:
    """As the engine knows the call."""
    return id.partition(_MARK)[0]


def _asking(answers: Sequence[ToolMessage], agent: str) -> SessionKey | None:
    owners = {message.tool_call_id.rpartition(_MARK)[2] for message in answers if _MARK in message.tool_call_id}
    owner = owners.pop() if len(owners) == 1 else ""
    return SessionKey(agent, _SCOPE + owner) if owner.isalnum() and len(owner) <= 64 else None


def fresh_of(caller: Caller) -> str:
    """24 hex digits: the same for requests that repeat one another, else never seen before."""
    return sha256(caller.key.encode()).hexdigest()[:24] if caller.key else caller.fresh


def _named(session_for: SessionFor, caller: Caller, user: str) -> SessionKey:
    """The owner's callers share their conversations; anybody else has their own, whatever name they give."""
    try:
        if caller.principal.is_owner:
            return session_for(caller.agent, user)
        return SessionKey(caller.agent, api_scope(user, client=str(caller.principal.user)))
    except BadInput as error:
        raise ApiError(400, f"user: {sentence(error)}", code="invalid_value", param="user") from None


def _label(caller: Caller) -> Label:
    """The history a caller brings along is as good as the caller's word."""
    return Label(trust=Trust.OWNER if caller.principal.is_owner else Trust.CONTACT, sources=("api",))


def _after_last_answer(messages: Sequence[Message]) -> int:
    for index in range(len(messages) - 1, -1, -1):
        if isinstance(messages[index], AssistantMessage):
            return index + 1
    return 0


def _read_new(messages: Sequence[Message], new: range, reading: _Reading) -> tuple[_Said, list[ToolMessage], list[str]]:
    said, answers, instructions = _Said(), list[ToolMessage](), list[str]()
    for index in new:
        message = messages[index]
        match message:
            case UserMessage():
                text, attachments = _user(message, index, reading)
                said.texts.append(text)
                said.attachments += attachments
            case ToolMessage():
                answers.append(message)
            case SystemMessage() | DeveloperMessage():
                instructions.append(_text(message.content))
            case AssistantMessage():
                raise wrong(f"{reading.listed_as}[{index}]", "an answer cannot be new")
    return said, answers, instructions


def _instructions(messages: Sequence[Message]) -> list[str]:
    return [_text(message.content) for message in messages if isinstance(message, SystemMessage | DeveloperMessage)]


def _history(
    messages: Sequence[Message], outcomes: Sequence[ToolOutcome], earlier: Earlier | None, reading: _Reading
) -> tuple[content.Message, ...]:
    context: list[content.Message] = [*(earlier.context if earlier is not None else ())]
    for index, message in enumerate(messages):
        match message:
            case UserMessage():
                text, attachments = _user(message, index, reading)
                pictures = (Image(digest=a.digest, media_type=a.media_type, label=reading.label) for a in attachments)
                context.append(content.UserMessage(parts=(*((Text(text=text, label=reading.label),) if text else ()), *pictures)))
            case AssistantMessage():
                _add_answer(context, _answer(message, reading.label))
            case ToolMessage():
                _add_outcome(context, _outcome(message, reading.names))
            case SystemMessage() | DeveloperMessage():
                pass
    for outcome in outcomes:
        _add_outcome(context, outcome)
    return tuple(context)


def _add_answer(context: list[content.Message], answer: content.AssistantMessage) -> None:
    """Calls that come as pieces of their own belong to what was said before them: it was one step."""
    before = context[-1] if context else None
    if isinstance(before, content.AssistantMessage) and all(isinstance(part, ToolCall) for part in answer.parts):
        context[-1] = content.AssistantMessage(parts=(*before.parts, *answer.parts))
    elif answer.parts:
        context.append(answer)


def _add_outcome(context: list[content.Message], outcome: ToolOutcome) -> None:
    before = context[-1] if context else None
    if isinstance(before, content.ToolMessage):
        context[-1] = content.ToolMessage(outcomes=(*before.outcomes, outcome))
    else:
        context.append(content.ToolMessage(outcomes=(outcome,)))


def _answer(message: AssistantMessage, label: Label) -> content.AssistantMessage:
    text = message.content if isinstance(message.content, str) else ""
    if isinstance(message.content, list):
        text = "".join(part.text if isinstance(part, TextPart) else part.refusal for part in message.content)
    calls = (
        ToolCall(id=plain_call_id(call.id), name=call.function.name, arguments=call.function.arguments)
        for call in message.tool_calls or ()
    )
    return content.AssistantMessage(parts=(*((Text(text=text, label=label),) if text else ()), *calls))


def _user(message: UserMessage, index: int, reading: _Reading) -> tuple[str, list[Attachment]]:
    if isinstance(message.content, str):
        return message.content, []
    texts, attachments = [], []
    for place, part in enumerate(message.content):
        if isinstance(part, ImagePart):
            path = f"{reading.listed_as}[{index}].content[{place}].image_url" + (
                ".url" if reading.listed_as == "messages" else ""
            )
            attachments.append(images.take(part.image_url.url, path, reading.blobs, reading.limits))
        else:
            texts.append(part.text)
    return "\n".join(texts), attachments


def _outcome(message: ToolMessage, names: Mapping[str, str]) -> ToolOutcome:
    call_id = plain_call_id(message.tool_call_id)
    return ToolOutcome(call_id=call_id, name=names.get(call_id, ""), text=_text(message.content), is_error=False, label=_RETURNED)


def _call_names(messages: Sequence[Message]) -> Mapping[str, str]:
    """Tool messages carry no name; the calls they answer do, where the caller sent them along."""
    answers = (message for message in messages if isinstance(message, AssistantMessage))
    return {plain_call_id(call.id): call.function.name for answer in answers for call in answer.tool_calls or ()}


def _text(parts: str | list[TextPart]) -> str:
    return parts if isinstance(parts, str) else "\n".join(part.text for part in parts)


def _client_tools(request: Request) -> tuple[ToolSchema, ...]:
    empty = {"type": "object", "properties": {}}
    return tuple(
        ToolSchema(
            name=tool.function.name, description=tool.function.description or "", parameters=tool.function.parameters or empty
        )
        for tool in request.tools or ()
    )


def _message(caller: Caller, user: str, text: str, attachments: Sequence[Attachment]) -> InboundMessage:
    return InboundMessage(
        id=caller.key or caller.fresh,
        address=Address(channel="api", account="default", chat=str(caller.session or user or "stateless")),
        sender=caller.principal.user,
        text=text,
        at=caller.at,
        attachments=tuple(attachments),
    )
