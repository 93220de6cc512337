"""Patches as text: the `*** Begin Patch` format and unified diffs, read into the same few records."""

import re
from dataclasses import field
from typing import Literal

from ostiary.contracts.errors import ToolError
from ostiary.contracts.records import dataclass

MAX_FILES = 100
MAX_HUNKS = 1_000

Line = tuple[Literal[" ", "-", "+"], str]
_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_RANGE = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_NO_NEWLINE = "\\ No newline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """Lines kept, taken away and added. `near` is the line where it should be (from 0), None if unknown; `under` is a line
    that stands somewhere above. `ends` are the signs of lines marked as the file's last without a line break."""

    lines: tuple[Line, ...]
    near: int | None = None
    under: str = ""
    at_end: bool = False
    ends: frozenset[str] = frozenset()

    @property
    def old(self) -> list[str]:
        return [text for sign, text in self.lines if sign != "+"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePatch:
    """What is to be done to one file. `moved_to` is empty unless it gets another name."""

    kind: Literal["add", "update", "delete"]
    path: str
    moved_to: str = ""
    hunks: tuple[Hunk, ...] = field(default_factory=tuple)


def parse(text: str) -> tuple[FilePatch, ...]:
    """Raises ToolError with the line that cannot be understood."""
    lines = text.replace("\r\n", "\n").split("\n")
    first = next((place for place, line in enumerate(lines) if line.strip()), len(lines))
    last = next((place for place in range(len(lines), first, -1) if lines[place - 1].strip()), first)
    lines = lines[first:last]
    if lines and lines[0].startswith("```") and lines[-1].strip() == "```":
        lines = lines[1:-1]
    is_envelope = bool(lines) and lines[0].strip() == "*** Begin Patch"
    patches = _Reader(lines).envelope() if is_envelope else _Reader(lines).unified()
    if not patches:
        raise ToolError("The patch holds no change. Begin with *** Begin Patch, or with --- and +++ lines.")
    if len(patches) > MAX_FILES:
        raise ToolError(f"The patch changes {len(patches)} files; at most {MAX_FILES} are possible at once.")
    hunks = sum(len(patch.hunks) for patch in patches)
    if hunks > MAX_HUNKS:
        raise ToolError(f"The patch holds {hunks:,} changes; at most {MAX_HUNKS:,} are possible at once.")
    return tuple(patches)


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._place = 0

    def _peek(self) -> str | None:
        return self._lines[self._place] if self._place < len(self._lines) else None

    def _wrong(self, why: str) -> ToolError:
        shown = (self._peek() or "")[:120]
        return ToolError(f"Line {self._place + 1} of the patch cannot be understood ({why}): {shown}")

    def envelope(self) -> list[FilePatch]:
        patches: list[FilePatch] = []
        self._place = 1
        while (line := self._peek()) is not None:
            if line.strip() == "*** End Patch":
                return patches
            found = _FILE.fullmatch(line.rstrip())
            if found is None:
                if line.strip():
                    raise self._wrong("expected *** Add File:, *** Update File: or *** Delete File:")
                self._place += 1
                continue
            self._place += 1
            patches.append(self._section(found[1], found[2].strip()))
        raise ToolError("The patch has no *** End Patch.")

    def _section(self, verb: str, path: str) -> FilePatch:
        if verb == "Delete":
            return FilePatch(kind="delete", path=path)
        if verb == "Add":
            added: list[Line] = []
            while (line := self._peek()) is not None and not line.startswith("*** "):
                if not line.startswith("+") and line.strip():
                    raise self._wrong("lines of a new file begin with +")
                added.append(("+", line[1:]))
                self._place += 1
            return FilePatch(kind="add", path=path, hunks=(Hunk(lines=tuple(added)),))
        moved_to = ""
        line = self._peek()
        if line is not None and line.startswith("*** Move to: "):
            moved_to = line.removeprefix("*** Move to: ").strip()
            self._place += 1
        hunks = []
        while (line := self._peek()) is not None and not (line.startswith("*** ") and line.rstrip() != "*** End of File"):
            hunks.append(self._envelope_hunk())
        if not hunks and not moved_to:
            raise self._wrong(f"no change for {path[:80]}")
        return FilePatch(kind="update", path=path, moved_to=moved_to, hunks=tuple(hunks))

    def _envelope_hunk(self) -> Hunk:
        under, near = "", None
        line = self._peek() or ""
        if line.startswith("@@"):
            numbers = _RANGE.match(line)
            near = max(0, int(numbers[1]) - 1) if numbers else None
            under = "" if numbers else line[2:].removesuffix("@@").strip()
            self._place += 1
        lines, ends = self._body()
        if self._lines[self._place - 1] == "":
            # An empty line between two parts of the patch belongs to neither.
            lines = lines[: len(lines) - _empty_at_end(lines)]
        at_end = (self._peek() or "").rstrip() == "*** End of File"
        self._place += at_end
        if not lines:
            raise self._wrong("a change without lines")
        return Hunk(lines=lines, near=near, under=under, at_end=at_end, ends=ends)

    def _body(self) -> tuple[tuple[Line, ...], frozenset[str]]:
        lines: list[Line] = []
        ends: set[str] = set()
        while (line := self._peek()) is not None:
            if line.startswith(("@@", "*** ", "diff --git ", "Index: ")) or self._begins_file():
                break
            if line.startswith(_NO_NEWLINE):
                ends.add(lines[-1][0] if lines else " ")
            elif line == "":
                # Editors and models drop the blank of an empty context line.
                lines.append((" ", ""))
            elif line[0] in "+- ":
                lines.append((" " if line[0] == " " else "-" if line[0] == "-" else "+", line[1:]))
            else:
                raise self._wrong("lines begin with a blank, + or -")
            self._place += 1
        return tuple(lines), frozenset(ends)

    def _begins_file(self) -> bool:
        following = self._lines[self._place + 1] if self._place + 1 < len(self._lines) else ""
        return self._lines[self._place].startswith("--- ") and following.startswith("+++ ")

    def unified(self) -> list[FilePatch]:
        patches: list[FilePatch] = []
        renamed: dict[str, str] = {}
        while (line := self._peek()) is not None:
            if line.startswith("diff --git "):
                patches += _renames(renamed)
                renamed = {}
            elif line.startswith(("rename from ", "rename to ")):
                _, which, name = line.split(" ", 2)
                renamed[which] = name.strip()
            elif line.startswith(("copy from ", "GIT binary patch", "Binary files ")):
                raise self._wrong("only changes of text, moves and deletions are possible")
            elif self._begins_file():
                patches.append(self._unified_file())
                renamed = {}
                continue
            elif line.startswith("@@"):
                raise self._wrong("a change without --- and +++ lines above it")
            self._place += 1
        return patches + _renames(renamed)

    def _unified_file(self) -> FilePatch:
        old, new = _name(self._lines[self._place]), _name(self._lines[self._place + 1])
        self._place += 2
        hunks = []
        while (line := self._peek()) is not None and line.startswith("@@"):
            hunks.append(self._unified_hunk())
        if old is None and new is None:
            raise self._wrong("both sides are /dev/null")
        if new is None:
            return FilePatch(kind="delete", path=old or "")
        if old is None:
            return FilePatch(kind="add", path=new, hunks=tuple(hunks))
        if not hunks:
            raise self._wrong(f"no change for {new[:80]}")
        return FilePatch(kind="update", path=old, moved_to=new if old != new else "", hunks=tuple(hunks))

    def _unified_hunk(self) -> Hunk:
        numbers = _RANGE.match(self._peek() or "")
        if numbers is None:
            raise self._wrong("expected @@ -line,count +line,count @@")
        self._place += 1
        lines, ends = self._body()
        wanted = int(numbers[2] or 1), int(numbers[4] or 1)
        # A blank line behind the last hunk belongs to the message around the patch.
        lines = lines[: len(lines) - max(0, min(_empty_at_end(lines), _old_lines(lines) - wanted[0]))]
        if not lines:
            raise self._wrong("a change without lines")
        # Where nothing is old the number is that of the line in front.
        near = int(numbers[1]) - (1 if wanted[0] else 0)
        return Hunk(lines=lines, near=max(0, near), ends=ends)


def _old_lines(lines: tuple[Line, ...]) -> int:
    return sum(sign != "+" for sign, _ in lines)


def _empty_at_end(lines: tuple[Line, ...]) -> int:
    return next((count for count, line in enumerate(reversed(lines)) if line != (" ", "")), len(lines))


def _name(line: str) -> str | None:
    """The path of a --- or +++ line, None for /dev/null; the prefixes a/ and b/ and a time behind a tab are left off."""
    name = line[4:].partition("\t")[0].strip()
    if name == "/dev/null":
        return None
    return name[2:] if name.startswith(("a/", "b/")) else name


def _renames(renamed: dict[str, str]) -> list[FilePatch]:
    if "from" in renamed and "to" in renamed:
        return [FilePatch(kind="update", path=renamed["from"], moved_to=renamed["to"])]
    return []
