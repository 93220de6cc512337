"""Before older turns are summarised the model is asked, once and unseen, to write down what must be remembered.

What it calls is judged and recorded like any other call of the turn; only memory_write counts, and nobody is asked for a yes.
"""

import logging
from collections.abc import Callable
from copy import copy
from dataclasses import replace

from ostiary.contracts.clock import Clock
from ostiary.contracts.content import AnswerPart, Label, Text, Thinking, ToolCall, UserMessage
from ostiary.contracts.errors import ModelError
from ostiary.contracts.events import ModelAnswered, ModelRequested, ModelSpent
from ostiary.contracts.model import Answered, ModelFacts, ModelRequest
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import SetValue
from ostiary.contracts.tool import ToolSpec
from ostiary.core.agent.compacting import Ask
from ostiary.core.agent.context import Prepared
from ostiary.core.agent.job import Job, RunRules, is_one_call
from ostiary.core.agent.room import limit_of, soft_limit, tokens_of
from ostiary.core.agent.tool_calls import Plan, ToolCalls
from ostiary.core.sessions.pen import Pen, Sessions
from ostiary.core.sessions.session import SYSTEM_LABEL, Session, Turn

log = logging.getLogger("ostiary.agent")

TOOLS = ("memory_write", "vault_memory_write")
SPACE = "flush"
KEPT_SECONDS = 365 * 86_400.0
Keep = Callable[[Answered, Label, int, ToolSpec, str], tuple[AnswerPart, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flush:
    """A step: let the model write down what must be remembered. `label` is that of what it reads."""

    request: ModelRequest
    tool: ToolSpec
    prefix: str
    schemas: str
    history: str
    characters: int
    label: Label


class Flushing:
    """`keep` gives the parts of an answer as they are stored."""

    def __init__(
        self, *, sessions: Sessions, ask: Ask, calls: ToolCalls, clock: Clock, rules: Callable[[], RunRules], keep: Keep
    ) -> None:
        self._sessions = sessions
        self._ask = ask
        self._calls = calls
        self._clock = clock
        self._rules = rules
        self._keep = keep

    async def is_due(self, job: Job, session: Session, prepared: Prepared, facts: ModelFacts, fixed: int) -> bool:
        """Once between two summaries, near the limit, if the tool is there. Costs nothing far from it."""
        rules = self._rules()
        flush = rules.compaction.flush
        if job.has_flushed or not (rules.compaction.is_on and flush.enabled and flush.prompt) or is_one_call(job.key):
            return False
        if tokens_of(session, fixed) <= soft_limit(rules.compaction, limit_of(rules.compaction, facts)):
            return False
        if not session.marks or session.marks[0][0] == job.turn or tool_of(prepared) is None:
            return False
        return not await self._was_done(session)

    async def _was_done(self, session: Session) -> bool:
        if session.flushed is None:
            stored = await self._sessions.store.value(SPACE, session.name)
            seq, _, of = (stored or b"").decode().partition(" ")
            # A conversation that was deleted and begun again under the same name has another beginning.
            session.flushed = int(seq) if of == str(session.created_at) and seq.isdigit() else 0
        return session.flushed > session.renewed

    def step(self, session: Session, prepared: Prepared, request: ModelRequest, label: Label) -> Flush:
        """`request` is what would be sent next: everything before the question asked here is then in the provider's cache."""
        flush, tool = self._rules().compaction.flush, tool_of(prepared)
        assert tool is not None
        asked = UserMessage(parts=(Text(text=flush.prompt, label=SYSTEM_LABEL),))
        system = (*request.system, flush.system) if flush.system else request.system
        return Flush(
            request=replace(request, messages=(*request.messages, asked), system=system),
            tool=tool,
            prefix=prepared.digest,
            schemas=prepared.schemas_digest,
            history=session.digest,
            characters=session.characters,
            label=label,
        )

    async def flush(self, job: Job, step: Flush) -> None:
        """Record what it wants to remember as calls of this turn, to be made next. A model that fails has nothing to say."""
        job.has_flushed = True
        answered: Answered | None = None
        try:
            answered = await self._ask(step.request, self._rules().compaction.flush.seconds)
        except ModelError as error:
            log.warning("nothing was written down for %s: %s", job.key, error)
        async with self._sessions.pen(job.key) as pen:
            turn = pen.session.turn
            if turn is None or turn.id != job.turn:
                return
            if answered is not None:
                await self._record(pen, job, turn, step, answered)
            session = pen.session
            session.flushed = session.seq + 1
            value, expires = f"{session.flushed} {session.created_at}".encode(), self._clock.now() + KEPT_SECONDS
            pen.also(SetValue(space=SPACE, key=session.name, value=value, expires_at=expires))
            await pen.commit()

    async def _record(self, pen: Pen, job: Job, turn: Turn, step: Flush, answered: Answered) -> None:
        number = turn.step + 1
        kept = self._keep(answered, step.label, number, step.tool, turn.id)
        parts = tuple(part for part in kept if isinstance(part, Thinking) or (isinstance(part, ToolCall) and part.name in TOOLS))
        if not any(isinstance(part, ToolCall) for part in parts):
            pen.add(ModelSpent(model=answered.model, usage=answered.usage, purpose="memory"), turn=turn.id)
            return
        requested = ModelRequested(
            step=number,
            model=str(step.request.choice.primary),
            thinking=step.request.thinking,
            prefix=step.prefix,
            schemas=step.schemas,
            history=step.history,
            messages=len(step.request.messages),
            characters=step.characters,
            unattended=True,
        )
        pen.add(requested, turn=turn.id)
        pen.add(
            ModelAnswered(
                step=number,
                parts=parts,
                stop=answered.stop,
                usage=answered.usage,
                model=answered.model,
                profile=answered.profile,
                label=step.label,
            ),
            turn=turn.id,
        )
        job.plan = await self.plan(pen, turn, step.tool)

    async def plan(self, pen: Pen, turn: Turn, tool: ToolSpec) -> Plan:
        """Nobody is asked: what would need a person's yes is refused."""
        quiet = copy(self._calls)
        quiet.approvals = None
        return await quiet.plan(pen, turn, {tool.name: tool})


def tool_of(prepared: Prepared) -> ToolSpec | None:
    return next((spec for spec in prepared.tools if spec.name in TOOLS), None)
