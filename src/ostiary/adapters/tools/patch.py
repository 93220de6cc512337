"""apply_patch: changes to several text files at once, all or none."""

from collections.abc import Mapping

import anyio.to_thread

from ostiary.adapters.tools import fields
from ostiary.adapters.tools.diffs import counts, unified
from ostiary.adapters.tools.files import MAX_WRITTEN, WORKSPACE, Files, Target, clean_path, decode
from ostiary.adapters.tools.hunks import FilePatch, Hunk, parse
from ostiary.adapters.tools.places import BOM, Places, exactly, plain, told_nearest
from ostiary.adapters.tools.write import encode, put
from ostiary.contracts.clock import Clock
from ostiary.contracts.content import Label
from ostiary.contracts.errors import ToolError
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.store import Put, Tombstone
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec

_MAX_DETAILS = 24_000
_LARGE = 200_000
_LIKENESSES = (exactly, str.rstrip, str.strip, plain)

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
    """Blanks, kinds of quotes and dashes may differ between patch and file; what is kept is kept as it is in the file."""

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
        try:
            for patch in parse(text) if len(text) < _LARGE else await anyio.to_thread.run_sync(parse, text):
                await work.apply(patch)
            return work.result(self._clock.now())
        except ToolError as error:
            # It may show what stands in the files.
            raise ToolError(str(error), hint=error.hint, label=work.label) from None


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
            raise ToolError(f"There is no file {path[:200]}; a new one begins with *** Add File.")
        if patch.kind == "delete":
            self._after[path] = None
            return
        changed = await self._changed(content, patch, path) if patch.hunks else content
        if patch.moved_to:
            moved, there = await self._content(patch.moved_to)
            if there is not None and moved != path:
                raise ToolError(f"{moved} exists already; nothing was moved over it.")
            self._after[path] = None
            path = moved
        self._after[path] = changed

    async def _changed(self, content: bytes, patch: FilePatch, path: str) -> bytes:
        text = decode(content, path)
        if len(text) + sum(len(line) for hunk in patch.hunks for _, line in hunk.lines) < _LARGE:
            return encode(patched(text, patch.hunks, path), path)
        # Long enough to be noticed by everybody else.
        return encode(await anyio.to_thread.run_sync(patched, text, patch.hunks, path), path)

    @property
    def label(self) -> Label:
        """Of the context and of every file that was looked at."""
        label = self._context.label
        for target in self._targets.values():
            label = label if target.label is None else label.join(target.label)
        return label

    def result(self, at: float) -> ToolResult:
        there = [path for path, after in self._after.items() if after is not None]
        if any(other.startswith(f"{path}/") for path in there for other in there):
            raise ToolError("The patch makes one name a file and a folder.")
        label = self.label
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
            diff = unified(target.content, after, path, limit=room) if room > 0 else ""
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
    bom = BOM if text.startswith(BOM) else ""
    lines = text.removeprefix(BOM).split("\n")
    has_last_break = lines[-1] == "" and len(lines) > 1
    if lines[-1] == "":
        lines.pop()
    end = "\r" if lines and lines[0].endswith("\r") else ""
    if not has_last_break and lines:
        # It gets its whole line end while others may come to stand behind it.
        lines[-1] += end
    old = _Old(lines, path)
    done: list[str] = []
    place = 0
    for number, hunk in enumerate(hunks, 1):
        found = old.find(hunk, place, f"Change {number} of {path}")
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
    if has_last_break or not done:
        return bom + "".join(f"{line}\n" for line in done)
    return bom + "\n".join(done).removesuffix(end)


class _Old:
    """The lines of a file as they were, and where hunks belong in them."""

    def __init__(self, lines: list[str], path: str) -> None:
        self._lines = [line.removesuffix("\r") for line in lines]
        self._path = path
        self._places: dict[int, Places] = {}

    def find(self, hunk: Hunk, start: int, name: str) -> int:
        """Where the hunk's old lines stand, not before `start`."""
        lines, wanted = self._lines, hunk.old
        if hunk.under:
            start = _under(lines, hunk.under, start, name)
        if not wanted:
            if hunk.near is not None:
                return min(max(start, hunk.near), len(lines))
            return start if hunk.under else len(lines)
        for likeness in range(len(_LIKENESSES)):
            found = self._found(likeness, hunk, wanted, start, name)
            if found is not None:
                return found
        raise ToolError(f"{name} does not fit. {self._why(wanted, start)}")

    def _found(self, likeness: int, hunk: Hunk, wanted: list[str], start: int, name: str) -> int | None:
        places = self._like(likeness)
        last = len(self._lines) - len(wanted)
        if hunk.at_end and last >= start and places.find(wanted, last):
            return last
        if hunk.near is not None:
            return places.nearest(wanted, start, hunk.near)
        found = places.find(wanted, start)
        if len(found) > 1 and not hunk.under and not hunk.at_end:
            shown = ", ".join(str(place + 1) for place in found[:8])
            raise ToolError(f"{name} fits at several places (lines {shown}). Give more lines around it.")
        return (found[-1] if hunk.at_end else found[0]) if found else None

    def _why(self, wanted: list[str], start: int) -> str:
        above = self._like(len(_LIKENESSES) - 1).find(wanted, 0)
        if above:
            return f"Its lines are at line {above[0] + 1}, above line {start} where the change before it ends: put them in order."
        hint = told_nearest(self._lines, wanted, self._path)
        return hint or "These lines are not in the file:\n" + "\n".join(wanted[:6])[:600]

    def _like(self, likeness: int) -> Places:
        if likeness not in self._places:
            self._places[likeness] = Places(self._lines, _LIKENESSES[likeness])
        return self._places[likeness]


def _under(lines: list[str], wanted: str, start: int, name: str) -> int:
    for place in range(start, len(lines)):
        if lines[place].strip() == wanted or (wanted and lines[place].strip().startswith(wanted)):
            return place + 1
    raise ToolError(f"{name}: the line behind @@ is not in the file: {wanted[:200]}")
