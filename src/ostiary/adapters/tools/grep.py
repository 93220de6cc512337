"""grep: lines of workspace files that match a pattern, in bounded time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import anyio.lowlevel
import anyio.to_thread

from ostiary.adapters.tools import fields
from ostiary.adapters.tools.automaton import BadPattern, compile_regex
from ostiary.adapters.tools.files import RESULT_BYTES, File, Files, clean_path, cut, label_of, lines_of
from ostiary.adapters.tools.ignoring import NAME, Ignored
from ostiary.adapters.tools.listing import fitting_paths
from ostiary.adapters.tools.places import BOM
from ostiary.contracts.errors import ToolError
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.store import DocumentVersion
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec

MAX_SCANNED = 10_000_000
MAX_CONTEXT = 20
_LARGE = 1_000_000
_LONG = 200_000
_IGNORE_FILES = 50
_LINE_BYTES = 300
_BEFORE = 200
_MARKER_ROOM = 200
_SIGNS = frozenset("\\.[](){}*+?^$|")

SPEC = ToolSpec(
    schema=ToolSchema(
        name="grep",
        description="Search workspace files for a regular expression. Gives path:line: text.",
        parameters={
            "type": "object",
            "properties": {
                "pattern": {"type": "string"},
                "glob": {"type": "string", "description": "only these files"},
                "context": {"type": "integer", "description": "lines around"},
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


Reach = Callable[[str], int]
"""Where in a line the first match ends, -1 if there is none."""


@dataclass(frozen=True, slots=True)
class _Looking:
    """What is looked for. A file without the bytes of `word` (if any) cannot hold it."""

    reach: Reach
    word: bytes = b""


@dataclass(slots=True)
class _Hunt:
    """A search under way: what was found and what may still be spent."""

    room: int
    around: int
    lines: list[str] = field(default_factory=list)
    versions: list[DocumentVersion] = field(default_factory=list)
    matches: int = 0
    scanned: int = 0
    files: int = 0
    ignored: int = 0
    stopped: str = ""


class Grep:
    """Linear in the text searched, at most MAX_SCANNED characters, and nobody else waits for it. What .gitignore names is left
    out unless `glob` names it; large files come last."""

    spec = SPEC

    def __init__(self, files: Files, *, max_bytes: int = RESULT_BYTES, max_scanned: int = MAX_SCANNED) -> None:
        self._files = files
        self._max_bytes = max_bytes
        self._max_scanned = max_scanned

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments, "pattern", "glob", "context", "ignore_case")
        looking = _looking(fields.text(arguments, "pattern"), ignore_case=fields.flag(arguments, "ignore_case"))
        glob = fields.text(arguments, "glob", "")
        around = fields.whole(arguments, "context", 0, least=0, most=MAX_CONTEXT)
        hunt = _Hunt(room=self._max_bytes - _MARKER_ROOM, around=around)
        try:
            for file in await self._chosen(await self._files.all(context), glob, hunt):
                await self._search(file, looking, hunt)
                if hunt.stopped:
                    break
        except BadPattern as error:
            raise ToolError(f"Bad pattern: {error}.") from None
        return ToolResult(
            text="\n".join([*hunt.lines, *_closing(hunt)]),
            details={"lines": hunt.matches, "files": hunt.files, "characters": hunt.scanned, "stopped": hunt.stopped},
            label=label_of(*hunt.versions),
        )

    async def _chosen(self, files: list[File], glob: str, hunt: _Hunt) -> list[File]:
        if glob:
            matches, folder = fitting_paths(glob), f"{clean_path(glob)}/"
            chosen = [file for file in files if matches(file.path) or file.path.startswith(folder)]
        else:
            rules = [file for file in files if file.path.rpartition("/")[2] == NAME][:_IGNORE_FILES]
            contents = {rule.path: (await self._files.content(rule)).decode("utf-8", "replace") for rule in rules}
            # Every file times every rule: too much to let others wait for it.
            chosen = await anyio.to_thread.run_sync(_not_ignored, files, contents)
            hunt.ignored = len(files) - len(chosen)
        return sorted(chosen, key=lambda file: file.version.size > _LARGE)

    async def _search(self, file: File, looking: _Looking, hunt: _Hunt) -> None:
        content = await self._files.content(file)
        if b"\x00" in content[:4096]:
            return
        hunt.files += 1
        if looking.word not in content:
            await anyio.lowlevel.checkpoint()
        elif len(content) > _LONG:
            # Beside the others, not in their way.
            await anyio.to_thread.run_sync(self._scan, file, content, looking, hunt)
        else:
            self._scan(file, content, looking, hunt)
            await anyio.lowlevel.checkpoint()

    def _scan(self, file: File, content: bytes, looking: _Looking, hunt: _Hunt) -> None:
        lines = [line.removesuffix("\r") for line in lines_of(content.decode("utf-8", "replace").removeprefix(BOM))]
        shown = 0
        for number, line in enumerate(lines, 1):
            hunt.scanned += len(line) + 1
            if hunt.scanned > self._max_scanned:
                hunt.stopped = f"after {self._max_scanned:,} characters, in {file.path}"
                return
            end = looking.reach(line)
            if end >= 0:
                shown = _add(file, lines, number, end, shown, hunt)
            if hunt.stopped:
                return


def _not_ignored(files: list[File], contents: Mapping[str, str]) -> list[File]:
    hides = Ignored(contents)
    return [file for file in files if not hides(file.path)]


def _add(file: File, lines: Sequence[str], number: int, end: int, shown: int, hunt: _Hunt) -> int:
    """The match at line `number`, with the lines around it that were not shown yet. Gives the last line that was."""
    hunt.matches += 1
    if number <= shown:
        # It was shown as a neighbour; it is marked as what it is.
        at = len(hunt.lines) - 1 - (shown - number)
        hunt.lines[at] = f"{file.path}:{number}:{hunt.lines[at].partition(f'-{number}-')[2]}"
    first, last = max(shown + 1, number - hunt.around), min(len(lines), number + hunt.around)
    for each in range(first, last + 1):
        mark = ":" if each == number else "-"
        entry = f"{file.path}{mark}{each}{mark} {_excerpt(lines[each - 1], end if each == number else 0)}"
        if each == first and hunt.around and hunt.lines and each > shown + 1:
            entry = f"--\n{entry}"
        size = len(entry.encode("utf-8", "replace")) + 1
        if size > hunt.room:
            hunt.stopped = f"at {file.path}:{each}, the result is full"
            return shown
        hunt.room -= size
        hunt.lines.append(entry)
        if not hunt.versions or hunt.versions[-1] is not file.version:
            hunt.versions.append(file.version)
        shown = each
    return shown


def _excerpt(line: str, end: int) -> str:
    """Of a long line the part in which the match ends."""
    line = line.rstrip()
    start = end - _BEFORE if end > _BEFORE and len(line) > _LINE_BYTES else 0
    part = line[start:].lstrip() if not start else line[start:]
    shown = cut(part, _LINE_BYTES)
    return ("…" if start else "") + shown + ("…" if len(shown) < len(part) else "")


def _closing(hunt: _Hunt) -> list[str]:
    if hunt.stopped:
        return [f"[stopped {cut(hunt.stopped, 120)}; narrow it with glob or pattern]"]
    ignored = f"; {hunt.ignored} ignored by .gitignore, unless glob names them" if hunt.ignored else ""
    return [] if hunt.lines else [f"[no match in {hunt.files} files{ignored}]"]


def _looking(pattern: str, *, ignore_case: bool) -> _Looking:
    """Plain words are looked up directly; everything else runs on the automaton. Raises ToolError."""
    if not pattern:
        raise ToolError("The pattern is empty.")
    if not _SIGNS & set(pattern) and not ignore_case:
        size = len(pattern)
        return _Looking(
            lambda line: place + size if (place := line.find(pattern)) >= 0 else -1, pattern.encode("utf-8", "replace")
        )
    try:
        return _Looking(compile_regex(pattern, ignore_case=ignore_case).reach)
    except BadPattern as error:
        raise ToolError(f"Bad pattern: {error}.") from None
