"""sessions_list and sessions_history: which conversations there are, and what was said in one."""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from ostiary.adapters.tools import fields
from ostiary.adapters.tools.files import RESULT_BYTES, cut, fitting
from ostiary.contracts.clock import Clock
from ostiary.contracts.content import Label, Text, Trust
from ostiary.contracts.errors import BadInput, ToolError
from ostiary.contracts.events import Compacted, ModelAnswered, Noted, Recorded, Steered, ToolResulted, TurnInput, TurnStarted
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.plugin import PluginHost
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import SessionRecord
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec

_LOOKED_AT = 1000
_EVENTS = 600
_MARKER_ROOM = 160
_MAX_MESSAGE = 1500
_MAX_TITLE = 80
_MAX_MINUTES = 10_000_000

LIST = ToolSpec(
    schema=ToolSchema(
        name="sessions_list",
        description="List conversations, newest first.",
        parameters={
            "type": "object",
            "properties": {
                "limit": {"type": "integer"},
                "active_minutes": {"type": "integer"},
            },
            "additionalProperties": False,
        },
    ),
    effects=frozenset({Effect.READ}),
    repeatable=True,
    untrusted_output=False,
)
HISTORY = ToolSpec(
    schema=ToolSchema(
        name="sessions_history",
        description="Read the last messages of a conversation.",
        parameters={
            "type": "object",
            "properties": {
                "session": {"type": "string", "description": "key from sessions_list"},
                "limit": {"type": "integer"},
                "include_tools": {"type": "boolean"},
            },
            "required": ["session"],
            "additionalProperties": False,
        },
    ),
    effects=frozenset({Effect.READ}),
    repeatable=True,
    untrusted_output=False,
)

MaySee = Callable[[Principal, SessionKey, SessionKey], bool]
"""Whether this principal, speaking in the first session, may see the second."""


class Journals(Protocol):
    """What of the store these tools read. Raises StoreError."""

    async def sessions(
        self, *, limit: int = 200, prefix: str = "", include_ephemeral: bool = False
    ) -> tuple[SessionRecord, ...]: ...

    async def session(self, key: SessionKey) -> SessionRecord | None: ...

    async def read(self, session: SessionKey, *, after: int = 0, turn: str = "", limit: int = 0) -> tuple[Recorded, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """A line of the history and where it came from."""

    text: str
    label: Label


def own_only(principal: Principal, here: SessionKey, other: SessionKey) -> bool:
    """The owner sees every conversation; everybody else the one they are in."""
    return principal.is_owner or here == other


def register_sessions(
    host: PluginHost, *, journals: Journals, clock: Clock, may_see: MaySee = own_only, max_bytes: int = RESULT_BYTES
) -> None:
    """sessions_list and sessions_history."""
    host.add_tool(SessionsList(journals, clock, may_see=may_see, max_bytes=max_bytes))
    host.add_tool(SessionsHistory(journals, may_see=may_see, max_bytes=max_bytes))


class SessionsList:
    """Titles are the words of whoever began the conversation: they are private, and no more trusted than that person."""

    spec = LIST

    def __init__(self, journals: Journals, clock: Clock, *, may_see: MaySee = own_only, max_bytes: int = RESULT_BYTES) -> None:
        self._journals = journals
        self._clock = clock
        self._may_see = may_see
        self._max_bytes = max_bytes

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments, "limit", "active_minutes")
        limit = fields.whole(arguments, "limit", 20, least=1, most=100)
        minutes = fields.whole(arguments, "active_minutes", _MAX_MINUTES, least=1, most=_MAX_MINUTES)
        since = self._clock.now() - 60 * minutes
        records = [
            record
            for record in await self._journals.sessions(limit=_LOOKED_AT)
            if record.updated_at >= since and self._may_see(context.principal, context.session, record.key)
        ]
        lines = [self._line(record, context) for record in records[:limit]]
        shown = fitting(lines, self._max_bytes - _MARKER_ROOM)
        if shown < len(records):
            lines = [*lines[:shown], f"[{shown} of {len(records)} conversations]"]
        return ToolResult(
            text="\n".join(lines) or "[none]", details={"sessions": len(records)}, label=_title_label(records[:shown])
        )

    def _line(self, record: SessionRecord, context: ToolContext) -> str:
        here = " (this one)" if record.key == context.session else ""
        title = f" {_one_line(record.title, _MAX_TITLE)}" if record.title else ""
        return f"{record.key}{here}, {_ago(self._clock.now() - record.updated_at)}:{title}".rstrip(":")


class SessionsHistory:
    """What is shown keeps the labels it has in the journal, and is private besides."""

    spec = HISTORY

    def __init__(self, journals: Journals, *, may_see: MaySee = own_only, max_bytes: int = RESULT_BYTES) -> None:
        self._journals = journals
        self._may_see = may_see
        self._max_bytes = max_bytes

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments, "session", "limit", "include_tools")
        wanted = fields.text(arguments, "session")
        limit = fields.whole(arguments, "limit", 20, least=1, most=100)
        record = await self._visible(wanted, context)
        recorded = await self._journals.read(record.key, after=max(0, record.last_seq - _EVENTS))
        said = [line for each in recorded for line in _lines(each, with_tools=fields.flag(arguments, "include_tools"))]
        shown = self._last_that_fit(said[-limit:])
        label = Label(trust=Trust.SYSTEM, sources=(f"session:{record.key}",), private=True)
        for line in shown:
            label = label.join(line.label)
        lines = [line.text for line in shown]
        if len(shown) < len(said) or record.last_seq > _EVENTS:
            lines.insert(0, f"[the last {len(shown)} messages]")
        details = {"session": str(record.key), "messages": len(shown)}
        return ToolResult(text="\n".join(lines) or "[nothing was said yet]", details=details, label=label)

    async def _visible(self, wanted: str, context: ToolContext) -> SessionRecord:
        """One sentence for what is not there and what may not be seen: it tells nobody which it is."""
        try:
            key = SessionKey.parse(wanted)
        except BadInput as error:
            raise ToolError(f"{error}. {error.hint}") from None
        record = await self._journals.session(key) if self._may_see(context.principal, context.session, key) else None
        if record is None:
            raise ToolError("There is no such conversation that you may read; see sessions_list.")
        return record

    def _last_that_fit(self, said: list[_Said]) -> list[_Said]:
        count = fitting([line.text for line in reversed(said)], self._max_bytes - _MARKER_ROOM)
        return said[len(said) - count :]


def _lines(recorded: Recorded, *, with_tools: bool) -> Iterator[_Said]:
    event = recorded.event
    if isinstance(event, TurnStarted | Steered):
        for given in event.inputs:
            yield from _input(given)
    elif isinstance(event, ModelAnswered):
        for part in event.parts:
            if isinstance(part, Text) and part.text.strip():
                yield _said("assistant", part.text, event.label or part.label)
    elif isinstance(event, Noted):
        yield _said("assistant", event.text, event.label)
    elif isinstance(event, Compacted):
        yield _said("summary of what came before", event.summary, event.label)
    elif isinstance(event, ToolResulted) and with_tools:
        yield _said(f"tool {event.name}", event.text, event.label)


def _input(given: TurnInput) -> Iterator[_Said]:
    for part in given.parts:
        if isinstance(part, Text) and part.text.strip():
            yield _said(_one_line(given.sender, 80) or "user", part.text, part.label)


def _said(who: str, text: str, label: Label) -> _Said:
    whole = text.strip().replace("\n", "\n  ")
    short = cut(whole, _MAX_MESSAGE)
    more = f" [{len(whole) - len(short):,} characters more]" if len(short) < len(whole) else ""
    return _Said(text=f"{who}: {short}{more}", label=label)


def _title_label(records: list[SessionRecord]) -> Label:
    from_outside = any(record.key.scope.startswith("hook:") for record in records)
    trust = Trust.UNTRUSTED if from_outside else Trust.CONTACT
    return Label(trust=trust, sources=("sessions_list",), private=True)


def _one_line(text: str, most: int) -> str:
    line = "".join(character if character.isprintable() else " " for character in text)
    return line if len(line) <= most else line[: most - 1] + "…"


def _ago(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"
