"""The journal as turns: what was asked, every step, what was answered. A pure fold."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ostiary.contracts.content import AssistantMessage, Message, Text, Thinking, ToolCall, ToolMessage, UserMessage
from ostiary.contracts.events import (
    ApprovalAnswered,
    ApprovalAsked,
    Branched,
    Imported,
    ModelAnswered,
    ModelRequested,
    ModelSpent,
    Noted,
    Recorded,
    Reset,
    Steered,
    ToolIntended,
    ToolResulted,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    TurnSuspended,
)
from ostiary.contracts.model import Usage
from ostiary.core.sessions.session import add_usage
from ostiary.gateway.protocol import sessions
from ostiary.gateway.protocol.chat import Asked, CallState, Input, Step, ToolUse, Turn, TurnState
from ostiary.gateway.socket.inputs import input_of_message, inputs_of
from ostiary.gateway.socket.narration import usage_of, words_of

NOTE = "note-"
PAST = "past-"


@dataclass(slots=True)
class _Open:
    """A turn being put together."""

    id: str
    at: float
    sender: str = ""
    status: TurnState = "running"
    inputs: list[Input] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    reply: str = ""
    reason: str = ""
    error_kind: str = ""
    usage: Usage = field(default_factory=Usage)

    def absorb(self, event: object, at: float) -> None:
        match event:
            case TurnStarted(inputs=inputs, principal=principal):
                self.inputs, self.sender = inputs_of(inputs), str(principal.user)
            case Steered(inputs=inputs):
                self.inputs += inputs_of(inputs)
            case ModelRequested(step=step, model=model):
                self._step(step, model)
            case ModelAnswered():
                self._answered(event)
            case ModelSpent(usage=usage):
                self.usage = add_usage(self.usage, usage)
            case ToolIntended(call_id=call_id, name=name, arguments=arguments):
                call = self._call(call_id, name, arguments)
                call.state, call.layer, call.reason = "running", event.layer, event.reason or None
            case ApprovalAsked():
                self._asked(event, at)
            case ApprovalAnswered():
                self._settled(event)
            case ToolResulted():
                self._resulted(event)
            case TurnSuspended():
                self.status = "waiting"
            case TurnResumed():
                self.status = "running"
            case TurnEnded(status=status, reply=reply, reason=reason, error_kind=error_kind, partial=partial):
                self.status, self.reply, self.reason, self.error_kind = status, reply, reason, error_kind
                self._end(partial)
            case _:
                pass

    def done(self) -> Turn:
        return Turn(
            id=self.id,
            at=self.at,
            status=self.status,
            sender=self.sender,
            inputs=self.inputs,
            steps=self.steps,
            reply=self.reply,
            reason=self.reason,
            error_kind=self.error_kind,
            usage=usage_of(self.usage),
        )

    def _step(self, number: int, model: str) -> Step:
        if self.steps and self.steps[-1].step == number:
            return self.steps[-1]
        step = Step(step=number, model=model, text="", thinking="", calls=[])
        self.steps.append(step)
        return step

    def _answered(self, event: ModelAnswered) -> None:
        step = self._step(event.step, event.model)
        step.text, step.thinking = words_of(event)
        step.model, step.usage, step.seconds = event.model, usage_of(event.usage), event.seconds
        step.calls = [
            ToolUse(id=part.id, name=part.name, arguments=part.arguments, state="running")
            for part in event.parts
            if isinstance(part, ToolCall)
        ]
        self.usage = add_usage(self.usage, event.usage)

    def _call(self, call_id: str, name: str, arguments: str = "") -> ToolUse:
        for step in reversed(self.steps):
            for call in step.calls:
                if call.id == call_id:
                    return call
        call = ToolUse(id=call_id, name=name, arguments=arguments, state="running")
        (self.steps[-1] if self.steps else self._step(1, "")).calls.append(call)
        return call

    def _resulted(self, event: ToolResulted) -> None:
        call = self._call(event.call_id, event.name)
        call.state, call.result, call.is_error, call.seconds = event.fate, event.text, event.is_error, event.seconds
        call.details = dict(event.details) or None

    def _asked(self, event: ApprovalAsked, at: float) -> None:
        call = self._call(event.call_id, event.name)
        question = Asked(id=event.approval, layers=list(event.layers), reason=event.reason, at=at, deadline=event.deadline)
        call.asked = [*(call.asked or ()), question]

    def _settled(self, event: ApprovalAnswered) -> None:
        asked = self._call(event.call_id, "").asked or ()
        for question in asked:
            if question.id == event.approval:
                question.answer, question.by, question.grant, question.note = event.answer, event.by, event.grant, event.note

    def _end(self, partial: str) -> None:
        """Nothing runs any more; what was shown of an answer that was cut short is kept with its step."""
        for step in self.steps:
            for call in step.calls:
                if call.state == "running":
                    call.state = "unanswered"
        if partial and self.steps and not self.steps[-1].text:
            self.steps[-1].text = partial


def turns_of(events: Iterable[Recorded]) -> list[Turn]:
    """Turns in order, since the last reset among `events`. Events of a turn whose start is missing still make a turn."""
    found: dict[str, _Open] = {}
    for recorded in events:
        event = recorded.event
        match event:
            case Reset():
                # A reset that overtakes an open turn leaves it standing.
                found = {name: turn for name, turn in found.items() if turn.status in ("running", "waiting")}
            case Noted(text=text, by=by):
                name = f"{NOTE}{recorded.seq}"
                found[name] = _Open(id=name, at=recorded.at, sender=by, status="completed", reply=text)
            case Branched(messages=messages) | Imported(messages=messages):
                found = {turn.id: turn for turn in past_turns(messages, recorded.seq, recorded.at)}
            case _ if recorded.turn:
                turn = found.get(recorded.turn)
                if turn is None:
                    turn = found[recorded.turn] = _Open(id=recorded.turn, at=recorded.at)
                turn.absorb(event, recorded.at)
            case _:
                pass
    return [turn.done() for turn in found.values()]


def past_turns(messages: Iterable[Message], seq: int, at: float) -> list[_Open]:
    """History that was brought along, as turns named `past-<seq>-<number>`; each begins with what a person said."""
    turns: list[_Open] = []
    for message in messages:
        is_person = isinstance(message, UserMessage)
        if is_person or not turns:
            turns.append(_Open(id=f"{PAST}{seq}-{len(turns) + 1}", at=at, status="completed"))
        turn = turns[-1]
        match message:
            case UserMessage():
                turn.inputs = [input_of_message(message)]
            case AssistantMessage():
                turn.steps.append(_past_step(message, len(turn.steps) + 1))
                turn.reply = turn.steps[-1].text or turn.reply
            case ToolMessage(outcomes=outcomes):
                for outcome in outcomes:
                    call = turn._call(outcome.call_id, outcome.name)
                    call.state, call.result, call.is_error = "done", outcome.text, outcome.is_error
    return turns


def _past_step(message: AssistantMessage, number: int) -> Step:
    state: CallState = "unanswered"
    return Step(
        step=number,
        model=message.model,
        text="".join(part.text for part in message.parts if isinstance(part, Text)),
        thinking="".join(part.text for part in message.parts if isinstance(part, Thinking)),
        calls=[
            ToolUse(id=part.id, name=part.name, arguments=part.arguments, state=state)
            for part in message.parts
            if isinstance(part, ToolCall)
        ],
        usage=sessions.Usage(),
    )
