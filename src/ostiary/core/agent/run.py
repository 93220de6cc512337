"""The loop: ask the model, run what it calls, until it has answered. Every step is in the journal before the next begins.

The loop keeps nothing that the journal does not: it looks at the folded turn and does the next thing, so a turn that was
cut by a crash goes on exactly where it was.
"""

from collections.abc import Callable, Mapping
from typing import Literal

import anyio

from ostiary.contracts.clock import Clock
from ostiary.contracts.content import Text, Trust
from ostiary.contracts.errors import BadInput, ContextOverflow, ModelError
from ostiary.contracts.events import ModelAnswered, Steered, TurnStatus, TurnSuspended
from ostiary.contracts.model import Answered, ModelCatalogue, ModelChoice, ModelClient, ModelFacts, Usage
from ostiary.contracts.store import InboxItem, MarkInbox, MarkTurn
from ostiary.core.agent.asking import Asked, Asking, fixed_of, trim
from ostiary.core.agent.blocks import NOTHING, Blocks
from ostiary.core.agent.compacting import ASKED, DIRECTIVE, Compact, Compacting, Summarised
from ostiary.core.agent.context import Prepared, Prompts, estimate, offered_tools
from ostiary.core.agent.ending import Ending
from ostiary.core.agent.flushing import Flush, Flushing, tool_of
from ostiary.core.agent.job import Batch, Job, Outgoing, RunRules, begin, is_one_call
from ostiary.core.agent.leaks import neutralised
from ostiary.core.agent.shaping import shape_reply
from ostiary.core.agent.tool_calls import Plan, ToolCalls
from ostiary.core.agent.tool_results import SKIPPED, failure
from ostiary.core.policy.secrets import Guard
from ostiary.core.routing.reply_tags import read_reply_tag
from ostiary.core.sessions.pen import Pen, Sessions
from ostiary.core.sessions.session import Session, Turn

__all__ = ["Batch", "Job", "Outgoing", "RunRules", "Runner", "Verdict", "is_one_call"]

Verdict = Literal["ended", "waiting"]
ONE_CALL_SECONDS = 30.0


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
        guard: Guard | None = None,
    ) -> None:
        self._sessions = sessions
        self._calls = calls
        self._clock = clock
        self._rules = rules
        self._outgoing = outgoing
        self._blocks = blocks = Blocks(sessions=sessions, outgoing=outgoing, clock=clock)
        self._asking = Asking(
            sessions=sessions,
            model=model,
            catalogue=catalogue,
            prompts=prompts,
            blocks=blocks,
            clock=clock,
            rules=rules,
            guard=guard,
        )
        self._compacting = Compacting(sessions=sessions, ask=self._asking.quietly, rules=rules, guard=guard)
        self._flushing = Flushing(
            sessions=sessions, ask=self._asking.quietly, calls=calls, clock=clock, rules=rules, keep=self._asking.kept_calls
        )
        self._ending = Ending(sessions=sessions, blocks=blocks, approvals=calls.approvals, redact=calls.redact)
        self.end_early = self._ending.end_early
        self.approvals = calls.approvals

    async def run(self, job: Job) -> Verdict:
        """Until the turn ended or waits. A cancellation from outside leaves it open, to go on after a restart."""
        verdict = await self._run(job)
        if verdict == "ended":
            await self._sessions.save(job.key)
        return verdict

    async def _run(self, job: Job) -> Verdict:
        began = self._clock.monotonic()
        directives, message = await self._origin(job)
        timeout = within(directives.get("timeout", ""), self._rules().timeout)
        typing = self._outgoing.typing(message) if message is not None else None
        with anyio.move_on_after(timeout - job.spent) as scope:
            job.scope = scope
            if job.stop_reason:
                scope.cancel()
            if typing is None:
                verdict = await self._steps(job)
            else:
                async with typing as job.signs:
                    verdict = await self._steps(job)
            job.spent += self._clock.monotonic() - began
            # Told to stop while its suspension was being written: nobody may find it waiting afterwards.
            if verdict == "ended" or not job.stop_reason:
                return verdict
        status: TurnStatus = "aborted" if job.stop_reason else "timeout"
        reason = job.stop_reason or f"the turn took longer than {timeout:g} s"
        with anyio.CancelScope(shield=True):
            await self.end_early(job, status, reason)
        return "ended"

    async def _origin(self, job: Job) -> tuple[Mapping[str, str], InboxItem | None]:
        """The turn's own settings, and the message it answers: None where the answer is fetched."""
        if job.batch is not None:
            first, last = job.batch.items[0], job.batch.items[-1]
            job.told = NOTHING
            if not self._outgoing.pushes(first.reply_to):
                return first.directives, None
            job.answers = last.message.id
            return first.directives, last
        turn = (await self._sessions.get(job.key)).turn
        if turn is None or turn.id != job.turn:
            return {}, None
        await self._blocks.recall(job, turn)
        number = next((item for item in reversed(turn.items) if item), 0)
        if not number or not self._outgoing.pushes(turn.started.reply_to):
            return turn.started.directives, None
        message = await self._sessions.store.inbox_item(number)
        job.answers = message.message.id if message is not None else ""
        return turn.started.directives, message

    async def _steps(self, job: Job) -> Verdict:
        while True:
            if job.plan is None:
                asked = await self._prepare(job)
                if asked is None:
                    return "ended"
                if not isinstance(asked, Plan):
                    if await self._take(job, asked):
                        return "ended"
                    continue
                job.plan = asked
            if await self._work(job):
                return "waiting"

    async def _take(self, job: Job, step: Asked | Compact | Flush) -> bool:
        """True if the turn ended with it."""
        match step:
            case Asked():
                return await self._ask(job, step)
            case Flush():
                await self._flushing.flush(job, step)
                return False
            case Compact(is_asked=True):
                await self._compacting.compact(job, step, lambda pen, turn, done: self._told(pen, job, turn, step, done))
                return True
            case Compact():
                return not await self._compacting.compact(job, step)

    def _told(self, pen: Pen, job: Job, turn: Turn, step: Compact, done: Summarised | None) -> None:
        """End a turn in which a person asked for a summary, in the same unit with it."""
        text = "There is nothing to summarise yet."
        if done is not None:
            before, after = estimate(done.before), estimate(done.after)
            text = f"Summarised: {done.turns} earlier turns, ~{before:,} → ~{after:,} tokens. The journal keeps every word."
        label = pen.session.label
        said = (Text(text=text, label=label),)
        model = str(step.choice.primary)
        pen.add(ModelAnswered(step=turn.step + 1, parts=said, stop="stop", usage=Usage(), model=model, label=label), turn=turn.id)
        self._ending.end(pen, job, turn, "completed", "")

    async def _prepare(self, job: Job) -> Asked | Plan | Compact | Flush | None:
        """Commit what comes before the next step: the turn's start, intents, or the model request. None: the turn is over."""
        async with self._sessions.pen(job.key) as pen:
            if job.batch is not None:
                begin(pen, job, job.batch)
            turn = pen.session.turn
            if turn is None or turn.id != job.turn:
                return None
            step: Asked | Plan | Compact | Flush | None
            try:
                choice, facts, prepared = await self._asking.select(pen.session, turn)
                if turn.open_calls:
                    step = await self._plan(pen, job, turn, prepared)
                else:
                    step = await self._make_room(job, pen.session, turn, choice, facts, prepared)
                    step = step or await self._asking.request(pen, job, turn, choice, facts, prepared)
            except (BadInput, ModelError) as error:
                kind = error.kind if isinstance(error, ModelError) else "misconfigured"
                self._ending.end(pen, job, turn, "failed", str(error), error_kind=kind, hint=error.hint)
                step = None
            if pen.unsaved:
                await pen.commit()
            job.batch = None
            return step

    async def _plan(self, pen: Pen, job: Job, turn: Turn, prepared: Prepared) -> Plan:
        memory = tool_of(prepared)
        if turn.unattended and memory is not None:
            return await self._flushing.plan(pen, turn, memory)
        return await self._calls.plan(pen, turn, offered_tools(prepared.tools, turn.started.client_tools))

    async def _make_room(
        self, job: Job, session: Session, turn: Turn, choice: ModelChoice, facts: ModelFacts, prepared: Prepared
    ) -> Compact | Flush | None:
        """What has to be done before the next request; None nearly always."""
        fixed = fixed_of(prepared)
        wish = turn.started.directives.get(DIRECTIVE, "") if turn.answer is None else ""
        if await self._flushing.is_due(job, session, prepared, facts, fixed):
            request = await self._asking.draft(session, turn, choice, facts, prepared)
            return self._flushing.step(session, prepared, request, session.label.join(prepared.label))
        if wish:
            return Compact(choice=choice, facts=facts, is_asked=True, instructions=_words(turn) if wish == ASKED else "")
        due = self._compacting.due(job, session, facts, fixed)
        if job.must_compact or due:
            is_refused, job.must_compact = job.must_compact, False
            return Compact(choice=choice, facts=facts, is_refused=is_refused, is_plain=due == "many" and not is_refused)
        return None

    async def _ask(self, job: Job, asked: Asked) -> bool:
        """One model call and its recording. True if the turn ended."""
        began = self._clock.monotonic()
        try:
            answered = await self._asking.stream(job, asked)
        except ContextOverflow as error:
            return await self._overflow(job, asked, error)
        except ModelError as error:
            await self._ending.fail(job, error)
            return True
        return await self._record(job, asked, answered, self._clock.monotonic() - began)

    async def _record(self, job: Job, asked: Asked, answered: Answered, seconds: float) -> bool:
        async with self._sessions.pen(job.key) as pen:
            turn = pen.session.turn
            if turn is None or turn.id != job.turn:
                return True
            parts = self._asking.kept_parts(answered, asked, turn.id)
            parts = neutralised(parts, asked.label, pen.session.messages)
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
            job.answer = None
            pen.session.counted = (_read(answered.usage), asked.characters)
            if turn.open_calls:
                if job.told is not None and job.told.blocks:
                    # Its beginning is out: what is left of the step must not be missing behind it.
                    self._blocks.close(pen, job, turn, read_reply_tag(shape_reply(turn.texts[-1]), job.answers).text)
                job.plan = await self._calls.plan(pen, turn, asked.offered)
                await pen.commit()
                return False
            text = turn.texts[-1]
            if not text.strip() and turn.step == 1:
                self._ending.end(
                    pen, job, turn, "failed", "the model gave an empty answer", error_kind="empty", hint="Try again."
                )
            else:
                self._ending.end(pen, job, turn, "completed", "cut at the length limit" if answered.stop == "length" else "")
            await pen.commit()
            return True

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
        if await self._steer(job) or plan.later:
            return False
        if plan.asked:
            return await self._wait_for_person(job, plan)
        return bool(plan.client) and await self._wait_for_client(job, plan)

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
            if self._calls.approvals is not None:
                self._calls.approvals.lapse(pen, turn, "withdrawn", note="a new message came instead")
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

    async def _wait_for_person(self, job: Job, plan: Plan) -> bool:
        """False if one of the questions was answered meanwhile: then there is something to do."""
        async with self._sessions.pen(job.key) as pen:
            turn = pen.session.turn
            if turn is None or turn.id != job.turn or any(asked.call_id in turn.answers for asked in plan.asked):
                return False
            deadline = min(asked.deadline for asked in plan.asked)
            waiting = tuple(asked.call_id for asked in plan.asked)
            pen.add(TurnSuspended(waiting_for="approval", call_ids=waiting, deadline=deadline), turn=turn.id)
            pen.also(MarkTurn(turn=turn.id, session=job.key, lane=job.lane, state="waiting", deadline=deadline))
            await pen.commit()
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

    async def _overflow(self, job: Job, asked: Asked, error: ContextOverflow) -> bool:
        """Summarise, then shorten what tools gave, then forget older turns, then give up. True if the turn ended."""
        session = await self._sessions.get(job.key)
        if self._compacting.can(job, session, asked.facts):
            job.must_compact = True
            return False
        if not job.must_shorten and any(message.role == "tool" for message in session.messages):
            job.must_shorten = True
            return False
        async with self._sessions.pen(job.key) as pen:
            turn = pen.session.turn
            if turn is None:
                return True
            job.trims += 1
            if job.trims <= self._rules().trims and trim(pen, job, "The conversation is too long for the model"):
                await pen.commit()
                return False
        await self._ending.fail(job, error)
        return True


def _words(turn: Turn) -> str:
    """What the person said, without what was fetched for it from outside."""
    parts = (part for each in turn.started.inputs for part in each.parts)
    return " ".join(part.text for part in parts if isinstance(part, Text) and part.label.trust is not Trust.UNTRUSTED)


def _read(usage: Usage) -> int:
    return usage.input + usage.cache_read + usage.cache_write


def within(seconds: str, limit: float) -> float:
    """A turn may ask for less time than the rules give it, never for more; what is no number of seconds asks for nothing."""
    try:
        asked = float(seconds or "nan")
    except ValueError:
        return limit
    return min(asked, limit) if asked > 0 else limit
