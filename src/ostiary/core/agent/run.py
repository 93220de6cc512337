"""The loop: ask the model, run what it calls, until it has answered. Every step is in the journal before the next begins.

The loop keeps nothing that the journal does not: it looks at the folded turn and does the next thing, so a turn that was
cut by a crash goes on exactly where it was.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Literal, Protocol

import anyio

from ostiary.contracts.clock import Clock
from ostiary.contracts.content import AnswerPart, Label, Text, ToolCall
from ostiary.contracts.errors import BadInput, ContextOverflow, ModelError, ModelUnavailable
from ostiary.contracts.events import (
    Delta,
    ModelAnswered,
    ModelRequested,
    PrefixPinned,
    Reset,
    Steered,
    ToolFate,
    Trimmed,
    TurnEnded,
    TurnInput,
    TurnStarted,
    TurnStatus,
    TurnSuspended,
)
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.model import (
    Answered,
    CallDelta,
    ModelCatalogue,
    ModelChoice,
    ModelClient,
    ModelFacts,
    ModelRequest,
    Restarted,
    TextDelta,
    ThinkingDelta,
)
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Enqueue, InboxItem, MarkInbox, MarkTurn, OutboxItem, PutBlob, SaveSession, SessionRecord
from ostiary.contracts.tool import ToolSpec
from ostiary.core.agent.context import Prepared, Prompts, blobs_of, build_request, kept_from, offered_tools, too_long
from ostiary.core.agent.recovery import recover_calls
from ostiary.core.agent.reply import closing_reply, usage_footer
from ostiary.core.agent.shaping import StreamFilter
from ostiary.core.agent.tool_calls import INTERRUPTED, SKIPPED, STOPPED, Plan, ToolCalls, failure, storable
from ostiary.core.sessions.pen import Pen, Sessions
from ostiary.core.sessions.session import Session, Turn

log = logging.getLogger("ostiary.agent")

Verdict = Literal["ended", "waiting"]
ONE_CALL_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRules:
    """`steps` bounds the model calls of one turn; `client_seconds` is how long a client may take to answer its calls.

    Beyond `history_messages`, or `history_turns` of a channel, older turns are no longer sent (0: no such limit)."""

    timeout: float = 600.0
    steps: int = 64
    trims: int = 3
    client_seconds: float = 600.0
    thinking: str = "off"
    history_messages: int = 0
    history_turns: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What begins a turn: accepted messages of one principal and place, and what was dropped before them."""

    items: tuple[InboxItem, ...]
    inputs: tuple[TurnInput, ...]
    dropped: tuple[InboxItem, ...] = ()
    summary_of_dropped: str = ""
    reset_reason: str = ""


@dataclass(slots=True)
class Job:
    """One turn being run. `batch` is None once the turn's start is recorded."""

    key: SessionKey
    turn: str
    lane: str
    batch: Batch | None
    steer: Callable[[], list[tuple[InboxItem, TurnInput]]]
    unsteer: Callable[[Sequence[InboxItem]], None] = lambda items: None
    generation: int = 0
    scope: anyio.CancelScope | None = None
    stop_reason: str = ""
    shown: str = ""
    notices: list[str] = field(default_factory=list)
    plan: Plan | None = None
    trims: int = 0
    spent: float = 0.0

    def stop(self, reason: str) -> None:
        self.stop_reason = reason
        if self.scope is not None:
            self.scope.cancel()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    request: ModelRequest
    offered: Mapping[str, ToolSpec]
    step: int
    label: Label


class Outgoing(Protocol):
    """Where replies leave the house."""

    def rows_for(self, session: Session, turn: Turn, reply: str) -> list[OutboxItem]: ...

    def send(self, rows: list[OutboxItem]) -> None: ...


class Runner:
    """Runs turns; the only caller of the model."""

    def __init__(
        self,
        *,
        sessions: Sessions,
        model: ModelClient,
        catalogue: ModelCatalogue,
        prompts: Prompts,
        calls: ToolCalls,
        clock: Clock,
        outgoing: Outgoing,
        rules: Callable[[], RunRules],
    ) -> None:
        self._sessions = sessions
        self._model = model
        self._catalogue = catalogue
        self._prompts = prompts
        self._calls = calls
        self._clock = clock
        self._outgoing = outgoing
        self._rules = rules

    async def run(self, job: Job) -> Verdict:
        """Until the turn ended or waits. A cancellation from outside leaves it open, to go on after a restart."""
        began = self._clock.monotonic()
        with anyio.move_on_after(self._rules().timeout - job.spent) as scope:
            job.scope = scope
            if job.stop_reason:
                scope.cancel()
            verdict = await self._steps(job)
            job.spent += self._clock.monotonic() - began
            # Told to stop while its suspension was being written: nobody may find it waiting afterwards.
            if verdict == "ended" or not job.stop_reason:
                return verdict
        status: TurnStatus = "aborted" if job.stop_reason else "timeout"
        reason = job.stop_reason or f"the turn took longer than {self._rules().timeout:g} s"
        with anyio.CancelScope(shield=True):
            await self.end_early(job, status, reason)
        return "ended"

    async def _steps(self, job: Job) -> Verdict:
        while True:
            if job.plan is None:
                asked = await self._prepare(job)
                if asked is None:
                    return "ended"
                if isinstance(asked, Asked):
                    if await self._ask(job, asked):
                        return "ended"
                    continue
                job.plan = asked
            if await self._work(job):
                return "waiting"

    async def _prepare(self, job: Job) -> Asked | Plan | None:
        """Commit what comes before the next step: the turn's start, intents, or the model request. None: the turn is over."""
        async with self._sessions.pen(job.key) as pen:
            if job.batch is not None:
                self._begin(pen, job, job.batch)
            turn = pen.session.turn
            if turn is None or turn.id != job.turn:
                return None
            step: Asked | Plan | None
            try:
                choice, facts, prepared = await self._select(pen.session, turn)
                if turn.open_calls:
                    step = await self._calls.plan(pen, turn, offered_tools(prepared.tools, turn.started.client_tools))
                else:
                    step = await self._request(pen, job, turn, choice, facts, prepared)
            except (BadInput, ModelError) as error:
                kind = error.kind if isinstance(error, ModelError) else "misconfigured"
                self._end(pen, job, turn, "failed", str(error), error_kind=kind, hint=error.hint)
                step = None
            if pen.unsaved:
                await pen.commit()
            job.batch = None
            return step

    async def _select(self, session: Session, turn: Turn) -> tuple[ModelChoice, ModelFacts, Prepared]:
        """Which model, and what it is told and offered. Raises BadInput for a model that may not be used."""
        directives = turn.started.directives
        images = any(part.kind == "image" for each in turn.started.inputs for part in each.parts)
        override = directives.get("model") or session.settings.get("model", "")
        choice = self._catalogue.choose(session.key.agent, override, with_images=images)
        profile = directives.get("profile", "") if "model" in directives else session.settings.get("profile", "")
        if profile:
            choice = replace(choice, profile=profile)
        facts = self._catalogue.facts(choice.primary)
        return choice, facts, await self._prompts.prepare(session=session, turn=turn, facts=facts)

    async def _request(self, pen: Pen, job: Job, turn: Turn, choice: ModelChoice, facts: ModelFacts, prepared: Prepared) -> Asked:
        session, rules = pen.session, self._rules()
        if turn.step >= rules.steps:
            raise ModelUnavailable(f"the turn needed more than {rules.steps} steps", hint="Ask for less at once.")
        self._pin(pen, prepared)
        fixed = len(prepared.prefix) + len(prepared.schemas)
        reason = too_long(
            session, facts, fixed, rules.history_messages, rules.history_turns.get(turn.started.reply_to.channel, 0)
        )
        if reason:
            self._trim(pen, job, reason)
        blobs = await blobs_of(session.messages, self._sessions.store, sees_images=facts.sees_images)
        request = build_request(session, turn, prepared, choice, blobs, default_thinking=rules.thinking, facts=facts)
        # A request that was recorded but never answered is the same step, asked again.
        step = turn.step if turn.requested else turn.step + 1
        pen.add(
            ModelRequested(
                step=step,
                model=str(choice.primary),
                thinking=request.thinking,
                prefix=prepared.digest,
                schemas=prepared.schemas_digest,
                history=session.digest,
                messages=len(request.messages),
                characters=session.characters,
            ),
            turn=turn.id,
        )
        offered = offered_tools(prepared.tools, turn.started.client_tools)
        return Asked(request=request, offered=offered, step=step, label=session.label.join(prepared.label))

    def _begin(self, pen: Pen, job: Job, batch: Batch) -> None:
        first = batch.items[0]
        if batch.reset_reason:
            pen.add(Reset(reason=batch.reset_reason))
        pen.add(
            TurnStarted(
                inputs=batch.inputs,
                principal=first.principal,
                reply_to=first.reply_to,
                lane=job.lane,
                generation=job.generation,
                instructions=first.instructions,
                context=first.context,
                client_tools=first.client_tools,
                directives=first.directives,
                summary_of_dropped=batch.summary_of_dropped,
            ),
            turn=job.turn,
        )
        pen.also(
            MarkInbox(ids=tuple(item.id for item in batch.items), state="claimed", turn=job.turn),
            MarkTurn(turn=job.turn, session=job.key, lane=job.lane, state="running"),
        )
        if batch.dropped:
            pen.also(MarkInbox(ids=tuple(item.id for item in batch.dropped), state="done", turn=job.turn))

    def _pin(self, pen: Pen, prepared: Prepared) -> None:
        session = pen.session
        pinned = session.prefix
        if pinned is not None and pinned.digest == prepared.digest and pinned.schemas == prepared.schemas_digest:
            return
        reason = "first turn" if pinned is None else "tools, model or the owner's files changed"
        pen.also(
            PutBlob(digest=prepared.digest, content=prepared.prefix.encode()),
            PutBlob(digest=prepared.schemas_digest, content=prepared.schemas),
        )
        pen.add(PrefixPinned(digest=prepared.digest, schemas=prepared.schemas_digest, reason=reason, report=prepared.report))

    def _trim(self, pen: Pen, job: Job, reason: str) -> bool:
        """Forget the older half of the turns before this one. False if there is nothing left to forget."""
        session = pen.session
        keep = kept_from(session, job.turn)
        if keep is None:
            return False
        turns = next(place for place, (name, _) in enumerate(session.marks) if name == keep)
        notice = f"({reason}: the oldest {turns} turns are no longer in view.)"
        pen.add(Trimmed(kept_from=keep, turns=turns, notice=notice))
        if reason != "history limit":
            job.notices.append(notice)
        return True

    async def _ask(self, job: Job, asked: Asked) -> bool:
        """One model call and its recording. True if the turn ended."""
        began = self._clock.monotonic()
        try:
            answered = await self._stream(job, asked)
        except ContextOverflow as error:
            return await self._overflow(job, error)
        except ModelError as error:
            await self._fail(job, error)
            return True
        return await self._record(job, asked, answered, self._clock.monotonic() - began)

    async def _stream(self, job: Job, asked: Asked) -> Answered:
        attempt, job.shown = 1, ""
        name = str(job.key)
        visible = StreamFilter()
        answered: Answered | None = None
        async with self._model.stream(asked.request) as events:
            async for event in events:
                if answered is not None:
                    # The answer is the last word; the stream is only followed to its end so that it closes in order.
                    continue
                match event:
                    case TextDelta(text=text):
                        text = visible.feed(text)
                        if text:
                            self._show(name, job, asked.step, attempt, len(job.shown), text, "assistant")
                            job.shown += text
                    case ThinkingDelta(text=text):
                        self._show(name, job, asked.step, attempt, 0, text, "thinking")
                    case CallDelta(name=tool):
                        self._show(name, job, asked.step, attempt, 0, tool, "call")
                    case Restarted():
                        attempt, job.shown, visible = attempt + 1, "", StreamFilter()
                        self._show(name, job, asked.step, attempt, 0, "", "assistant")
                    case Answered():
                        rest = visible.finish()
                        if rest:
                            self._show(name, job, asked.step, attempt, len(job.shown), rest, "assistant")
                            job.shown += rest
                        answered = event
        if answered is None:
            raise ModelUnavailable("the answer was cut off", hint="Try again; the conversation is unchanged.")
        return answered

    def _show(
        self,
        session: str,
        job: Job,
        step: int,
        attempt: int,
        offset: int,
        text: str,
        stream: Literal["assistant", "thinking", "call"],
    ) -> None:
        self._sessions.feed.show(
            Delta(session=session, turn=job.turn, step=step, attempt=attempt, offset=offset, text=text, stream=stream)
        )

    async def _record(self, job: Job, asked: Asked, answered: Answered, seconds: float) -> bool:
        async with self._sessions.pen(job.key) as pen:
            turn = pen.session.turn
            if turn is None or turn.id != job.turn:
                return True
            parts = self._parts(answered, asked, turn.id)
            pen.add(
                ModelAnswered(
                    step=asked.step,
                    parts=parts,
                    stop=answered.stop,
                    usage=answered.usage,
                    model=answered.model,
                    profile=answered.profile,
                    seconds=seconds,
                    label=asked.label,
                ),
                turn=turn.id,
            )
            job.shown = ""
            if turn.open_calls:
                job.plan = await self._calls.plan(pen, turn, asked.offered)
                await pen.commit()
                return False
            text = turn.texts[-1]
            if not text.strip() and turn.step == 1:
                self._end(pen, job, turn, "failed", "the model gave an empty answer", error_kind="empty", hint="Try again.")
            else:
                self._end(pen, job, turn, "completed", "cut at the length limit" if answered.stop == "length" else "")
            await pen.commit()
            return True

    def _parts(self, answered: Answered, asked: Asked, turn: str) -> tuple[AnswerPart, ...]:
        """The answer as it is kept: labelled by what the model had read, calls recovered from text, ids unique."""
        parts = answered.parts
        if asked.offered and not any(isinstance(part, ToolCall) for part in parts):
            parts = recover_calls(parts, frozenset(asked.offered))
        kept: list[AnswerPart] = []
        seen: set[str] = set()
        for place, part in enumerate(parts):
            match part:
                case Text():
                    kept.append(replace(part, text=storable(part.text), label=asked.label))
                case ToolCall(id=call_id):
                    if not call_id or call_id in seen:
                        call_id = f"call_{turn[-8:]}_{asked.step}_{place}"
                    seen.add(call_id)
                    kept.append(replace(part, id=storable(call_id), name=storable(part.name), arguments=storable(part.arguments)))
                case _:
                    kept.append(part)
        return tuple(kept)

    async def _work(self, job: Job) -> bool:
        """Run one wave, then look for steering. True if the turn now waits for its client."""
        plan, job.plan = job.plan, None
        assert plan is not None
        session = await self._sessions.get(job.key)
        turn = session.turn
        if turn is None:
            return False
        if plan.wave:
            await self._calls.run(job.key, turn, plan.wave)
        if await self._steer(job) or plan.later or not plan.client:
            return False
        return await self._wait_for_client(job, plan)

    async def _steer(self, job: Job) -> bool:
        """Commit the claim, the message and the results of skipped calls together."""
        async with self._sessions.pen(job.key) as pen:
            turn = pen.session.turn
            if turn is None or turn.id != job.turn:
                return False
            # Taken with the pen in hand: who stops the turn meanwhile still finds them in the queue.
            arrived = job.steer()
            if not arrived:
                return False
            for call in turn.open_calls:
                pen.add(failure(call, SKIPPED, "skipped"), turn=turn.id)
            pen.add(Steered(inputs=tuple(each for _, each in arrived)), turn=turn.id)
            claimed = tuple(item.id for item, _ in arrived if item.mode == "steer")
            if claimed:
                pen.also(MarkInbox(ids=claimed, state="claimed", turn=turn.id))
            try:
                await pen.commit()
            except BaseException:
                job.unsteer([item for item, _ in arrived])
                raise
        return True

    async def _wait_for_client(self, job: Job, plan: Plan) -> bool:
        async with self._sessions.pen(job.key) as pen:
            turn = pen.session.turn
            if turn is None or turn.id != job.turn:
                return False
            seconds = ONE_CALL_SECONDS if is_one_call(job.key) else self._rules().client_seconds
            deadline = self._clock.now() + seconds
            waiting = tuple(call.id for call in plan.client)
            pen.add(TurnSuspended(waiting_for="client_tool", call_ids=waiting, deadline=deadline), turn=turn.id)
            pen.also(MarkTurn(turn=turn.id, session=job.key, lane=job.lane, state="waiting", deadline=deadline))
            await pen.commit()
        return True

    async def _overflow(self, job: Job, error: ContextOverflow) -> bool:
        async with self._sessions.pen(job.key) as pen:
            turn = pen.session.turn
            if turn is None:
                return True
            job.trims += 1
            if job.trims <= self._rules().trims and self._trim(pen, job, "The conversation is too long for the model"):
                await pen.commit()
                return False
        await self._fail(job, error)
        return True

    async def _fail(self, job: Job, error: ModelError) -> None:
        async with self._sessions.pen(job.key) as pen:
            turn = pen.session.turn
            if turn is not None and turn.id == job.turn:
                self._end(pen, job, turn, "failed", str(error), error_kind=error.kind, hint=error.hint)
                await pen.commit()

    async def end_early(self, job: Job, status: TurnStatus, reason: str, *, fate: ToolFate = "interrupted") -> None:
        """End durably what was cut short: the part shown is kept, open calls are answered with what became of them."""
        async with self._sessions.pen(job.key) as pen:
            if job.batch is not None:
                self._begin(pen, job, job.batch)
            turn = pen.session.turn
            if turn is None or turn.id != job.turn:
                return
            for call in turn.open_calls:
                if call.id in turn.intents:
                    pen.add(failure(call, STOPPED if status == "aborted" else INTERRUPTED, "interrupted"), turn=turn.id)
                else:
                    pen.add(failure(call, f"Not run: {reason}.", "skipped" if fate == "interrupted" else fate), turn=turn.id)
            self._end(pen, job, turn, status, reason)
            await pen.commit()
            job.batch = None

    def _end(
        self, pen: Pen, job: Job, turn: Turn, status: TurnStatus, reason: str, *, error_kind: str = "", hint: str = ""
    ) -> None:
        session = pen.session
        reply = closing_reply(turn, status, reason, hint=hint, notices=tuple(job.notices), partial=job.shown)
        if reply and status == "completed":
            reply += usage_footer(session.settings.get("usage", ""), turn.usage)
        ended = TurnEnded(
            status=status, reason=reason, error_kind=error_kind, partial="" if status == "completed" else job.shown, reply=reply
        )
        pen.add(ended, turn=turn.id)
        if status != "completed":
            log.info("%s of %s %s %s", turn.id, job.key, status, error_kind)
        rows = self._outgoing.rows_for(session, turn, reply)
        if rows:
            pen.then(lambda: self._outgoing.send(rows))
        pen.also(
            MarkTurn(turn=turn.id, session=job.key, lane=job.lane, state="ended"),
            *(Enqueue(item=row) for row in rows),
            SaveSession(record=record_of(session, turn)),
        )
        done = tuple(item for item in turn.items if item)
        if done:
            pen.also(MarkInbox(ids=done, state="done"))


def record_of(session: Session, turn: Turn) -> SessionRecord:
    first = next((part.text for each in turn.started.inputs for part in each.parts if isinstance(part, Text)), "")
    return SessionRecord(
        key=session.key,
        created_at=session.created_at,
        updated_at=session.updated_at,
        title=" ".join(first.split())[:80],
        origin=turn.started.reply_to,
        last_seq=session.seq,
        ephemeral=is_one_call(session.key),
    )


def is_one_call(key: SessionKey) -> bool:
    """A stateless request's conversation: its caller brings the whole history next time and never returns to this one."""
    return key.scope.startswith("call:")
