"""apply_patch: changes to several text files at once, all or none."""

from collections.abc import Mapping

from ostiary.adapters.tools import fields
from ostiary.adapters.tools.diffs import counts, unified
from ostiary.adapters.tools.files import MAX_WRITTEN, WORKSPACE, Files, Target, clean_path, decode
from ostiary.adapters.tools.hunks import FilePatch, Hunk, parse
from ostiary.adapters.tools.write import encode, put
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import ToolError
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.store import Put, Tombstone
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec

_MAX_DETAILS = 24_000

SPEC = ToolSpec(
    schema=ToolSchema(
        name="apply_patch",
        description="Change several workspace files at once, all or none: *** Begin Patch format or unified diff.",
        parameters={
            "type": "object",
            "properties": {"patch": {"type": "string"}},
            "required": ["patch"],
            "additionalProperties": False,
        },
    ),
    effects=frozenset({Effect.WRITE}),
    repeatable=True,
    untrusted_output=False,
    undoable=True,
)


class ApplyPatch:
    """Blanks at line ends and indentation may differ between patch and file; what is kept is kept as it is in the file."""

    spec = SPEC

    def __init__(self, files: Files, clock: Clock) -> None:
        self._files = files
        self._clock = clock

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments, "patch")
        text = fields.text(arguments, "patch")
        if len(text) > MAX_WRITTEN:
            raise ToolError(f"The patch is {len(text):,} characters long; at most {MAX_WRITTEN:,} are possible.")
        work = _Work(self._files, context)
        for patch in parse(text):
            await work.apply(patch)
        return work.result(self._clock.now())


class _Work:
    """Files as they are and as they will be; nothing is written until every part of the patch has found its place."""

    def __init__(self, files: Files, context: ToolContext) -> None:
        self._files = files
        self._context = context
        self._targets: dict[str, Target] = {}
        self._after: dict[str, bytes | None] = {}

    async def _content(self, written: str) -> tuple[str, bytes | None]:
        path = clean_path(written)
        if path not in self._targets:
            self._targets[path] = await self._files.target(path, self._context)
            self._after[path] = self._targets[path].content
        return path, self._after[path]

    async def apply(self, patch: FilePatch) -> None:
        path, content = await self._content(patch.path)
        if patch.kind == "add":
            if content is not None:
                raise ToolError(f"{path} exists already; use *** Update File.")
            added = "".join(f"{text}\n" for hunk in patch.hunks for sign, text in hunk.lines if sign == "+")
            ends = any("+" in hunk.ends for hunk in patch.hunks)
            self._after[path] = encode(added.removesuffix("\n") if ends else added, path)
            return
        if content is None:
            raise ToolError(f"There is no file {path[:200]}.")
        if patch.kind == "delete":
            self._after[path] = None
            return
        changed = encode(patched(decode(content, path), patch.hunks, path), path) if patch.hunks else content
        if patch.moved_to:
            moved, there = await self._content(patch.moved_to)
            if there is not None and moved != path:
                raise ToolError(f"{moved} exists already; nothing was moved over it.")
            self._after[path] = None
            path = moved
        self._after[path] = changed

    def result(self, at: float) -> ToolResult:
        there = [path for path, after in self._after.items() if after is not None]
        if any(other.startswith(f"{path}/") for path in there for other in there):
            raise ToolError("The patch makes one name a file and a folder.")
        label = self._context.label
        for target in self._targets.values():
            label = label if target.label is None else label.join(target.label)
        writes: list[Put | Tombstone] = []
        lines: list[str] = []
        changes: list[dict[str, object]] = []
        room = _MAX_DETAILS
        for path, after in self._after.items():
            target = self._targets[path]
            if after == target.content:
                continue
            if after is None:
                writes.append(self._tombstone(target, at))
            else:
                writes.append(put(target, after, self._context, label=label, at=at))
            added, gone = counts(target.content, after)
            verb = "Deleted" if after is None else "Added" if target.content is None else "Changed"
            lines.append(f"{verb} {path} (+{added} -{gone} lines).")
            diff = unified(target.content, after, path, limit=max(200, room))
            room -= len(diff)
            changes.append({"path": path, "change": verb.lower(), "version": target.version + 1, "diff": diff})
        if not writes:
            raise ToolError("The patch changes nothing: the files are like that already.")
        return ToolResult(text="\n".join(lines), details={"changes": changes}, label=label, writes=tuple(writes))

    def _tombstone(self, target: Target, at: float) -> Tombstone:
        return Tombstone(
            collection=WORKSPACE,
            path=target.place,
            at=at,
            author=str(self._context.principal.user),
            turn=self._context.turn,
            expect_version=target.version,
        )


def patched(text: str, hunks: tuple[Hunk, ...], path: str) -> str:
    """The text with every hunk applied in order. Raises ToolError naming the one that does not fit, or fits twice."""
    lines = text.split("\n")
    has_last_break = lines[-1] == "" and len(lines) > 1
    if lines[-1] == "":
        lines.pop()
    end = "\r" if lines and lines[0].endswith("\r") else ""
    done: list[str] = []
    place = 0
    for number, hunk in enumerate(hunks, 1):
        found = _find(lines, hunk, place, f"Change {number} of {path}")
        done += lines[place:found]
        place = found
        for sign, added in hunk.lines:
            if sign == "+":
                done.append(added + end)
                continue
            if sign == " ":
                done.append(lines[place])
            place += 1
        if place == len(lines) and hunk.ends:
            has_last_break = not hunk.ends & {"+", " "}
        elif not lines:
            has_last_break = True
    done += lines[place:]
    return "\n".join(done) + ("\n" if has_last_break and done else "")


def _find(lines: list[str], hunk: Hunk, start: int, name: str) -> int:
    """Where the hunk's old lines stand, not before `start`."""
    if hunk.under:
        start = _under(lines, hunk.under, start, name)
    old = hunk.old
    if not old:
        if hunk.near is not None:
            return min(max(start, hunk.near), len(lines))
        return start if hunk.under else len(lines)
    for same in (_exactly, str.rstrip, str.strip):
        wanted = [same(line) for line in old]
        have = [same(line.removesuffix("\r")) for line in lines]
        places = [place for place in range(start, len(have) - len(old) + 1) if have[place : place + len(old)] == wanted]
        if hunk.at_end:
            places = [place for place in places if place + len(old) == len(lines)] or places
        if not places:
            continue
        if hunk.near is not None:
            near = hunk.near
            return min(places, key=lambda place: abs(place - near))
        if len(places) > 1 and not hunk.under and not hunk.at_end:
            shown = ", ".join(str(place + 1) for place in places[:8])
            raise ToolError(f"{name} fits at several places (lines {shown}). Give more lines around it.")
        return places[-1] if hunk.at_end else places[0]
    raise ToolError(f"{name} does not fit: these lines are not in the file (after line {start}):\n" + "\n".join(old[:6])[:600])


def _exactly(text: str) -> str:
    return text


def _under(lines: list[str], wanted: str, start: int, name: str) -> int:
    for place in range(start, len(lines)):
        if lines[place].strip() == wanted or (wanted and lines[place].strip().startswith(wanted)):
            return place + 1
    raise ToolError(f"{name}: the line behind @@ is not in the file: {wanted[:200]}")
