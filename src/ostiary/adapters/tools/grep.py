"""grep: lines of workspace files that match a pattern, in bounded time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import anyio.lowlevel

from ostiary.adapters.tools import fields
from ostiary.adapters.tools.automaton import BadPattern, compile_regex
from ostiary.adapters.tools.files import RESULT_BYTES, File, Files, cut, label_of, lines_of
from ostiary.adapters.tools.listing import fitting_paths
from ostiary.contracts.errors import ToolError
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.store import DocumentVersion
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec

MAX_SCANNED = 4_000_000
_MAX_FILE = 2_000_000
_BATCH = 40_000
_LINE_BYTES = 300
_MARKER_ROOM = 200
_SIGNS = frozenset("\\.[](){}*+?^$|")

SPEC = ToolSpec(
    schema=ToolSchema(
        name="grep",
        description="Search workspace files for a regular expression (no look-around or back references). Gives path:line: text.",
        parameters={
            "type": "object",
            "properties": {
                "pattern": {"type": "string"},
                "glob": {"type": "string", "description": "only these files"},
                "ignore_case": {"type": "boolean"},
            },
            "required": ["pattern"],
            "additionalProperties": False,
        },
    ),
    effects=frozenset({Effect.READ}),
    repeatable=True,
    untrusted_output=False,
)


@dataclass(slots=True)
class _Hunt:
    """A search under way: what was found and what may still be spent."""

    room: int
    lines: list[str] = field(default_factory=list)
    versions: list[DocumentVersion] = field(default_factory=list)
    scanned: int = 0
    files: int = 0
    stopped: str = ""


class Grep:
    """Linear in the text searched, at most MAX_SCANNED characters, and the event loop breathes between batches."""

    spec = SPEC

    def __init__(self, files: Files, *, max_bytes: int = RESULT_BYTES, max_scanned: int = MAX_SCANNED) -> None:
        self._files = files
        self._max_bytes = max_bytes
        self._max_scanned = max_scanned

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments, "pattern", "glob", "ignore_case")
        search = _searcher(fields.text(arguments, "pattern"), ignore_case=fields.flag(arguments, "ignore_case"))
        glob = fields.text(arguments, "glob", "**")
        matches = fitting_paths(glob)
        hunt = _Hunt(room=self._max_bytes - _MARKER_ROOM)
        try:
            for file in await self._files.all(context):
                if matches(file.path):
                    await self._search(file, search, hunt)
                if hunt.stopped:
                    break
        except BadPattern as error:
            raise ToolError(f"Bad pattern: {error}.") from None
        return ToolResult(
            text="\n".join([*hunt.lines, *_closing(hunt)]),
            details={"lines": len(hunt.lines), "files": hunt.files, "characters": hunt.scanned, "stopped": hunt.stopped},
            label=label_of(*hunt.versions),
        )

    async def _search(self, file: File, search: Callable[[str], bool], hunt: _Hunt) -> None:
        if file.version.size > _MAX_FILE:
            return
        content = await self._files.content(file)
        if b"\x00" in content[:4096]:
            return
        hunt.files += 1
        since_pause = 0
        for number, line in enumerate(lines_of(content.decode("utf-8", "replace")), 1):
            hunt.scanned += len(line) + 1
            since_pause += len(line) + 1
            if hunt.scanned > self._max_scanned:
                hunt.stopped = f"after {self._max_scanned:,} characters, in {file.path}"
                return
            if search(line):
                self._add(file, number, line, hunt)
            if hunt.stopped:
                return
            if since_pause > _BATCH:
                since_pause = 0
                await anyio.lowlevel.checkpoint()

    def _add(self, file: File, number: int, line: str, hunt: _Hunt) -> None:
        shown = cut(line.strip(), _LINE_BYTES)
        entry = f"{file.path}:{number}: {shown}" + ("…" if len(shown) < len(line.strip()) else "")
        size = len(entry.encode("utf-8", "replace")) + 1
        if size > hunt.room:
            hunt.stopped = f"at {file.path}:{number}, the result is full"
            return
        hunt.room -= size
        hunt.lines.append(entry)
        if not hunt.versions or hunt.versions[-1] is not file.version:
            hunt.versions.append(file.version)


def _closing(hunt: _Hunt) -> list[str]:
    if hunt.stopped:
        return [f"[stopped {cut(hunt.stopped, 120)}; narrow it with glob or pattern]"]
    return [] if hunt.lines else [f"[no match in {hunt.files} files]"]


def _searcher(pattern: str, *, ignore_case: bool) -> Callable[[str], bool]:
    """Plain words are looked up directly; everything else runs on the automaton. Raises ToolError."""
    if not pattern:
        raise ToolError("The pattern is empty.")
    if not _SIGNS & set(pattern) and not ignore_case:
        return lambda line: pattern in line
    try:
        return compile_regex(pattern, ignore_case=ignore_case).search
    except BadPattern as error:
        raise ToolError(f"Bad pattern: {error}.") from None
