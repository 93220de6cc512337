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
from ostiary.gateway.errors import ApiError, sentence
from ostiary.gateway.limits import Limits
from ostiary.gateway.openai_api import images
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
)

# The token is the principal, whatever `user` says.
BEARER = Principal(user=UserId(channel="api", stable_id="token"), role=OWNER)
_SAID = Label(trust=Trust.OWNER, sources=("api",))
_RETURNED = Label(trust=Trust.UNTRUSTED, sources=("api:tool",))
_SCOPE = "call:"
_MARK = "~"
GO_ON = "Go on with the tool results above."

SessionFor = Callable[[str, str], SessionKey]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What a request asks of the engine: first `answers` to the open calls of the session `asking`, then the submission.

    A request that only answers `speaks` not: its submission, if any, is for when the answers match no open call.
    """

    asking: SessionKey | None
    answers: tuple[ToolOutcome, ...]
    submission: Submission | None
    speaks: bool
    ephemeral: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """What the request's headers say. `agent` and `model` come from the model field."""

    agent: str
    key: str
    fresh: str
    at: float
    session: SessionKey | None = None
    model: str = ""


@dataclass(slots=True)
class _Said:
    texts: list[str] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)


def translate(request: Request, caller: Caller, session_for: SessionFor, limits: Limits) -> Turn:
    """Raises ApiError 400. Everything the engine stores comes from here, so nothing of `request` is kept by reference."""
    if len(request.messages) > limits.messages:
        raise ApiError(400, f"messages: more than {limits.messages}.", code="invalid_value", param="messages")
    blobs: dict[str, bytes] = {}
    stateless = request.user is None and caller.session is None
    split = _after_last_answer(request.messages)
    said, answers, instructions = _read_new(request.messages, range(split, len(request.messages)), blobs, limits)
    instructions = [*_instructions(request.messages[:split]), *instructions]
    spoke = bool(said.attachments) or any(text.strip() for text in said.texts)
    if not spoke and not answers:
        raise ApiError(400, "messages: expected a user message after the last answer.", code="invalid_value", param="messages")
    names = _call_names(request.messages)
    outcomes = tuple(_outcome(message, names) for message in answers)
    if stateless:
        session = SessionKey(caller.agent, _SCOPE + (_digest(caller.key) if caller.key else caller.fresh))
        asking = _asking(answers, caller.agent) if not spoke else None
        context = _context(request.messages[:split], names, blobs, limits)
        context += (content.ToolMessage(outcomes=outcomes),) if outcomes else ()
    else:
        session = caller.session or _named(session_for, caller.agent, request.user or "")
        asking = session if answers else None
        context = ()
    submission = Submission(
        message=_message(caller, request.user or "", "\n\n".join(said.texts) if spoke else GO_ON, said.attachments),
        principal=BEARER,
        session=session,
        ephemeral=stateless,
        instructions="\n\n".join(instructions),
        context=context,
        client_tools=_client_tools(request),
        blobs=blobs,
        directives={"model": caller.model} if caller.model else {},
        max_tokens=request.max_completion_tokens or request.max_tokens,
        temperature=request.temperature,
    )
    return Turn(
        asking=asking,
        answers=outcomes if asking else (),
        submission=submission if spoke or stateless else None,
        speaks=spoke,
        ephemeral=stateless,
    )


def wire_call_id(call: ToolCall, session: SessionKey, *, ephemeral: bool) -> str:
    """A stateless caller names no session, so the id it sends back does."""
    return f"{call.id}{_MARK}{session.scope.removeprefix(_SCOPE)}" if ephemeral else call.id


def _asking(answers: Sequence[ToolMessage], agent: str) -> SessionKey | None:
    owners = {message.tool_call_id.rpartition(_MARK)[2] for message in answers if _MARK in message.tool_call_id}
    owner = owners.pop() if len(owners) == 1 else ""
    return SessionKey(agent, _SCOPE + owner) if owner.isalnum() and len(owner) <= 64 else None


def _digest(key: str) -> str:
    return sha256(key.encode()).hexdigest()[:24]


def _named(session_for: SessionFor, agent: str, user: str) -> SessionKey:
    try:
        return session_for(agent, user)
    except BadInput as error:
        raise ApiError(400, f"user: {sentence(error)}", code="invalid_value", param="user") from None


def _after_last_answer(messages: Sequence[Message]) -> int:
    for index in range(len(messages) - 1, -1, -1):
        if isinstance(messages[index], AssistantMessage):
            return index + 1
    return 0


def _read_new(
    messages: Sequence[Message], new: range, blobs: dict[str, bytes], limits: Limits
) -> tuple[_Said, list[ToolMessage], list[str]]:
    said, answers, instructions = _Said(), list[ToolMessage](), list[str]()
    for index in new:
        message = messages[index]
        match message:
            case UserMessage():
                text, attachments = _user(message, index, blobs, limits)
                said.texts.append(text)
                said.attachments += attachments
            case ToolMessage():
                answers.append(message)
            case SystemMessage() | DeveloperMessage():
                instructions.append(_text(message.content))
            case AssistantMessage():
                raise ApiError(400, f"messages[{index}]: an answer cannot be new.", param=f"messages[{index}]")
    return said, answers, instructions


def _instructions(messages: Sequence[Message]) -> list[str]:
    return [_text(message.content) for message in messages if isinstance(message, SystemMessage | DeveloperMessage)]


def _context(
    messages: Sequence[Message], names: Mapping[str, str], blobs: dict[str, bytes], limits: Limits
) -> tuple[content.Message, ...]:
    context: list[content.Message] = []
    for index, message in enumerate(messages):
        match message:
            case UserMessage():
                text, attachments = _user(message, index, blobs, limits)
                pictures = (Image(digest=a.digest, media_type=a.media_type, label=_SAID) for a in attachments)
                context.append(content.UserMessage(parts=(*((Text(text=text, label=_SAID),) if text else ()), *pictures)))
            case AssistantMessage():
                context.append(_answer(message))
            case ToolMessage():
                outcome = _outcome(message, names)
                before = context[-1] if context else None
                if isinstance(before, content.ToolMessage):
                    context[-1] = content.ToolMessage(outcomes=(*before.outcomes, outcome))
                else:
                    context.append(content.ToolMessage(outcomes=(outcome,)))
            case SystemMessage() | DeveloperMessage():
                pass
    return tuple(context)


def _answer(message: AssistantMessage) -> content.AssistantMessage:
    text = message.content if isinstance(message.content, str) else ""
    if isinstance(message.content, list):
        text = "".join(part.text if isinstance(part, TextPart) else part.refusal for part in message.content)
    calls = (
        ToolCall(id=call.id.partition(_MARK)[0], name=call.function.name, arguments=call.function.arguments)
        for call in message.tool_calls or ()
    )
    return content.AssistantMessage(parts=(*((Text(text=text, label=_SAID),) if text else ()), *calls))


def _user(message: UserMessage, index: int, blobs: dict[str, bytes], limits: Limits) -> tuple[str, list[Attachment]]:
    if isinstance(message.content, str):
        return message.content, []
    texts, attachments = [], []
    for place, part in enumerate(message.content):
        if isinstance(part, ImagePart):
            path = f"messages[{index}].content[{place}].image_url.url"
            attachments.append(images.take(part.image_url.url, path, blobs, limits))
        else:
            texts.append(part.text)
    return "\n".join(texts), attachments


def _outcome(message: ToolMessage, names: Mapping[str, str]) -> ToolOutcome:
    call_id = message.tool_call_id.partition(_MARK)[0]
    return ToolOutcome(call_id=call_id, name=names.get(call_id, ""), text=_text(message.content), is_error=False, label=_RETURNED)


def _call_names(messages: Sequence[Message]) -> Mapping[str, str]:
    """Tool messages carry no name; the calls they answer do, where the caller sent them along."""
    answers = (message for message in messages if isinstance(message, AssistantMessage))
    return {call.id.partition(_MARK)[0]: call.function.name for answer in answers for call in answer.tool_calls or ()}


def _text(parts: str | list[TextPart]) -> str:
    return parts if isinstance(parts, str) else "\n".join(part.text for part in parts)


def _client_tools(request: Request) -> tuple[ToolSchema, ...]:
    if request.tool_choice == "none":
        return ()
    empty = {"type": "object", "properties": {}}
    return tuple(
        ToolSchema(name=tool.function.name, description=tool.function.description, parameters=tool.function.parameters or empty)
        for tool in request.tools or ()
    )


def _message(caller: Caller, user: str, text: str, attachments: Sequence[Attachment]) -> InboundMessage:
    return InboundMessage(
        id=caller.key or caller.fresh,
        address=Address(channel="api", account="default", chat=str(caller.session or user or "stateless")),
        sender=BEARER.user,
        text=text,
        at=caller.at,
        attachments=tuple(attachments),
    )
