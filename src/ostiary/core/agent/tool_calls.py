"""Tool calls: judged in order, run side by side, answered in order; every call gets exactly one result.

Around a call: validate, verdict, intent committed, call, result committed. An intent without a result after a crash is
run again only if the tool said it is repeatable; otherwise the model is told that it may have happened.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field

import anyio

from ostiary.contracts.clock import Clock
from ostiary.contracts.content import Label, ToolCall, Trust
from ostiary.contracts.errors import BadInput, ToolError
from ostiary.contracts.events import Delta, ToolFate, ToolIntended, ToolResulted
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.policy import Action, Allow, Ask, Decision
from ostiary.contracts.records import dataclass
from ostiary.contracts.tool import Tool, ToolContext, ToolResult, ToolSpec
from ostiary.core.agent.arguments import parse_arguments
from ostiary.core.cancellation import Cancelled, is_wanted
from ostiary.core.sessions.pen import Pen, Sessions
from ostiary.core.sessions.session import SYSTEM_LABEL, Turn

log = logging.getLogger("ostiary.tools")

Decide = Callable[[Action], Awaitable[Decision]]

INTERRUPTED = "Interrupted before a result was recorded: it may have happened. Check before doing it again."
SKIPPED = "Skipped: the user sent a new message before this call began."
STOPPED = "Stopped by the user: it may have happened."


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLimits:
    """`parallel` calls run side by side; an answer with more than `per_answer` has the rest refused."""

    parallel: int = 8
    per_answer: int = 32
    result_chars: int = 8192
    detail_chars: int = 65_536
    seconds: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    call: ToolCall
    tool: Tool
    arguments: Mapping[str, object]
    intent: ToolIntended


@dataclass(slots=True)
class Plan:
    """What to run now; `client` calls wait for the caller; `later` tells that another plan must follow."""

    wave: list[Planned] = field(default_factory=list)
    client: list[ToolCall] = field(default_factory=list)
    later: bool = False


class ToolCalls:
    def __init__(
        self, *, sessions: Sessions, tools: Mapping[str, Tool], decide: Decide, clock: Clock, limits: ToolLimits | None = None
    ) -> None:
        self._sessions = sessions
        self._tools = tools
        self._decide = decide
        self._clock = clock
        self.limits = limits or ToolLimits()

    async def plan(self, pen: Pen, turn: Turn, offered: Mapping[str, ToolSpec]) -> Plan:
        """Judge the open calls in order, write intents for one wave and results for what is refused. Does not commit."""
        plan = Plan()
        order = {call_id: place for place, call_id in enumerate(turn.calls)}
        # A result closes the last open call and empties turn.calls, so walk over a copy.
        for call in turn.open_calls:
            if len(plan.wave) >= self.limits.parallel:
                plan.later = True
                break
            if order[call.id] >= self.limits.per_answer:
                text = f"Refused: at most {self.limits.per_answer} calls at once. Call again in the next step."
                pen.add(failure(call, text, "refused"), turn=turn.id)
                continue
            await self._judge(pen, turn, call, offered, plan)
        return plan

    async def _judge(self, pen: Pen, turn: Turn, call: ToolCall, offered: Mapping[str, ToolSpec], plan: Plan) -> None:
        earlier = turn.intents.get(call.id)
        if earlier is not None and not earlier.repeatable:
            pen.add(failure(call, INTERRUPTED, "interrupted"), turn=turn.id)
            return
        spec = offered.get(call.name)
        if spec is None:
            names = ", ".join(sorted(offered)) or "none"
            pen.add(failure(call, f"There is no tool {call.name[:80]!r}. Tools: {names[:400]}.", "refused"), turn=turn.id)
            return
        try:
            arguments = parse_arguments(call.arguments, spec.schema.parameters)
        except (BadInput, ToolError) as error:
            pen.add(failure(call, f"Wrong arguments: {error}", "refused"), turn=turn.id)
            return
        started = turn.started
        action = Action(
            principal=started.principal,
            session=pen.session.key,
            channel=started.reply_to.channel,
            tool=spec,
            arguments=arguments,
            label=pen.session.label,
        )
        decision = await self._decide(action)
        if not isinstance(decision, Allow):
            ask = " A person must confirm it first, and nobody can be asked here." if isinstance(decision, Ask) else ""
            pen.add(failure(call, f"Refused by {decision.layer}: {decision.reason}.{ask}", "refused"), turn=turn.id)
            return
        if spec.is_client:
            plan.client.append(call)
            return
        intent = ToolIntended(
            call_id=call.id,
            name=call.name,
            arguments=call.arguments,
            call_key=f"{turn.id}:{turn.step}:{call.id}",
            repeatable=spec.repeatable,
            layer=decision.layer,
            reason=decision.reason,
        )
        if earlier is None:
            pen.add(intent, turn=turn.id)
        plan.wave.append(Planned(call=call, tool=self._tools[call.name], arguments=arguments, intent=intent))

    async def run(self, key: SessionKey, turn: Turn, wave: list[Planned]) -> None:
        """Run a wave whose intents are committed; each result is committed as soon as it is there."""
        context = {
            planned.call.id: ToolContext(
                principal=turn.started.principal, session=key, turn=turn.id, call_key=planned.intent.call_key
            )
            for planned in wave
        }

        async def one(planned: Planned) -> None:
            began = self._clock.monotonic()
            result, fate = await self._call(planned, context[planned.call.id])
            seconds = self._clock.monotonic() - began
            async with self._sessions.pen(key) as pen:
                if pen.session.turn is None or pen.session.turn.id != turn.id:
                    return
                pen.add(self._resulted(planned, result, fate, seconds), turn=turn.id)
                await pen.commit()

        if len(wave) == 1:
            await one(wave[0])
            return
        try:
            async with anyio.create_task_group() as group:
                for planned in wave:
                    group.start_soon(one, planned)
        except ExceptionGroup as several:
            # Tools do not raise here, only the store does; whoever runs the turn knows what to do with one of its errors.
            raise several.exceptions[0] from several

    async def _call(self, planned: Planned, context: ToolContext) -> tuple[ToolResult, ToolFate]:
        name = planned.call.name
        self._sessions.feed.show(
            Delta(session=str(context.session), turn=context.turn, step=0, attempt=0, offset=0, text=name, stream="tool")
        )
        with anyio.move_on_after(self.limits.seconds):
            try:
                result = await planned.tool.call(planned.arguments, context)
                if not isinstance(result, ToolResult) or not isinstance(result.text, str):
                    raise TypeError(f"{name} gave no result")
                return result, "done"
            except ToolError as error:
                return ToolResult(text=str(error), is_error=True), "done"
            except (Exception, Cancelled()) as error:
                # A broken tool must not take its turn down; the model reads that it failed.
                if is_wanted(error):
                    raise
                log.exception("tool %s failed", name)
                return ToolResult(text=f"The tool {name} failed inside; this is a fault of the tool.", is_error=True), "done"
        late = f"{name} took longer than {self.limits.seconds:g} s and was stopped."
        return ToolResult(text=late, is_error=True), "interrupted"

    def _resulted(self, planned: Planned, result: ToolResult, fate: ToolFate, seconds: float) -> ToolResulted:
        spec = planned.tool.spec
        label = Label(
            trust=Trust.UNTRUSTED if spec.untrusted_output else Trust.SYSTEM,
            sources=(f"tool:{spec.name}",),
        )
        return ToolResulted(
            call_id=planned.call.id,
            name=planned.call.name,
            text=cap_text(storable(result.text), self.limits.result_chars),
            is_error=result.is_error,
            fate=fate,
            label=label if result.label is None else label.join(result.label),
            details=_kept(result.details, self.limits.detail_chars),
            images=result.images,
            seconds=seconds,
        )


def failure(call: ToolCall, text: str, fate: ToolFate) -> ToolResulted:
    return ToolResulted(call_id=call.id, name=call.name, text=text, is_error=True, fate=fate, label=SYSTEM_LABEL)


def storable(text: str) -> str:
    """Without halves of characters, which no journal and no wire can carry."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _kept(details: Mapping[str, object], limit: int) -> Mapping[str, object]:
    """What people read is worth keeping, but never worth losing the result over."""
    if not details:
        return {}
    try:
        size = len(json.dumps(details, ensure_ascii=False).encode())
    except (TypeError, ValueError, RecursionError):
        return {"omitted": "not plain data"}
    return details if size <= limit else {"omitted": "too long to keep"}


def cap_text(text: str, limit: int) -> str:
    """Head and tail with the number of characters left out between them."""
    if len(text) <= limit:
        return text
    tail = limit // 4
    head = limit - tail
    return f"{text[:head]}\n[… {len(text) - limit} characters left out …]\n{text[-tail:]}"
