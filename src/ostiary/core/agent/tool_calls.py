"""Tool calls: judged in order, run side by side, answered in order; every call gets exactly one result.

Around a call: validate, hooks, validate, verdict, a person's yes where the rules want one, intent committed, call, result
committed together with what it wrote. An intent without a result after a crash is run again only if the tool said it is
repeatable; otherwise the model is told that it may have happened. Calls that change something run one after the other.
"""

import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field

import anyio

from ostiary.contracts.clock import Clock
from ostiary.contracts.content import ToolCall
from ostiary.contracts.errors import BadInput, Conflict, ToolError
from ostiary.contracts.events import ApprovalAsked, Delta, ToolFate, ToolIntended
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.messages import Address
from ostiary.contracts.policy import Action, Allow, Ask, Decision, Deny
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Audit, PutBlob
from ostiary.contracts.tool import Binding, Effect, Tool, ToolContext, ToolResult, ToolSpec
from ostiary.core.agent.arguments import parse_arguments, validate
from ostiary.core.agent.tool_hooks import Blocked, ToolHooks
from ostiary.core.agent.tool_results import INTERRUPTED, ToolLimits, failure, not_kept, resulted, storable
from ostiary.core.approvals.desk import Approvals, Question
from ostiary.core.approvals.grants import Grant
from ostiary.core.approvals.wording import digest_of
from ostiary.core.cancellation import Cancelled, is_wanted
from ostiary.core.sessions.pen import Pen, Sessions
from ostiary.core.sessions.session import Turn

log = logging.getLogger("ostiary.tools")

Decide = Callable[[Action], Awaitable[Decision]]

REFUSALS = {
    "denied": "Refused: {by} said no.{note} Do not try it again in another way; ask what they want instead.",
    "expired": "Refused: nobody answered in time.{note} Nothing was done.",
    "withdrawn": "Refused: not answered.{note} Nothing was done.",
}
_BIND_SECONDS = 10.0
_CHANGES = frozenset({Effect.WRITE, Effect.EXECUTE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A call that may be made, exactly so."""

    call: ToolCall
    tool: Tool
    arguments: Mapping[str, object]
    intent: ToolIntended
    context: ToolContext


@dataclass(slots=True)
class Plan:
    """What to run now; `client` calls wait for the caller, `asked` ones for a person; `later`: another plan must follow."""

    wave: list[Planned] = field(default_factory=list)
    client: list[ToolCall] = field(default_factory=list)
    asked: list[ApprovalAsked] = field(default_factory=list)
    later: bool = False

    @property
    def changes_something(self) -> bool:
        """At most one call of a wave does: what comes after it finds its work done, or is known not to have begun."""
        return any(changes_something(planned.tool.spec) for planned in self.wave)


class ToolCalls:
    """`redact` takes secrets out of what comes back. `is_attended` tells whether the owner sits at that place.

    Without `approvals` nobody can be asked, and what would need it is refused."""

    def __init__(
        self,
        *,
        sessions: Sessions,
        tools: Mapping[str, Tool],
        decide: Decide,
        clock: Clock,
        limits: ToolLimits | None = None,
        approvals: Approvals | None = None,
        hooks: ToolHooks | None = None,
        redact: Callable[[str], str] = lambda text: text,
        is_attended: Callable[[Address], bool] = lambda address: False,
    ) -> None:
        self._sessions = sessions
        self._tools = tools
        self._decide = decide
        self._clock = clock
        self.approvals = approvals
        self._hooks = hooks or ToolHooks()
        self.redact = self._redact = redact
        self._is_attended = is_attended
        self.limits = limits or ToolLimits()

    async def plan(self, pen: Pen, turn: Turn, offered: Mapping[str, ToolSpec]) -> Plan:
        """Judge the open calls in order, write intents for one wave and results for what is refused. Does not commit."""
        plan = Plan()
        order = {call_id: place for place, call_id in enumerate(turn.calls)}
        # A result closes the last open call and empties turn.calls, so walk over a copy.
        for call in turn.open_calls:
            if len(plan.wave) >= self.limits.parallel or (plan.changes_something and changes_something(offered.get(call.name))):
                plan.later = True
                break
            if order[call.id] >= self.limits.per_answer:
                text = f"Refused: at most {self.limits.per_answer} calls at once. Call again in the next step."
                self._turn_away(pen, turn, call, "limits", text)
                continue
            await self._judge(pen, turn, call, offered, plan)
        return plan

    async def _judge(self, pen: Pen, turn: Turn, call: ToolCall, offered: Mapping[str, ToolSpec], plan: Plan) -> None:
        earlier = turn.intents.get(call.id)
        if earlier is not None and not earlier.repeatable:
            self._fail(pen, turn, call, INTERRUPTED, "interrupted")
            return
        spec = offered.get(call.name)
        if spec is None:
            names = ", ".join(sorted(offered)) or "none"
            self._turn_away(pen, turn, call, "offer", f"There is no tool {call.name[:80]!r}. Tools: {names[:400]}.")
            return
        try:
            arguments = await self._arguments(call, spec, turn)
        except Blocked as blocked:
            self._refuse(pen, turn, call, Deny(layer="hook", reason=str(blocked)))
            return
        except (BadInput, ToolError) as error:
            self._turn_away(pen, turn, call, "arguments", f"Wrong arguments: {error}")
            return
        action = self._action(pen, turn, spec, arguments)
        decision = await self._decide(action)
        if isinstance(decision, Ask):
            context = self._context(action, turn, call)
            settled = await self._settle(pen, turn, call, action, decision, context, plan)
            if settled is None:
                return
            decision = settled
        if isinstance(decision, Deny):
            self._refuse(pen, turn, call, decision)
            return
        self._unask(pen, turn, call)
        if spec.is_client:
            plan.client.append(call)
            return
        self._intend(pen, turn, call, action, decision, plan, is_new=earlier is None)

    async def _arguments(self, call: ToolCall, spec: ToolSpec, turn: Turn) -> Mapping[str, object]:
        """Raises ToolError, BadInput, Blocked."""
        arguments: Mapping[str, object] = parse_arguments(call.arguments, spec.schema.parameters)
        if spec.is_client:
            return arguments
        changed = await self._hooks.before(call.name, arguments, about(turn))
        if changed is not arguments:
            problems = validate(changed, spec.schema.parameters)
            if problems:
                raise Blocked(f"a hook gave wrong arguments: {'; '.join(problems)}")
        return changed

    def _action(self, pen: Pen, turn: Turn, spec: ToolSpec, arguments: Mapping[str, object]) -> Action:
        started, answer = turn.started, turn.answer
        provider, _, model = (answer.model if answer is not None else "").partition("/")
        label = pen.session.label
        if answer is not None and answer.label is not None:
            label = label.join(answer.label)
        return Action(
            principal=started.principal,
            session=pen.session.key,
            channel=started.reply_to.channel,
            tool=spec,
            arguments=arguments,
            label=label,
            provider=provider,
            model=model,
            reply_to=started.reply_to,
            is_attended=started.principal.is_owner and self._is_attended(started.reply_to),
        )

    def _context(self, action: Action, turn: Turn, call: ToolCall) -> ToolContext:
        name, step = str(action.session), turn.step

        def report(text: str) -> None:
            safe = storable(self._redact(text))
            self._sessions.feed.show(
                Delta(session=name, turn=turn.id, step=step, attempt=0, offset=0, text=safe, stream="tool", call=call.id)
            )

        return ToolContext(
            principal=action.principal,
            session=action.session,
            turn=turn.id,
            call_key=f"{turn.id}:{turn.step}:{call.id}",
            label=action.label,
            reply_to=action.reply_to,
            report=report,
        )

    async def _settle(
        self, pen: Pen, turn: Turn, call: ToolCall, action: Action, ask: Ask, context: ToolContext, plan: Plan
    ) -> Allow | Deny | None:
        """What a person has said of this very call, or a standing grant of theirs; None: it waits for an answer."""
        if self.approvals is None:
            return Deny(layer=ask.layer, reason=f"{ask.reason}. A person must confirm it first, and nobody can be asked here")
        asked, answer = turn.asked.get(call.id), turn.answers.get(call.id)
        if answer is not None and answer.answer != "allowed":
            note = f" {answer.note}" if answer.note else ""
            return Deny(layer="approval", reason=REFUSALS[answer.answer].format(by=answer.by, note=note))
        grant = self.approvals.covering(action, ask)
        if grant is not None and await self._holds(grant, call, action, context):
            return Allow(layer="grant", reason=f"{grant.by} allowed {grant.tool}: {grant.pattern}")
        if asked is not None and answer is None:
            plan.asked.append(asked)
            return None
        try:
            bound = await self._bound(call, action, context)
        except ToolError as error:
            return Deny(layer="approval", reason=str(error))
        digest = digest_of(call.name, action.arguments, bound)
        if asked is not None and answer is not None and asked.digest == digest and set(ask.layers) <= set(asked.layers):
            return Allow(layer="approval", reason=f"{answer.by} allowed {asked.approval}")
        if self.approvals.is_full:
            return Deny(layer=ask.layer, reason="a person must confirm it first, and too many questions wait for them already")
        # Never asked, or what was allowed is not what would happen now, or somebody else asks than the yes was meant for.
        shown = {name: self._redact(value) for name, value in bound.items()}
        question = Question(action=action, ask=ask, digest=digest, bound=shown, label=action.label)
        plan.asked.append(self.approvals.ask(pen, turn, call, question))
        self._note(pen, turn, call, action, "ask", ask.layer, ask.reason)
        return None

    async def _holds(self, grant: Grant, call: ToolCall, action: Action, context: ToolContext) -> bool:
        if not grant.bound:
            return True
        try:
            bound = await self._bound(call, action, context)
        except ToolError:
            return False
        return grant.holds({name: self._redact(value) for name, value in bound.items()})

    async def _bound(self, call: ToolCall, action: Action, context: ToolContext) -> Mapping[str, str]:
        """Raises ToolError."""
        tool: object = self._tools.get(call.name)
        if action.tool.is_client or not isinstance(tool, Binding):
            return {}
        try:
            with anyio.fail_after(_BIND_SECONDS):
                return {str(name): str(value) for name, value in (await tool.bind(action.arguments, context)).items()}
        except TimeoutError:
            raise ToolError(f"what {call.name} would act on could not be read in time") from None

    def _refuse(self, pen: Pen, turn: Turn, call: ToolCall, denied: Deny) -> None:
        said = denied.reason if denied.layer == "approval" else f"Refused by {denied.layer}: {denied.reason}."
        self._fail(pen, turn, call, said, "refused")
        self._note(pen, turn, call, None, "deny", denied.layer, denied.reason)

    def _turn_away(self, pen: Pen, turn: Turn, call: ToolCall, layer: str, text: str) -> None:
        """A call that does not come before the judge: that it was tried is in the log all the same."""
        self._fail(pen, turn, call, text, "refused")
        self._note(pen, turn, call, None, "deny", layer, text.partition(" Tools: ")[0])

    def _fail(self, pen: Pen, turn: Turn, call: ToolCall, text: str, fate: ToolFate) -> None:
        self._unask(pen, turn, call)
        pen.add(failure(call, self._redact(text), fate), turn=turn.id)

    def _unask(self, pen: Pen, turn: Turn, call: ToolCall) -> None:
        """What is decided without them is no question to anybody any more."""
        if self.approvals is not None and call.id in turn.asked:
            self.approvals.lapse(pen, turn, "withdrawn", call=call.id, note="it was decided otherwise")

    def _intend(self, pen: Pen, turn: Turn, call: ToolCall, action: Action, allowed: Allow, plan: Plan, *, is_new: bool) -> None:
        context = self._context(action, turn, call)
        intent = ToolIntended(
            call_id=call.id,
            name=call.name,
            arguments=call.arguments if not self._hooks.may_change else json.dumps(action.arguments, ensure_ascii=False),
            call_key=context.call_key,
            repeatable=action.tool.repeatable,
            layer=allowed.layer,
            reason=allowed.reason,
        )
        if is_new:
            pen.add(intent, turn=turn.id)
            self._note(pen, turn, call, action, "allow", allowed.layer, allowed.reason)
        plan.wave.append(
            Planned(call=call, tool=self._tools[call.name], arguments=action.arguments, intent=intent, context=context)
        )

    def _note(self, pen: Pen, turn: Turn, call: ToolCall, action: Action | None, outcome: str, layer: str, reason: str) -> None:
        """The decision in the audit log, in the same unit as what follows from it."""
        detail: dict[str, object] = {
            "session": pen.session.name,
            "turn": turn.id,
            "call": call.id,
            "layer": layer,
            "reason": self._redact(reason)[:500],
            "arguments": hashlib.sha256(call.arguments.encode("utf-8", "replace")).hexdigest(),
        }
        if action is not None:
            detail["trust"], detail["private"] = str(action.label.trust), action.label.private
        actor = str(turn.started.principal.user)
        pen.also(
            Audit(at=self._clock.now(), kind="tool.decided", actor=actor, subject=call.name[:80], outcome=outcome, detail=detail)
        )

    async def run(self, key: SessionKey, turn: Turn, wave: list[Planned]) -> None:
        """Run a wave whose intents are committed; each result is committed as soon as it is there."""
        if len(wave) == 1:
            await self._one(key, turn, wave[0])
            return
        try:
            async with anyio.create_task_group() as group:
                for planned in wave:
                    group.start_soon(self._one, key, turn, planned)
        except ExceptionGroup as several:
            # Tools do not raise here, only the store does; whoever runs the turn knows what to do with one of its errors.
            raise several.exceptions[0] from several

    async def _one(self, key: SessionKey, turn: Turn, planned: Planned) -> None:
        began = self._clock.monotonic()
        result, fate = await self._call(planned)
        seconds = self._clock.monotonic() - began
        try:
            await self._commit(key, turn, planned, result, fate, seconds)
        except (BadInput, Conflict) as error:
            if not result.writes:
                raise
            lost = not_kept(planned.tool.spec, result, error)
            await self._commit(key, turn, planned, lost, "done", seconds)
        await self._hooks.after(planned.call.name, planned.arguments, result, seconds, about(turn))

    async def _commit(
        self, key: SessionKey, turn: Turn, planned: Planned, result: ToolResult, fate: ToolFate, seconds: float
    ) -> None:
        async with self._sessions.pen(key) as pen:
            if pen.session.turn is None or pen.session.turn.id != turn.id:
                return
            kept = resulted(planned.call, planned.tool.spec, result, fate, seconds, limits=self.limits, redact=self._redact)
            pen.add(kept, turn=turn.id)
            pen.also(*(PutBlob(digest=digest, content=content) for digest, content in result.blobs.items()))
            pen.also(*result.writes)
            outcome = "error" if result.is_error else str(fate)
            detail = {"session": str(key), "turn": turn.id, "call": planned.call.id, "seconds": round(seconds, 3)}
            actor = str(turn.started.principal.user)
            pen.also(
                Audit(
                    at=self._clock.now(),
                    kind="tool.called",
                    actor=actor,
                    subject=planned.call.name,
                    outcome=outcome,
                    detail=detail,
                )
            )
            await pen.commit()

    async def _call(self, planned: Planned) -> tuple[ToolResult, ToolFate]:
        name, limit = planned.call.name, planned.tool.spec.seconds or self.limits.seconds
        planned.context.report(name)
        with anyio.move_on_after(limit):
            try:
                result = await planned.tool.call(planned.arguments, planned.context)
                if not isinstance(result, ToolResult) or not isinstance(result.text, str):
                    raise TypeError(f"{name} gave no result")
                return result, "done"
            except ToolError as error:
                hint = f" {error.hint}" if error.hint else ""
                return ToolResult(text=f"{error}{hint}", is_error=True, label=error.label), "done"
            except (Exception, Cancelled()) as error:
                # A broken tool must not take its turn down; the model reads that it failed.
                if is_wanted(error):
                    raise
                log.exception("tool %s failed", name)
                return ToolResult(text=f"The tool {name} failed inside; this is a fault of the tool.", is_error=True), "done"
        late = f"{name} took longer than {limit:g} s and was stopped."
        return ToolResult(text=late, is_error=True), "interrupted"


def changes_something(spec: ToolSpec | None) -> bool:
    return spec is not None and bool(_CHANGES & spec.effects)


def about(turn: Turn) -> Mapping[str, object]:
    """What hooks are told of whose call it is."""
    return {"turn": turn.id, "user": str(turn.started.principal.user), "role": turn.started.principal.role}
