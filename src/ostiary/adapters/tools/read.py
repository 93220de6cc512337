"""read: a text file of the workspace, whole or from a line on."""

from collections.abc import Mapping

import anyio.to_thread

from ostiary.adapters.tools import fields
from ostiary.adapters.tools.files import RESULT_BYTES, Files, clean_path, cut, decode, fitting, label_of, lines_of
from ostiary.adapters.tools.places import BOM
from ostiary.contracts.errors import ToolError
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec

_MARKER_ROOM = 160
_MOST = 10_000_000
_LARGE = 1_000_000

SPEC = ToolSpec(
    schema=ToolSchema(
        name="read",
        description="Read a text file of the workspace.",
        parameters={
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "offset": {"type": "integer", "description": "first line; -9: the last 9"},
                "limit": {"type": "integer", "description": "lines"},
            },
            "required": ["path"],
            "additionalProperties": False,
        },
    ),
    effects=frozenset({Effect.READ}),
    repeatable=True,
    untrusted_output=False,
)


class Read:
    """Plain text without line numbers: they would cost a quarter more tokens and get in the way of quoting. What does not fit
    is cut at a line, and the last line of the result says where to read on."""

    spec = SPEC

    def __init__(self, files: Files, *, max_bytes: int = RESULT_BYTES) -> None:
        self._files = files
        self._max_bytes = max_bytes

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments, "path", "offset", "limit")
        path = clean_path(fields.text(arguments, "path"))
        offset = fields.whole(arguments, "offset", 1, least=-_MOST, most=_MOST)
        limit = fields.whole(arguments, "limit", _MOST, least=1, most=_MOST)
        found = await self._files.get(path, context) if path else None
        if found is None:
            raise ToolError(await self._not_found(path, context))
        version, content = found
        # What is long is read beside the others, not in their way.
        lines = await anyio.to_thread.run_sync(_lines, content, path) if len(content) > _LARGE else _lines(content, path)
        details: dict[str, object] = {"path": path, "version": version.version, "bytes": version.size, "lines": len(lines)}
        label = label_of(version)
        if not lines:
            return ToolResult(text="[the file is empty]", details=details, label=label)
        if offset > len(lines) or not offset:
            raise ToolError(f"{path} has {len(lines)} lines; there is no line {offset}.")
        if offset < 0:
            offset = max(1, len(lines) + 1 + offset)
        return ToolResult(text=self._show(lines, offset, limit), details=details, label=label)

    def _show(self, lines: list[str], offset: int, limit: int) -> str:
        wanted = lines[offset - 1 : offset - 1 + limit]
        if len(wanted) == len(lines) and fitting(wanted, self._max_bytes + 1) == len(lines):
            return "\n".join(wanted)
        room = self._max_bytes - _MARKER_ROOM
        count = fitting(wanted, room)
        if count == 0:
            part = cut(wanted[0], room)
            mark = f"[line {offset} of {len(lines)}, cut after {len(part):,} of its {len(wanted[0]):,} characters"
            return f"{part}\n{mark}; grep shows parts{_read_on(offset, lines)}]"
        last = offset - 1 + count
        return "\n".join(wanted[:count]) + f"\n[lines {offset}-{last} of {len(lines)}{_read_on(last, lines)}]"

    async def _not_found(self, path: str, context: ToolContext) -> str:
        files = await self._files.all(context)
        if any(file.path.startswith(f"{path}/") for file in files) or not path:
            return f"{path or '.'} is a folder; use ls."
        name = path.rpartition("/")[2].casefold()
        alike = [file.path for file in files if file.path.rpartition("/")[2].casefold() == name][:3]
        hint = f" Did you mean {' or '.join(alike)}?" if alike else " Use ls or find to see what there is."
        return f"There is no file {path[:200]}.{hint}"


def _lines(content: bytes, path: str) -> list[str]:
    return lines_of(decode(content, path).removeprefix(BOM))


def _read_on(last: int, lines: list[str]) -> str:
    return f"; read on with offset={last + 1}" if last < len(lines) else ""
