"""Where calls wait for a person: pending ones are durable, answered once, by somebody who may, before they lapse.

The question, its answer and what follows from it are events of the turn; the rows in the store are only their index, so
that a restart knows what waits without reading every session.
"""

import hashlib
import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from ostiary.contracts.clock import Clock, Ids
from ostiary.contracts.content import Label, ToolCall
from ostiary.contracts.errors import BadInput, NotAllowed
from ostiary.contracts.events import ApprovalAnswer, ApprovalAnswered, ApprovalAsked, TurnResumed
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import Address
from ostiary.contracts.policy import Action, Ask
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Audit, DeleteValue, MarkTurn, SetValue, Write
from ostiary.core.approvals.grants import GRANTABLE, Grant, grant_for, offers_for
from ostiary.core.sessions.pen import Pen, Sessions
from ostiary.core.sessions.session import Turn

log = logging.getLogger("ostiary.approvals")

PENDING = "approvals"
GRANTS = "grants"
SECONDS = 300.0
LONGEST_GRANT = 30 * 86_400.0
MOST_GRANTS = 500
MOST_PENDING = 200
REMEMBERED = 500
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingApproval:
    """One call that waits. `arguments` is what it would be given; `action` is what was judged, gone after a restart."""

    asked: ApprovalAsked
    session: SessionKey
    turn: str
    principal: Principal
    channel: str
    arguments: Mapping[str, object]
    asked_at: float
    action: Action | None = None

    @property
    def id(self) -> str:
        return self.asked.approval


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What there is to decide about one call, judged and bound."""

    action: Action
    ask: Ask
    digest: str
    bound: Mapping[str, str]
    label: Label


class Approvals:
    """`may_answer` says whose word counts, besides having come in by a door that proved who they are."""

    def __init__(
        self,
        *,
        sessions: Sessions,
        clock: Clock,
        ids: Ids,
        may_answer: Callable[[Principal], bool] = lambda principal: principal.is_owner,
        seconds: Callable[[], float] = lambda: SECONDS,
    ) -> None:
        self._sessions = sessions
        self._clock = clock
        self._ids = ids
        self._may_answer = may_answer
        self._seconds = seconds
        self._pending: OrderedDict[str, PendingApproval] = OrderedDict()
        self._answered: OrderedDict[str, str] = OrderedDict()
        self._grants: dict[str, Grant] = {}
        self.resume: Callable[[SessionKey, str], None] = lambda session, turn: None
        self.tell: Callable[[Pen, Address, PendingApproval, float], None] = lambda pen, address, pending, now: None

    @property
    def pending(self) -> tuple[PendingApproval, ...]:
        """Oldest first."""
        return tuple(self._pending.values())

    @property
    def grants(self) -> tuple[Grant, ...]:
        """Those that have not run out, newest first."""
        now = self._clock.now()
        return tuple(sorted((each for each in self._grants.values() if each.until > now), key=lambda each: -each.given_at))

    async def load(self, waiting: Sequence[str]) -> None:
        """Take up what waits, of the turns that still do, and the grants that still hold. Raises StoreError."""
        for key, packed in (await self._sessions.store.values(GRANTS)).items():
            try:
                self._grants[key] = Grant.unpack(packed)
            except (ValueError, TypeError):
                log.warning("the grant %s cannot be read and grants nothing", key)
        recalled = [await self._recalled(packed) for packed in (await self._sessions.store.values(PENDING)).values()]
        still = (each for each in recalled if each is not None and each.turn in waiting)
        self._pending.update((each.id, each) for each in sorted(still, key=lambda each: (each.asked_at, each.id)))

    async def _recalled(self, packed: bytes) -> PendingApproval | None:
        try:
            read = json.loads(packed)
            session, turn_id, call_id = SessionKey.parse(read["session"]), str(read["turn"]), str(read["call"])
        except (ValueError, KeyError, TypeError, BadInput):
            return None
        turn = (await self._sessions.get(session)).turn
        asked = turn.asked.get(call_id) if turn is not None and turn.id == turn_id else None
        call = turn.calls.get(call_id) if turn is not None else None
        if turn is None or asked is None or call is None or call_id in turn.answers:
            return None
        given = read.get("arguments")
        return PendingApproval(
            asked=asked,
            session=session,
            turn=turn_id,
            principal=turn.started.principal,
            channel=turn.started.reply_to.channel,
            arguments=given if isinstance(given, dict) else _read(call.arguments),
            asked_at=float(read.get("at", 0.0)),
        )

    def covering(self, action: Action, ask: Ask) -> Grant | None:
        """The standing grant that answers this question, if every layer that asks lets a grant answer it."""
        if not GRANTABLE.issuperset(ask.layers):
            return None
        now = self._clock.now()
        return next((grant for grant in self._grants.values() if grant.covers(action, now)), None)

    @property
    def is_full(self) -> bool:
        """So many questions wait that nobody reads another."""
        return len(self._pending) >= MOST_PENDING

    def ask(self, pen: Pen, turn: Turn, call: ToolCall, question: Question) -> ApprovalAsked:
        """Put the question into the turn. What is asked again replaces what was asked of the call before."""
        now, action, ask = self._clock.now(), question.action, question.ask
        grantable = GRANTABLE.issuperset(ask.layers)
        asked = ApprovalAsked(
            approval=self._code(),
            call_id=call.id,
            name=call.name,
            digest=question.digest,
            layers=ask.layers,
            reason=". ".join((ask.reason, *(other.reason for other in ask.others))),
            deadline=now + self._seconds(),
            bound=question.bound,
            offers=offers_for(call.name, action.arguments) if grantable else (),
            label=question.label,
        )
        pen.add(asked, turn=turn.id)
        row: dict[str, object] = {"session": str(action.session), "turn": turn.id, "call": call.id, "at": now}
        if action.arguments != _read(call.arguments):
            # A hook changed what the model wrote: after a restart, too, people are shown what would be done.
            row["arguments"] = dict(action.arguments)
        pen.also(
            SetValue(space=PENDING, key=asked.approval, value=json.dumps(row).encode()),
            _audit(now, "approval.asked", str(action.principal.user), asked, action.session, turn.id, "asked"),
        )
        waiting = PendingApproval(
            asked=asked,
            session=action.session,
            turn=turn.id,
            principal=action.principal,
            channel=action.channel,
            arguments=action.arguments,
            asked_at=now,
            action=action,
        )
        pen.then(lambda: self._pending.__setitem__(asked.approval, waiting))
        self.tell(pen, turn.started.reply_to, waiting, now)
        return asked

    async def answer(
        self, approval: str, allow: bool, *, by: Principal, pattern: str = "", seconds: float = 0.0, note: str = ""
    ) -> ApprovalAnswered:
        """`pattern` with `seconds` makes a wider grant of a yes. Durable when it returns.

        Raises NotAllowed, BadInput (unknown, answered already, lapsed, a pattern that does not fit), StoreError."""
        if not self._may_answer(by):
            raise NotAllowed("this is not yours to answer")
        found = self._find(approval)
        async with self._sessions.pen(found.session) as pen:
            turn = pen.session.turn
            now = self._clock.now()
            if turn is None or turn.id != found.turn or not _is_open(turn, found.asked):
                raise BadInput(self._gone(found.id))
            if now >= found.asked.deadline:
                raise BadInput(f"{found.id} was not answered in time and was refused", hint="Ask the assistant to try again.")
            grant = self._grant(found, turn, pattern, seconds, by, now) if allow and pattern else None
            answered = ApprovalAnswered(
                approval=found.id,
                call_id=found.asked.call_id,
                answer="allowed" if allow else "denied",
                by=str(by.user),
                grant=grant.id if grant is not None else "",
                note=note[:500],
            )
            self._settle(pen, turn, found.asked, answered, now)
            if grant is not None:
                pen.also(*_granted(grant))
                pen.then(lambda: self._keep(grant))
            is_waiting = turn.suspended is not None and turn.suspended.waiting_for == "approval"
            if is_waiting:
                resume(pen, turn, f"{found.id} was {answered.answer}")
            await pen.commit()
        if is_waiting:
            self.resume(found.session, found.turn)
        return answered

    def _grant(self, found: PendingApproval, turn: Turn, pattern: str, seconds: float, by: Principal, now: float) -> Grant:
        if not found.asked.offers:
            raise BadInput("this can only be allowed once", hint="Answer without a pattern.")
        if not 0 < seconds <= LONGEST_GRANT:
            raise BadInput("a wider yes needs an end, at most 30 days away", hint="Say for how long, for example 8h.")
        if len(self.grants) >= MOST_GRANTS:
            raise BadInput(f"there are {MOST_GRANTS} grants already", hint="Revoke some: ostiary approvals grants.")
        action = found.action
        if action is None:
            raise BadInput("after a restart this can only be allowed once", hint="Answer without a pattern.")
        return grant_for(
            action,
            pattern,
            id=self._ids.new("grant"),
            until=now + seconds,
            by=str(by.user),
            now=now,
            bound=found.asked.bound,
        )

    def lapse(
        self, pen: Pen, turn: Turn, answer: ApprovalAnswer, *, due: float | None = None, call: str = "", note: str = ""
    ) -> int:
        """Answer for nobody: all open questions of the turn, of one `call` of it, or those whose deadline is not after `due`.
        Gives how many."""
        now, count = self._clock.now(), 0
        for asked in list(turn.asked.values()):
            if not _is_open(turn, asked) or (due is not None and asked.deadline > due) or call not in ("", asked.call_id):
                continue
            gone = ApprovalAnswered(approval=asked.approval, call_id=asked.call_id, answer=answer, note=note)
            self._settle(pen, turn, asked, gone, now)
            count += 1
        return count

    def _settle(self, pen: Pen, turn: Turn, asked: ApprovalAsked, answered: ApprovalAnswered, now: float) -> None:
        pen.add(answered, turn=turn.id)
        pen.also(
            DeleteValue(space=PENDING, key=asked.approval),
            _audit(now, "approval.answered", answered.by, asked, pen.session.key, turn.id, answered.answer),
        )
        pen.then(lambda: self._forget(asked.approval, answered))

    def _forget(self, approval: str, answered: ApprovalAnswered) -> None:
        self._pending.pop(approval, None)
        self._answered[approval] = f"{answered.answer} by {answered.by}" if answered.by else answered.answer
        while len(self._answered) > REMEMBERED:
            self._answered.popitem(last=False)

    async def revoke(self, grant: str, *, by: Principal) -> Grant:
        """Raises NotAllowed, BadInput, StoreError."""
        if not self._may_answer(by):
            raise NotAllowed("this is not yours to revoke")
        found = self._grants.get(grant)
        if found is None:
            raise BadInput(f"there is no grant {grant[:40]}", hint="ostiary approvals grants lists them.")
        await self._revoke((found,), str(by.user))
        return found

    async def revoke_all(self, by: str) -> int:
        """Gives how many still held. Raises StoreError."""
        held, every = len(self.grants), tuple(self._grants.values())
        await self._revoke(every, by)
        return held

    async def _revoke(self, grants: Sequence[Grant], by: str) -> None:
        now = self._clock.now()
        writes: list[Write] = []
        # What narrows holds before it is written; a grant that is still in the store is still a grant.
        for each in grants:
            del self._grants[each.id]
            detail = {"grant": each.id}
            audit = Audit(at=now, kind="grant.revoked", actor=by, subject=each.tool, outcome="revoked", detail=detail)
            writes += (DeleteValue(space=GRANTS, key=each.id), audit)
        try:
            if writes:
                await self._sessions.write(writes)
        except BaseException:
            self._grants |= {each.id: each for each in grants}
            raise

    def _keep(self, grant: Grant) -> None:
        self._grants[grant.id] = grant
        now = self._clock.now()
        for old in [each.id for each in self._grants.values() if each.until <= now]:
            del self._grants[old]

    def _find(self, approval: str) -> PendingApproval:
        key = approval.strip().lower()
        if not key and len(self._pending) == 1:
            return next(iter(self._pending.values()))
        found = self._pending.get(key)
        if found is None and not key:
            many = ", ".join(self._pending)
            raise BadInput(f"several wait: {many}" if many else "nothing waits for an answer", hint="Say which one.")
        if found is None:
            raise BadInput(self._gone(key))
        return found

    def _gone(self, approval: str) -> str:
        was = self._answered.get(approval)
        return f"{approval[:20]} was answered already: {was}" if was else f"nothing waits under {approval[:20]!r}"

    def _code(self) -> str:
        """Short enough to type; made from an id that is never given twice."""
        while True:
            digest = hashlib.sha256(self._ids.new("approval").encode()).digest()
            code = "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:4])
            if code not in self._pending and code not in self._answered:
                return code


def _is_open(turn: Turn, asked: ApprovalAsked) -> bool:
    """Whether this very question is the one that its call waits for."""
    now = turn.asked.get(asked.call_id)
    return now is not None and now.approval == asked.approval and asked.call_id not in turn.answers


def resume(pen: Pen, turn: Turn, reason: str) -> None:
    """The suspended turn may go on once this unit is durable."""
    pen.add(TurnResumed(reason=reason), turn=turn.id)
    pen.also(MarkTurn(turn=turn.id, session=pen.session.key, lane=turn.started.lane, state="running"))


def _granted(grant: Grant) -> tuple[Write, ...]:
    detail = {"grant": grant.id, "pattern": grant.pattern, "until": grant.until, "agent": grant.agent}
    return (
        SetValue(space=GRANTS, key=grant.id, value=grant.packed(), expires_at=grant.until),
        Audit(at=grant.given_at, kind="grant.given", actor=grant.by, subject=grant.tool, outcome="given", detail=detail),
    )


def _audit(now: float, kind: str, actor: str, asked: ApprovalAsked, session: SessionKey, turn: str, outcome: str) -> Audit:
    detail = {
        "approval": asked.approval,
        "session": str(session),
        "turn": turn,
        "call": asked.call_id,
        "digest": asked.digest,
        "layers": list(asked.layers),
    }
    return Audit(at=now, kind=kind, actor=actor or "nobody", subject=asked.name, outcome=outcome, detail=detail)


def _read(arguments: str) -> Mapping[str, object]:
    try:
        read = json.loads(arguments or "{}")
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}
