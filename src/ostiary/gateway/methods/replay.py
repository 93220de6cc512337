"""A past turn opened whole, and run again from one of its steps."""

from collections.abc import Sequence

from ostiary.contracts.content import Text, Trust, UserPart
from ostiary.contracts.engine import Submission
from ostiary.contracts.events import ModelAnswered, ModelRequested, Recorded, TurnInput, TurnStarted
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.messages import Address, Attachment, InboundMessage
from ostiary.contracts.store import SessionRecord
from ostiary.gateway.methods.branching import begin_branch, branch_key
from ostiary.gateway.methods.chat import CHANNEL
from ostiary.gateway.methods.keys import known
from ostiary.gateway.methods.services import Call, Services
from ostiary.gateway.methods.turns import turns_of
from ostiary.gateway.protocol.changes import DecisionRow, OfTurn, Rerun, RerunTurn, StepRecord, TurnRecord
from ostiary.gateway.protocol.errors import MethodError
from ostiary.gateway.protocol.events import SessionChanged
from ostiary.gateway.protocol.registry import Method
from ostiary.gateway.socket.inputs import inputs_of

_MOST_DECISIONS = 1000


async def explain_turn(call: Call[OfTurn]) -> TurnRecord:
    """A past turn: what the model was asked with, what was decided of each call and by which layer, what each step cost."""
    asked, services = call.params, call.services
    record = await known(services, asked.key)
    events = await _events(services, record.key, asked.turn)
    started = _started(events)
    return TurnRecord(
        turn=turns_of(events)[-1],
        steps=_steps(events),
        decisions=await _decisions(services, asked.turn),
        directives=dict(started.directives) if started is not None else {},
    )


async def rerun_turn(call: Call[RerunTurn]) -> Rerun:
    """Run a past turn again in a branch of its session, from one of its steps. The session itself stays as it is."""
    asked, services = call.params, call.services
    record = await known(services, asked.key)
    events = await _events(services, record.key, asked.turn)
    started = _started(events)
    if started is None:
        raise MethodError("NOT_FOUND", "How this turn began was erased, so it cannot be run again.")
    caller = call.caller.principal
    if not caller.is_owner and started.principal != caller:
        raise MethodError("FORBIDDEN", "Only the owner, or who began the turn, runs it again.")
    key = branch_key(record.key, call.caller.id, asked.idempotency_key)
    await begin_branch(services, record, key, before=_before(events, asked.step), by=str(caller.user))
    _tell(call, key, record)
    # On the authority the turn had, in words that are trusted as they were: running again widens nothing.
    submission = _again(started, key, id=f"rerun:{asked.turn}:{asked.step}", at=services.clock.now())
    accepted = await services.engine.submit(submission)
    if accepted.status == "dropped":
        raise MethodError("FORBIDDEN", "Its words may not be delivered again.", details={"key": str(key)})
    return Rerun(key=str(key), item=accepted.item)


async def _events(services: Services, key: SessionKey, turn: str) -> Sequence[Recorded]:
    events = await services.store.read(key, turn=turn)
    if not events:
        raise MethodError("NOT_FOUND", f"There is no turn {turn[:80]!r} in {str(key)[:120]}.")
    return events


def _started(events: Sequence[Recorded]) -> TurnStarted | None:
    return next((each.event for each in events if isinstance(each.event, TurnStarted)), None)


def _before(events: Sequence[Recorded], step: int) -> int:
    """The last event before the step: of the first one, the last before the turn. Raises MethodError NOT_FOUND."""
    if step == 1:
        return events[0].seq - 1
    for each in events:
        if isinstance(each.event, ModelRequested) and each.event.step == step:
            return each.seq - 1
    raise MethodError("NOT_FOUND", f"The turn has no step {step}.")


def _steps(events: Sequence[Recorded]) -> list[StepRecord]:
    steps: dict[int, StepRecord] = {}
    for each in events:
        event = each.event
        if isinstance(event, ModelRequested):
            steps[event.step] = StepRecord(
                step=event.step,
                model=event.model,
                thinking=event.thinking,
                prompt=event.prefix,
                schemas=event.schemas,
                messages=event.messages,
                characters=event.characters,
                seconds=0.0,
                cost=None,
            )
        elif isinstance(event, ModelAnswered) and event.step in steps:
            answered = steps[event.step]
            answered.model, answered.seconds, answered.cost = event.model, event.seconds, event.usage.cost
    return list(steps.values())


async def _decisions(services: Services, turn: str) -> list[DecisionRow]:
    if services.audit_log is None:
        return []
    entries = await services.audit_log.entries(kind="tool.decided", turn=turn, limit=_MOST_DECISIONS)
    return [
        DecisionRow(
            at=entry.at,
            tool=entry.subject,
            call_id=str(entry.detail.get("call", "")),
            outcome=entry.outcome,
            layer=str(entry.detail.get("layer", "")),
            reason=str(entry.detail.get("reason", "")),
            trust=str(entry.detail.get("trust", "")),
            private=bool(entry.detail.get("private", False)),
        )
        for entry in entries
    ]


def _again(started: TurnStarted, key: SessionKey, *, id: str, at: float) -> Submission:
    said = [_own(each) for each in started.inputs]
    outside = "" if any(parts for parts in said) else _source(started.inputs)
    inputs = started.inputs if outside else tuple(_with(each, parts) for each, parts in zip(started.inputs, said, strict=True))
    shown = inputs_of(inputs)
    files = tuple(
        Attachment(name=file.name, media_type=file.media_type, digest=file.digest, size=file.size)
        for each in shown
        for file in each.attachments
        if file.digest
    )
    text = "\n".join(each.text for each in shown if each.text)
    if not text.strip() and not files:
        raise MethodError("NOT_FOUND", "Nothing is left of what was said in this turn.")
    message = InboundMessage(
        id=id,
        address=Address(channel=CHANNEL, account="default", chat=str(key)),
        sender=started.principal.user,
        text=text,
        at=at,
        attachments=files,
    )
    return Submission(
        message=message,
        principal=started.principal,
        session=key,
        directives=dict(started.directives),
        instructions=started.instructions,
        untrusted_source=outside,
    )


def _own(given: TurnInput) -> tuple[UserPart, ...]:
    """What the sender said. What was fetched for it from outside is fetched again and not taken for their words."""
    return tuple(part for part in given.parts if part.label.trust is not Trust.UNTRUSTED)


def _with(given: TurnInput, parts: tuple[UserPart, ...]) -> TurnInput:
    return TurnInput(item=given.item, parts=parts, at=given.at, sender=given.sender, attachments=given.attachments)


def _source(inputs: Sequence[TurnInput]) -> str:
    """Where a turn came from that was begun by data from outside, such as a webhook."""
    texts = [part for each in inputs for part in each.parts if isinstance(part, Text)]
    return next((source for part in texts for source in part.label.sources), "") or ("outside" if texts else "")


def _tell(call: Call[RerunTurn], key: SessionKey, record: SessionRecord) -> None:
    now = call.services.clock.now()
    call.hub.session_changed(SessionChanged(key=str(key), change="updated", title=record.title, updated_at=now, running=False))


METHODS = (
    Method("turns.explain", OfTurn, TurnRecord, "read", explain_turn),
    Method("turns.rerun", RerunTurn, Rerun, "chat", rerun_turn, has_effect=True),
)
