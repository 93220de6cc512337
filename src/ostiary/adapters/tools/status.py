"""session_status: the time, and for the owner what this conversation has used."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, tzinfo

from ostiary.adapters.tools import fields
from ostiary.contracts.clock import Clock
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.engine import SessionView
from ostiary.contracts.errors import BadInput, StoreError
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec

View = Callable[[SessionKey], Awaitable[SessionView]]

SPEC = ToolSpec(
    schema=ToolSchema(
        name="session_status",
        description="Date, time, model, and the tokens and cost of this conversation.",
        parameters={"type": "object", "properties": {}, "additionalProperties": False},
    ),
    effects=frozenset({Effect.READ}),
    repeatable=True,
    untrusted_output=False,
)
_LABEL = Label(trust=Trust.SYSTEM, sources=("session_status",))


class SessionStatus:
    """`shows_session` False (a posture where the agent may not know its model and cost): only the time, even for the owner."""

    spec = SPEC

    def __init__(self, *, clock: Clock, zone: tzinfo, view: View, shows_session: bool = True) -> None:
        self._clock = clock
        self._zone = zone
        self._view = view
        self._shows_session = shows_session

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments)
        lines = [datetime.fromtimestamp(self._clock.now(), self._zone).strftime("Time: %A %Y-%m-%d %H:%M %Z")]
        if context.principal.is_owner and self._shows_session:
            lines.append(f"Session: {context.session}")
            try:
                lines += _facts(await self._view(context.session))
            except (BadInput, StoreError):
                # The time is worth telling without the rest.
                lines.append("Usage: not available")
        return ToolResult(text="\n".join(lines), label=_LABEL)


def _facts(view: SessionView) -> list[str]:
    usage = view.usage
    cached = f", {usage.cache_read:,} from cache" if usage.cache_read else ""
    cost = "unknown" if usage.cost is None else f"${usage.cost:.4f}"
    read = usage.input + usage.cache_read + usage.cache_write
    return [
        f"Model: {view.model or 'not chosen yet'}",
        f"Turns: {view.turns:,}, messages: {view.messages:,}, context: about {view.context_tokens:,} tokens",
        f"Tokens: {read:,} in{cached}, {usage.output:,} out; cost: {cost}",
    ]
