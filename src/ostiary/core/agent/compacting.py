"""Summarising the older part of a conversation so that it can go on: a step of a turn, in the journal once it is done.

Cut by a crash it is simply done again. Whatever becomes of the model, there is a summary in the end: if it fails twice, one
made of excerpts. A session never becomes unusable by growing.
"""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Literal

import anyio.to_thread

from ostiary.contracts.content import Text, UserMessage
from ostiary.contracts.errors import ContextOverflow, ModelError, ModelUnavailable
from ostiary.contracts.events import Compacted, ModelSpent
from ostiary.contracts.model import Answered, ModelChoice, ModelFacts, ModelRequest, Usage
from ostiary.contracts.records import dataclass
from ostiary.core.agent.job import Job, RunRules, is_one_call
from ostiary.core.agent.leaks import Known, could_leak, harmless
from ostiary.core.agent.prompt import fill
from ostiary.core.agent.room import (
    CHARACTERS_PER_TOKEN,
    CompactionRules,
    kept_characters,
    limit_of,
    piece_characters,
    summary_characters,
    tokens_of,
)
from ostiary.core.agent.shaping import shape
from ostiary.core.agent.tool_results import storable
from ostiary.core.policy.secrets import Guard
from ostiary.core.sessions.pen import Pen, Sessions
from ostiary.core.sessions.session import Session, Turn, add_usage
from ostiary.core.sessions.summary import Cut, chunks, cut_of, excerpts, size_of, transcript, written

log = logging.getLogger("ostiary.agent")

DIRECTIVE = "compact"
ASKED = "::asked"
ALL = "::all"
_TRIES = 2
_HALVINGS = 4
_PIECES = 8
_IN_LOOP = 50_000
PLAIN_CHARACTERS = 4_000
Due = Literal["full", "many"]
Ask = Callable[[ModelRequest, float], Awaitable[Answered]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact:
    """A step: summarise before the next request. `is_asked`: a person wants it, and nothing else of this turn; `is_refused`: the
    model found the conversation too long, whatever we think of its length; `is_plain`: only messages beyond the owner's limit
    go, which is worth excerpts and not the price of a model's call."""

    choice: ModelChoice
    facts: ModelFacts
    instructions: str = ""
    is_asked: bool = False
    is_refused: bool = False
    is_plain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarised:
    turns: int
    before: int
    after: int


class Compacting:
    """`ask` gets an answer that nobody is shown, within so many seconds. Raises ModelError."""

    def __init__(self, *, sessions: Sessions, ask: Ask, rules: Callable[[], RunRules], guard: Guard | None = None) -> None:
        self._sessions = sessions
        self._ask = ask
        self._rules = rules
        self._guard = guard

    def due(self, job: Job, session: Session, facts: ModelFacts, fixed: int) -> Due | None:
        """Why older turns are to be summarised before the next request of this turn. Costs nothing far from the limit."""
        rules = self._rules()
        if not rules.compaction.is_on or job.compactions >= rules.compaction.attempts or is_one_call(job.key):
            return None
        limit = limit_of(rules.compaction, facts)
        is_full = tokens_of(session, fixed) > limit
        if not is_full and not self._is_many(session, rules):
            return None
        cut = self._cut(job, session, limit, rules)
        if cut is None or (is_full and _fresh(cut) <= limit * CHARACTERS_PER_TOKEN / 20):
            return None
        return "full" if is_full else "many"

    def can(self, job: Job, session: Session, facts: ModelFacts) -> bool:
        """Whether summarising could still make room after a request was refused as too long."""
        rules = self._rules()
        if not rules.compaction.is_on or job.compactions >= rules.compaction.attempts or is_one_call(job.key):
            return False
        return self._cut(job, session, limit_of(rules.compaction, facts), rules, is_short=True) is not None

    def _is_many(self, session: Session, rules: RunRules) -> bool:
        return bool(rules.history_messages) and len(session.messages) > rules.history_messages

    def _cut(self, job: Job, session: Session, limit: int, rules: RunRules, *, is_short: bool = False) -> Cut | None:
        """`is_short`: less shall stay than there is, however little that is."""
        kept = kept_characters(limit, job.compactions)
        if is_short:
            kept = min(kept, session.characters // 4 >> job.compactions)
        return cut_of(session, characters=kept, messages=rules.history_messages // 2)

    async def compact(
        self, job: Job, step: Compact, then: Callable[[Pen, Turn, Summarised | None], None] = lambda pen, turn, done: None
    ) -> bool:
        """Write the summary down, together with what `then` adds; it is told None where there is nothing to summarise.

        False if the turn is over or began anew meanwhile."""
        rules = self._rules()
        limit = limit_of(rules.compaction, step.facts)
        session = await self._sessions.get(job.key)
        size = session.characters
        cut = self._cut(job, session, limit, rules, is_short=step.is_asked or step.is_refused)
        job.compactions += 1
        renewed = session.renewed
        event, usage = await self._summary(cut, step, session, limit) if cut is not None else (None, Usage())
        async with self._sessions.pen(job.key) as pen:
            turn = pen.session.turn
            if turn is None or turn.id != job.turn:
                return False
            if usage != Usage():
                pen.add(ModelSpent(model=str(step.choice.primary), usage=usage, purpose="summary"), turn=turn.id)
            # What was erased or began anew meanwhile must not come back in a summary of it.
            is_same = pen.session.renewed == renewed and (cut is None or _still_holds(pen.session, cut))
            if event is not None and is_same:
                pen.add(event, turn=turn.id)
            done = None
            if event is not None and cut is not None and is_same:
                done = Summarised(turns=cut.turns, before=size, after=pen.session.characters)
                log.info("%d turns of %s summarised", cut.turns, job.key)
            then(pen, turn, done)
            if pen.unsaved:
                await pen.commit()
        return True

    async def _summary(self, cut: Cut, step: Compact, session: Session, limit: int) -> tuple[Compacted, Usage]:
        rules = self._rules().compaction
        room = min(summary_characters(limit), PLAIN_CHARACTERS) if step.is_plain else summary_characters(limit)
        told, usage = ("", Usage()) if step.is_plain else await self._told(cut, step, rules, session.name, room)
        if told and could_leak(cut.label):
            told = harmless(told, Known(cut.covered))
        made = partial(_made, cut, told, room)
        is_long = sum(map(size_of, cut.covered)) > _IN_LOOP
        text = await anyio.to_thread.run_sync(made) if is_long else made()
        text = storable(self._guard.redact(text) if self._guard is not None else text)
        return Compacted(summary=text, kept_from=cut.kept_from, label=cut.label), usage

    async def _told(self, cut: Cut, step: Compact, rules: CompactionRules, name: str, room: int) -> tuple[str, Usage]:
        """The model's summary; empty if it failed twice."""
        texts, size, usage = transcript(cut), piece_characters(rules, step.facts), Usage()
        if not rules.prompt:
            return "", usage
        failures = halvings = 0
        while failures < _TRIES and halvings < _HALVINGS:
            asking = _Asking(ask=self._ask, step=step, rules=rules, name=name, room=room, cut=cut)
            try:
                told = await asking.whole(texts, size)
                return told, add_usage(usage, asking.usage)
            except ContextOverflow:
                halvings, size = halvings + 1, size // 2
            except ModelError as error:
                log.warning("no summary of %s: %s", name, error)
                failures += 1
            usage = add_usage(usage, asking.usage)
        return "", usage


class _Asking:
    """One attempt at a summary, in as many calls as it takes. `usage` is what it has cost so far."""

    def __init__(self, *, ask: Ask, step: Compact, rules: CompactionRules, name: str, room: int, cut: Cut) -> None:
        self._ask = ask
        self._step = step
        self._rules = rules
        self._name = name
        self._room = room
        self._cut = cut
        self.usage = Usage()

    async def whole(self, texts: list[str], size: int) -> str:
        """Raises ModelError."""
        pieces = chunks(texts, size)
        if len(pieces) > _PIECES:
            # The beginning holds the earlier summary; what falls out here is still looked through for names and numbers.
            pieces = [pieces[0], *pieces[1 - _PIECES :]]
        told = [await self._one(piece) for piece in pieces]
        if len(told) == 1:
            return told[0]
        joined = "\n\n".join(f"Partial summary {number}:\n{text}" for number, text in enumerate(told, 1))
        return await self._one(chunks([joined], size)[0])

    async def _one(self, text: str) -> str:
        step, rules = self._step, self._rules
        request = ModelRequest(
            choice=step.choice,
            system=(fill(rules.prompt, {"instructions": " ".join(step.instructions.split())}),),
            messages=(UserMessage(parts=(Text(text=text, label=self._cut.label),)),),
            max_tokens=min(step.facts.max_tokens, max(1024, int(self._room / CHARACTERS_PER_TOKEN * 1.5))),
            session=self._name,
        )
        answered = await self._ask(request, rules.seconds)
        self.usage = add_usage(self.usage, answered.usage)
        told = shape("".join(part.text for part in answered.parts if isinstance(part, Text))).text.strip()
        if not told:
            raise ModelUnavailable("the model gave an empty summary")
        return told


def _made(cut: Cut, told: str, room: int) -> str:
    return written(cut, told or excerpts(cut, characters=room), cut.label, characters=room)


def _still_holds(session: Session, cut: Cut) -> bool:
    return tuple(session.messages[: len(cut.covered)]) == cut.covered


def _fresh(cut: Cut) -> int:
    """Characters that are not yet summarised."""
    return sum(map(size_of, cut.covered[1:] if cut.old else cut.covered))
