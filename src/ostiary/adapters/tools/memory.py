"""memory_search, memory_get, memory_write: what the assistant remembers, as the model uses it."""

import re
from collections.abc import Mapping
from typing import Protocol

from ostiary.adapters.tools import fields
from ostiary.adapters.tools.files import RESULT_BYTES, clean_path, cut, decode, fitting, label_of, lines_of
from ostiary.contracts.errors import BadInput, ToolError
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.plugin import PluginHost
from ostiary.contracts.store import DocumentVersion
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec

AREAS = ("long", "daily", "shared", "private", "me")
_MOST_RESULTS = 20
_MOST_LINES = 1_000_000
_MARKER_ROOM = 160
_LONGEST_QUERY = 1_000
_RANGE = re.compile(r"(?:#L?|:)(\d{1,7})(?:-L?(\d{1,7}))?$")


class Memory(Protocol):
    """What the tools stand on. It decides who may see and keep what.

    Raises BadInput for what the model should read as an error, and StoreError."""

    async def recall(self, query: str, limit: int, context: ToolContext) -> ToolResult: ...

    async def open(self, path: str, context: ToolContext) -> tuple[DocumentVersion, bytes] | None:
        """None if there is no such note for this person here."""
        ...

    async def keep(self, text: str, area: str, title: str, context: ToolContext) -> ToolResult: ...


def _spec(
    name: str, description: str, properties: Mapping[str, object], required: str, effect: Effect, *, undoable: bool = False
) -> ToolSpec:
    parameters = {"type": "object", "properties": properties, "required": [required], "additionalProperties": False}
    return ToolSpec(
        schema=ToolSchema(name=name, description=description, parameters=parameters),
        effects=frozenset({effect}),
        repeatable=True,
        untrusted_output=False,
        undoable=undoable,
    )


class MemorySearch:
    def __init__(self, memory: Memory, *, prefix: str = "") -> None:
        self.spec = _spec(
            f"{prefix}memory_search",
            "Search notes and facts remembered earlier.",
            {"query": {"type": "string"}, "limit": {"type": "integer"}},
            "query",
            Effect.READ,
        )
        self._memory = memory

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments, "query", "limit")
        query = fields.text(arguments, "query").strip()
        limit = fields.whole(arguments, "limit", 0, least=0, most=_MOST_RESULTS)
        if not query or len(query) > _LONGEST_QUERY:
            raise ToolError(f"The query must have 1 to {_LONGEST_QUERY:,} characters.")
        try:
            return await self._memory.recall(query, limit, context)
        except BadInput as error:
            raise ToolError(str(error), hint=error.hint) from None


class MemoryGet:
    """Also takes a place as search results and citations write it: `path:3-5`, `path#L3-L5`."""

    def __init__(self, memory: Memory, *, prefix: str = "", max_bytes: int = RESULT_BYTES) -> None:
        whole = {"type": "integer"}
        self.spec = _spec(
            f"{prefix}memory_get",
            "Read a memory file.",
            {"path": {"type": "string"}, "from": {**whole, "description": "first line"}, "lines": whole},
            "path",
            Effect.READ,
        )
        self._memory = memory
        self._max_bytes = max_bytes

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments, "path", "from", "lines")
        asked = fields.text(arguments, "path")
        first, count = 1, _MOST_LINES
        place = _RANGE.search(asked)
        if place is not None:
            asked, first = asked[: place.start()], max(1, int(place[1]))
            count = max(1, int(place[2] or place[1]) - first + 1)
        path = clean_path(asked)
        first = fields.whole(arguments, "from", first, least=1, most=_MOST_LINES)
        count = fields.whole(arguments, "lines", count, least=1, most=_MOST_LINES)
        found = await self._memory.open(path, context) if path else None
        if found is None:
            raise ToolError(f"There is no memory file {path[:200] or '.'} for you here. Search for what you need.")
        version, content = found
        lines = lines_of(decode(content, path))
        if first > len(lines):
            raise ToolError(f"{path} has {len(lines)} lines; there is no line {first}.")
        details: dict[str, object] = {"path": path, "version": version.version, "lines": len(lines)}
        return ToolResult(text=self._shown(lines, first, count), details=details, label=label_of(version))

    def _shown(self, lines: list[str], first: int, count: int) -> str:
        wanted = lines[first - 1 : first - 1 + count]
        room = self._max_bytes - _MARKER_ROOM
        fit = fitting(wanted, room)
        if fit == len(lines):
            return "\n".join(lines)
        shown = "\n".join(wanted[:fit]) if fit else cut(wanted[0], room)
        last = first + max(fit, 1) - 1
        more = f"; read on with from={last + 1}" if last < len(lines) else ""
        return f"{shown}\n[lines {first}-{last} of {len(lines)}{more}]"


class MemoryWrite:
    """What it keeps is committed with its result; each note is a version of its own, so /undo takes it back."""

    def __init__(self, memory: Memory, *, prefix: str = "") -> None:
        self.spec = _spec(
            f"{prefix}memory_write",
            "Remember one fact. long: lasting; daily: today's; me: about the person speaking.",
            {"text": {"type": "string"}, "area": {"type": "string", "enum": list(AREAS)}, "title": {"type": "string"}},
            "text",
            Effect.WRITE,
            undoable=True,
        )
        self._memory = memory

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments, "text", "area", "title")
        text, title = fields.text(arguments, "text"), fields.text(arguments, "title", "")
        area = fields.text(arguments, "area", "")
        if area and area not in AREAS:
            raise ToolError(f"area must be one of {', '.join(AREAS)}.")
        try:
            return await self._memory.keep(text, area, title, context)
        except BadInput as error:
            raise ToolError(str(error), hint=error.hint) from None


def register_memory(host: PluginHost, *, memory: Memory, prefix: str = "", max_bytes: int = RESULT_BYTES) -> None:
    """The three tools. `prefix` gives them the names that a posture knows them by (vault_)."""
    host.add_tool(MemorySearch(memory, prefix=prefix))
    host.add_tool(MemoryGet(memory, prefix=prefix, max_bytes=max_bytes))
    host.add_tool(MemoryWrite(memory, prefix=prefix))
