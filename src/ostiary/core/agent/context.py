"""What is sent to the model: the pinned prefix, this turn's additions, and as much history as fits."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol, cast, get_args

from ostiary.contracts.content import Image, Label, Message, Text, ToolMessage, ToolOutcome, UserMessage
from ostiary.contracts.model import ModelChoice, ModelFacts, ModelRequest, ThinkingLevel, ToolSchema
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Store
from ostiary.contracts.tool import ToolSpec
from ostiary.core.agent.prompt import turn_note
from ostiary.core.agent.room import answer_room
from ostiary.core.agent.room import estimate as estimate
from ostiary.core.agent.spotlight import is_outside, spotlit
from ostiary.core.sessions.session import Session, Turn
from ostiary.core.sessions.summary import is_marked


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The stable prefix and the tools it speaks of; digests name the stored texts. `label`: whose words it consists of."""

    prefix: str
    digest: str
    tools: tuple[ToolSpec, ...]
    schemas: bytes
    schemas_digest: str
    report: Mapping[str, object]
    label: Label


class Prompts(Protocol):
    async def prepare(self, *, session: Session, turn: Turn, facts: ModelFacts) -> Prepared:
        """Cheap when nothing changed: called before every model request."""
        ...


def offered_tools(tools: Sequence[ToolSpec], client: Sequence[ToolSchema]) -> dict[str, ToolSpec]:
    """Ours, and the caller's own; a caller's tool hides ours of the same name for this turn."""
    offered = {spec.name: spec for spec in tools}
    for schema in client:
        offered[schema.name] = ToolSpec(schema=schema, effects=frozenset(), is_client=True)
    return offered


def build_request(
    session: Session,
    turn: Turn,
    prepared: Prepared,
    choice: ModelChoice,
    blobs: Mapping[str, bytes],
    *,
    default_thinking: str,
    facts: ModelFacts,
    messages: Sequence[Message] | None = None,
) -> ModelRequest:
    """`messages` are sent instead of the session's own, one for each."""
    started = turn.started
    thinking = started.directives.get("thinking") or session.settings.get("thinking") or default_thinking
    client = started.client_tools
    schemas = tuple(spec.schema for spec in (offered_tools(prepared.tools, client).values() if client else prepared.tools))
    max_tokens = started.directives.get("max_tokens", "")
    temperature = started.directives.get("temperature", "")
    note = turn_note(instructions=started.instructions)
    return ModelRequest(
        choice=choice,
        system=(prepared.prefix, note) if note else (prepared.prefix,),
        messages=_shown(session, session.messages if messages is None else messages, facts),
        tools=schemas,
        thinking=cast(ThinkingLevel, thinking if thinking in get_args(ThinkingLevel) else "off"),
        max_tokens=int(max_tokens) if max_tokens else None,
        temperature=float(temperature) if temperature else None,
        session=session.name,
        blobs=blobs,
    )


def _shown(session: Session, messages: Sequence[Message], facts: ModelFacts) -> tuple[Message, ...]:
    plain = plain_until(session, messages)
    rest = messages[plain:]
    if not facts.sees_images:
        rest = viewable(rest)
    if session.summary and is_marked(session.summary) and not plain:
        # It tells people's words from data by itself; marked once more, what people said would be data too.
        return (rest[0], *spotlit(rest[1:]))
    return (*messages[:plain], *spotlit(rest))


def plain_until(session: Session, messages: Sequence[Message]) -> int:
    """How many of the first messages are sent as they are, whatever the model. Messages never change, so of the session's own
    list only what was added is looked at."""
    if messages is not session.messages:
        return 0
    place = session.plain
    while place < len(messages) and _is_plain(messages[place]):
        place += 1
    session.plain = place
    return place


def _is_plain(message: Message) -> bool:
    if isinstance(message, UserMessage):
        return all(isinstance(part, Text) and not is_outside(part.label) for part in message.parts)
    if isinstance(message, ToolMessage):
        return not any(outcome.images or is_outside(outcome.label) for outcome in message.outcomes)
    return True


def images_of(messages: Sequence[Message]) -> list[Image]:
    found: list[Image] = []
    for message in messages:
        if isinstance(message, UserMessage):
            found += [part for part in message.parts if isinstance(part, Image)]
        elif isinstance(message, ToolMessage):
            for outcome in message.outcomes:
                found += outcome.images
    return found


def viewable(messages: Sequence[Message]) -> tuple[Message, ...]:
    """For a model that cannot see: images are named instead of sent."""
    return tuple(_without_images(message) for message in messages) if images_of(messages) else tuple(messages)


def _without_images(message: Message) -> Message:
    match message:
        case UserMessage(parts=parts):
            named = (Text(text=_named(part), label=part.label) if isinstance(part, Image) else part for part in parts)
            return UserMessage(parts=tuple(named))
        case ToolMessage(outcomes=outcomes):
            return ToolMessage(outcomes=tuple(_outcome_without_images(outcome) for outcome in outcomes))
        case _:
            return message


def _outcome_without_images(outcome: ToolOutcome) -> ToolOutcome:
    if not outcome.images:
        return outcome
    return replace(outcome, text="\n".join((outcome.text, *map(_named, outcome.images))), images=())


def _named(image: Image) -> str:
    return f"[image {image.media_type}, which this model cannot see]"


async def blobs_of(session: Session, messages: Sequence[Message], store: Store, *, sees_images: bool) -> dict[str, bytes]:
    blobs: dict[str, bytes] = {}
    if not sees_images:
        return blobs
    for image in images_of(messages[plain_until(session, messages) :]):
        if image.digest not in blobs:
            blobs[image.digest] = await store.blob(image.digest) or b""
    return blobs


def too_long(session: Session, facts: ModelFacts, fixed: int, history_messages: int, history_turns: int = 0) -> str:
    """Why older turns must go before this request, or nothing."""
    if estimate(session.characters + fixed) > answer_room(facts):
        return "The conversation is too long for the model"
    if history_messages and len(session.messages) > history_messages:
        return "history limit"
    if history_turns and len(session.marks) > history_turns:
        return "history limit"
    return ""


def kept_from(session: Session, current: str) -> str | None:
    """The turn from which history is kept when half of it must go; None if only the current turn is left."""
    earlier = [name for name, _ in session.marks]
    if current in earlier:
        place = earlier.index(current)
        return earlier[(place + 1) // 2] if place else None
    return None
