"""A session is the fold of its journal: nothing here is stored, everything can be made again from the events."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from ostiary.contracts.content import (
    AssistantMessage,
    Label,
    Message,
    Text,
    ToolCall,
    ToolMessage,
    ToolOutcome,
    Trust,
    UserMessage,
    UserPart,
)
from ostiary.contracts.events import (
    ApprovalAnswered,
    ApprovalAsked,
    Branched,
    Compacted,
    Declassified,
    Imported,
    ModelAnswered,
    ModelRequested,
    ModelSpent,
    Noted,
    PrefixPinned,
    Recorded,
    Reset,
    SettingChanged,
    Steered,
    ToolIntended,
    ToolResulted,
    Trimmed,
    TurnEnded,
    TurnInput,
    TurnResumed,
    TurnStarted,
    TurnSuspended,
)
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.model import Usage
from ostiary.core.sessions.titles import title_of

SYSTEM_LABEL = Label(trust=Trust.SYSTEM, sources=("ostiary",))
SUMMARY_HEAD = "[What was said earlier in this conversation, summarised]"
_EMPTY_DIGEST = hashlib.sha256(b"").hexdigest()


@dataclass(slots=True)
class Turn:
    """How far one turn has come, as its events tell it."""

    id: str
    started: TurnStarted
    started_at: float
    items: list[int]
    step: int = 0
    requested: bool = False
    unattended: bool = False
    answer: ModelAnswered | None = None
    calls: dict[str, ToolCall] = field(default_factory=dict)
    intents: dict[str, ToolIntended] = field(default_factory=dict)
    results: dict[str, ToolResulted] = field(default_factory=dict)
    asked: dict[str, ApprovalAsked] = field(default_factory=dict)
    answers: dict[str, ApprovalAnswered] = field(default_factory=dict)
    suspended: TurnSuspended | None = None
    ended: TurnEnded | None = None
    usage: Usage = field(default_factory=Usage)
    texts: list[str] = field(default_factory=list)
    failed_tool: str = ""
    answered_by_client: set[str] = field(default_factory=set)

    @property
    def open_calls(self) -> list[ToolCall]:
        """Calls of the last answer that have no result yet, in order."""
        return [call for call in self.calls.values() if call.id not in self.results]

    def absorb(self, event: object) -> None:
        """Follow one event of this turn."""
        match event:
            case Steered(inputs=inputs):
                self.items.extend(each.item for each in inputs)
            case ModelRequested(step=step, unattended=unattended):
                self.step, self.requested, self.unattended = step, True, unattended
            case ModelSpent(usage=usage):
                self.usage = add_usage(self.usage, usage)
            case ModelAnswered():
                self.answer, self.requested, self.step = event, False, event.step
                self.calls = {part.id: part for part in event.parts if isinstance(part, ToolCall)}
                self.intents, self.results, self.asked, self.answers = {}, {}, {}, {}
                self.usage = add_usage(self.usage, event.usage)
                self.texts.append("".join(part.text for part in event.parts if isinstance(part, Text)))
            case ToolIntended(call_id=call_id):
                self.intents[call_id] = event
            case ToolResulted(call_id=call_id):
                self.results[call_id] = event
                self.failed_tool = f"{event.name}: {event.text}" if event.is_error else ""
            case ApprovalAsked(call_id=call_id):
                self.asked[call_id] = event
                self.answers.pop(call_id, None)
            case ApprovalAnswered(call_id=call_id, approval=approval):
                # An answer to what was asked before says nothing about what is asked now.
                if call_id in self.asked and self.asked[call_id].approval == approval:
                    self.answers[call_id] = event
            case TurnSuspended():
                self.suspended = event
            case TurnResumed():
                if self.suspended is not None and self.suspended.waiting_for == "client_tool":
                    self.answered_by_client.update(self.suspended.call_ids)
                self.suspended = None
            case TurnEnded():
                self.ended, self.suspended = event, None
            case _:
                pass


class Session:
    """Apply events in order; read the attributes. Only the pen (core.sessions.pen) applies.

    `title` is what was said first. `summary` stands for what was said before `messages[1]`; empty if nothing was summarised.
    `renewed` is the seq at which this stretch of the conversation began: the last summary, or a new beginning. Not part of the
    fold are `pruned` (messages as they were last sent instead of those at these places), `plain` (so many of the first messages
    are known to be sent as they are), `counted` (the tokens a model counted, at so many characters) and `flushed` (the seq at
    which the model last wrote down what to remember; None: nobody looked)."""

    def __init__(self, key: SessionKey) -> None:
        self.key = key
        self.name = str(key)
        self.seq = 0
        self.messages: list[Message] = []
        self.marks: list[tuple[str, int]] = []
        self.settings: dict[str, str] = {}
        self.title = ""
        self.turn: Turn | None = None
        self.last_turn: Turn | None = None
        self.prefix: PrefixPinned | None = None
        self.prefix_text = ""
        self.usage = Usage()
        self.turns = 0
        self.model = ""
        self.created_at = 0.0
        self.updated_at = 0.0
        self.last_input_at = 0.0
        self.label = SYSTEM_LABEL
        self.digest = _EMPTY_DIGEST
        self.characters = 0
        self.summary = ""
        self.compactions = 0
        self.renewed = 0
        self.answered_at = 0.0
        self.pruned: dict[int, Message] = {}
        self.plain = 0
        self.counted = (0, 0)
        self.flushed: int | None = None

    def apply(self, recorded: Recorded) -> None:
        self.seq = recorded.seq
        self.created_at = self.created_at or recorded.at
        self.updated_at = recorded.at
        event = recorded.event
        match event:
            case TurnStarted():
                self._start(recorded.turn, event, recorded.at)
            case ModelAnswered(parts=parts):
                self._close_calls()
                self._turn_absorb(event)
                self.usage = add_usage(self.usage, event.usage)
                self.model, self.answered_at = event.model, recorded.at
                if self.turn is None:
                    # Its beginning was erased: nobody follows its calls, so nobody could answer them.
                    parts = tuple(part for part in parts if not isinstance(part, ToolCall))
                self._add(AssistantMessage(parts=parts, model=event.model))
                self._taint(event.label)
            case ToolResulted(call_id=call_id):
                if self.turn is not None and call_id in self.turn.calls:
                    self.turn.absorb(event)
                    if not self.turn.open_calls:
                        self._answer_calls(self.turn)
            case Steered(inputs=inputs):
                self._close_calls()
                self._turn_absorb(event)
                self._add_inputs(inputs)
            case TurnEnded():
                self._end(event)
            case ModelSpent(usage=usage):
                self._turn_absorb(event)
                self.usage = add_usage(self.usage, usage)
            case Declassified():
                self.label = SYSTEM_LABEL
            case SettingChanged(name=name, value=value):
                self._set(name, value)
            case PrefixPinned():
                self.prefix = event
            case Reset():
                self._begin_anew()
            case Trimmed(kept_from=kept_from):
                self._keep_from(kept_from, [self.messages[0]] if self.summary else [])
            case Compacted():
                self._compact(event)
            case Noted(text=text, label=label):
                self._add(AssistantMessage(parts=(Text(text=text, label=label),), model=self.model))
            case Branched(messages=messages) | Imported(messages=messages):
                if self.turn is not None:
                    # Its calls are not part of what stands here now: their results would answer nothing.
                    self.turn.calls = {}
                self._restart(messages)
            case _:
                self._turn_absorb(event)

    def _turn_absorb(self, event: object) -> None:
        if self.turn is not None:
            self.turn.absorb(event)

    def _start(self, turn: str, event: TurnStarted, at: float) -> None:
        self._close_calls()
        self.turn = Turn(id=turn, started=event, started_at=at, items=[each.item for each in event.inputs])
        self.turns += 1
        self.title = self.title or title_of(event.inputs)
        self.last_input_at = at
        for message in event.context:
            self._add(message)
        self.marks.append((turn, len(self.messages)))
        if event.summary_of_dropped:
            dropped = Text(text=event.summary_of_dropped, label=trust_label(event.principal.is_owner, str(event.principal.user)))
            self._add(UserMessage(parts=(dropped,)))
        self._add_inputs(event.inputs)

    def _add_inputs(self, inputs: Iterable[TurnInput]) -> None:
        parts: list[UserPart] = [part for each in inputs for part in each.parts]
        if parts:
            self._add(UserMessage(parts=tuple(parts)))

    def _end(self, event: TurnEnded) -> None:
        self._close_calls()
        turn = self.turn
        if turn is None:
            return
        turn.absorb(event)
        if event.status != "completed":
            # The model must see that its turn was cut, or it answers the old question again.
            note = f"{event.partial}\n\n[{event.status}: {event.reason}]".strip()
            self._add(AssistantMessage(parts=(Text(text=note, label=self.label),), model=self.model))
        self.turn, self.last_turn = None, turn

    def _close_calls(self) -> None:
        """Every call gets a result, whatever happened: a provider refuses a history with an unanswered one."""
        turn = self.turn
        if turn is None or not turn.open_calls:
            return
        for call in turn.open_calls:
            turn.results[call.id] = ToolResulted(
                call_id=call.id,
                name=call.name,
                text="No result was recorded.",
                is_error=True,
                fate="unanswered",
                label=SYSTEM_LABEL,
            )
        self._answer_calls(turn)

    def _answer_calls(self, turn: Turn) -> None:
        self._add(ToolMessage(outcomes=tuple(outcome_of(turn.results[call_id]) for call_id in turn.calls)))
        turn.calls = {}

    def _set(self, name: str, value: str) -> None:
        if value:
            self.settings[name] = value
        else:
            self.settings.pop(name, None)

    def _add(self, message: Message) -> None:
        self.messages.append(message)
        self._measure(message)
        for label in labels(message):
            self._taint(label)

    def _taint(self, label: Label | None) -> None:
        if label is not None:
            self.label = self.label.join(label)

    def _measure(self, message: Message) -> None:
        digest = hashlib.sha256(self.digest.encode())
        for piece in pieces(message):
            digest.update(piece.encode("utf-8", "surrogatepass"))
            digest.update(b"\0")
            self.characters += len(piece)
        self.digest = digest.hexdigest()

    def _compact(self, event: Compacted) -> None:
        said = Text(text=f"{SUMMARY_HEAD}\n{event.summary}", label=event.label)
        self._keep_from(event.kept_from, [UserMessage(parts=(said,))])
        self._taint(event.label)
        self.summary, self.renewed = event.summary, self.seq
        self.compactions += 1

    def _keep_from(self, turn: str, summary: list[Message]) -> None:
        """What is said from that turn on, behind `summary`. A summary that is there already does not count as said."""
        first = 1 if self.summary else 0
        start = max(first, next((index for name, index in self.marks if name == turn), first))
        self._rebuild([*summary, *self.messages[start:]], shift=len(summary) - start)

    def _rebuild(self, messages: list[Message], *, shift: int) -> None:
        """Labels outlive the text they came with, and what the owner vouched for stays vouched for: the label is left alone."""
        self.marks = [(name, index + shift) for name, index in self.marks if index + shift >= 0]
        self.messages, self.digest, self.characters = messages, _EMPTY_DIGEST, 0
        self.pruned, self.plain, self.counted = {}, 0, (0, 0)
        for message in messages:
            self._measure(message)

    def _begin_anew(self) -> None:
        """A new beginning that overtakes an open turn must not tear it apart: what it has said so far stays, and its place.

        The calls it has open were thought of in sight of everything before, so their label stays too."""
        turn = self.turn
        if turn is None:
            self._restart(())
            return
        start = next((index for name, index in self.marks if name == turn.id), len(self.messages))
        self._restart(tuple(self.messages[start:]))
        self.title = title_of(turn.started.inputs)
        self.marks = [(turn.id, 0)]
        if turn.answer is not None:
            self._taint(turn.answer.label)

    def _restart(self, messages: tuple[Message, ...]) -> None:
        self.marks, self.label = [], SYSTEM_LABEL
        self.title, self.summary, self.renewed = "", "", self.seq
        self._rebuild(list(messages), shift=0)
        for message in messages:
            for label in labels(message):
                self._taint(label)
        self.prefix = None


def add_usage(one: Usage, other: Usage) -> Usage:
    cost = None if one.cost is None and other.cost is None else (one.cost or 0.0) + (other.cost or 0.0)
    return Usage(
        input=one.input + other.input,
        output=one.output + other.output,
        cache_read=one.cache_read + other.cache_read,
        cache_write=one.cache_write + other.cache_write,
        cost=cost,
    )


def trust_label(is_owner: bool, source: str) -> Label:
    return Label(trust=Trust.OWNER if is_owner else Trust.CONTACT, sources=(source,))


def outcome_of(result: ToolResulted) -> ToolOutcome:
    return ToolOutcome(
        call_id=result.call_id,
        name=result.name,
        text=result.text,
        is_error=result.is_error,
        label=result.label,
        images=result.images,
    )


def pieces(message: Message) -> Iterable[str]:
    """Everything in a message that the model reads, as text."""
    yield message.role
    match message:
        case ToolMessage(outcomes=outcomes):
            for outcome in outcomes:
                yield outcome.call_id
                yield outcome.text
        case UserMessage(parts=parts) | AssistantMessage(parts=parts):
            for part in parts:
                match part:
                    case ToolCall():
                        yield part.id
                        yield part.name
                        yield part.arguments
                    case Text(text=text):
                        yield text
                    case _:
                        yield getattr(part, "digest", "") or getattr(part, "text", "")


def labels(message: Message) -> Iterable[Label]:
    match message:
        case ToolMessage(outcomes=outcomes):
            for outcome in outcomes:
                yield outcome.label
                yield from (image.label for image in outcome.images)
        case UserMessage(parts=parts) | AssistantMessage(parts=parts):
            for part in parts:
                label = getattr(part, "label", None)
                if label is not None:
                    yield label


def fold(key: SessionKey, events: Iterable[Recorded], begun: Session | None = None) -> Session:
    """`begun` is the session as it was before these events; it is changed."""
    session = begun or Session(key)
    for recorded in events:
        session.apply(recorded)
    return session
