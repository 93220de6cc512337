"""What we know of a directory between two uses: which content we last saw in which file, and what else lies there.

On the disk it is a file of lines, the first whole and each later one what has changed since: after a command that touched three
files of a thousand only these three are written. A last line that was torn is as if it had never been written.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ostiary.adapters.workspace.tree import Found
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.workspace import Use

_SCHEMA = 3
_MOST_LINES = 64
# Clocks of file systems stand still for up to a tick: what changed that recently may change again without a trace.
_TICK_NS = 50_000_000


@dataclass(slots=True)
class Seen:
    """The content a file had when it was last read or written by us."""

    digest: str
    found: Found
    is_settled: bool

    def still(self, found: Found) -> bool:
        """Whether the file certainly still holds that content, judged without reading it."""
        return self.is_settled and found == self.found


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A write that was handed out and is on its way to the documents: its version will come after `after`. An empty `digest`
    means a deletion."""

    digest: str
    after: int


@dataclass(slots=True)
class Index:
    """`pending` are the writes of the last capture, by path, and `use` whose they are. `residue` is the label of what lies in
    the directory without being a document; None if nothing does. `left` are the words in which that was last told."""

    files: dict[str, Seen] = field(default_factory=dict)
    pending: dict[str, Pending] = field(default_factory=dict)
    use: Use | None = None
    residue: Label | None = None
    left: tuple[str, ...] = ()
    is_changed: bool = True
    touched: set[str] = field(default_factory=set)
    lines: int = 0

    def see(self, path: str, digest: str, found: Found, *, now_ns: int) -> None:
        self.files[path] = Seen(digest=digest, found=found, is_settled=now_ns - found.changed > _TICK_NS)
        self._touch(path)

    def forget(self, path: str) -> None:
        if self.files.pop(path, None) is not None:
            self._touch(path)

    def _touch(self, path: str) -> None:
        self.touched.add(path)
        self.is_changed = True

    def rest(self, now_ns: int) -> None:
        """Nobody has written since and nobody does before now: what is older than a tick shows every later change."""
        for path, seen in self.files.items():
            if not seen.is_settled and now_ns - seen.found.changed > _TICK_NS:
                seen.is_settled = True
                self._touch(path)

    def hand_out(self, pending: dict[str, Pending], use: Use | None) -> None:
        if pending or self.pending:
            self.pending, self.use, self.is_changed = pending, use, True

    def leave(self, residue: Label | None, words: tuple[str, ...] = ()) -> tuple[str, ...]:
        """What lies in the directory without being a document has this label now. Gives the words that are new."""
        known = set(self.left)
        if residue != self.residue or words != self.left:
            self.residue, self.left = residue, words
            self.is_changed = True
        return tuple(word for word in words if word not in known)


def load(path: Path) -> Index | None:
    """None if there is none or it cannot be trusted: the directory is then laid out afresh."""
    index = Index(is_changed=False)
    try:
        *lines, torn = path.read_bytes().split(b"\n")
        for line in lines:
            _read(json.loads(line), index)
        if not lines:
            return None
        index.lines = len(lines) if not torn else _MOST_LINES
        return index
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None


def save(index: Index, path: Path) -> None:
    """Its time is that of the last use, whether or not anything changed."""
    if not index.is_changed and path.exists():
        os.utime(path)
        return
    is_whole = not 0 < index.lines < _MOST_LINES or len(index.touched) * 2 > len(index.files)
    line = _written(index, index.files if is_whole else index.touched)
    if is_whole:
        beside = path.with_suffix(".new")
        beside.write_text(line)
        beside.replace(path)
        index.lines = 0
    else:
        with path.open("a") as file:
            file.write(line)
    index.lines += 1
    index.touched.clear()
    index.is_changed = False


def _written(index: Index, paths: Iterable[str]) -> str:
    files = {path: (seen.digest, seen.found, seen.is_settled) if (seen := index.files.get(path)) else None for path in paths}
    raw = {
        "schema": _SCHEMA,
        "files": files,
        "pending": {name: (one.digest, one.after) for name, one in index.pending.items()},
        "use": written_use(index.use),
        "left": index.left,
        "residue": _written_label(index.residue),
    }
    return json.dumps(raw, separators=(",", ":")) + "\n"


def _read(raw: Any, index: Index) -> None:
    """Raises KeyError, TypeError, ValueError or AttributeError for what was never written so."""
    if raw["schema"] != _SCHEMA:
        raise ValueError("schema")
    for name, seen in raw["files"].items():
        if seen is None:
            index.files.pop(name, None)
        else:
            index.files[str(name)] = Seen(digest=str(seen[0]), found=_found(seen[1]), is_settled=bool(seen[2]))
    index.pending = {str(name): Pending(digest=str(one[0]), after=int(one[1])) for name, one in raw["pending"].items()}
    index.use = read_use(raw["use"])
    index.residue = _label(raw["residue"])
    index.left = tuple(map(str, raw["left"]))


def written_use(use: Use | None) -> Mapping[str, object] | None:
    if use is None:
        return None
    return {"author": use.author, "turn": use.turn, "at": use.at, "label": _written_label(use.label)}


def read_use(raw: Any) -> Use | None:
    """Raises KeyError, TypeError or ValueError for what was never written so."""
    if raw is None:
        return None
    label = _label(raw["label"])
    if label is None:
        raise ValueError("label")
    return Use(author=str(raw["author"]), turn=str(raw["turn"]), at=float(raw["at"]), label=label)


def _found(raw: list[int]) -> Found:
    inode, size, modified, changed, is_executable = raw
    return Found(int(inode), int(size), int(modified), int(changed), bool(is_executable))


def _written_label(label: Label | None) -> Mapping[str, object] | None:
    return None if label is None else {"trust": label.trust.value, "sources": list(label.sources), "private": label.private}


def _label(raw: Any) -> Label | None:
    if raw is None:
        return None
    sources = raw["sources"]
    if not isinstance(sources, list):
        raise TypeError("sources")
    return Label(trust=Trust(str(raw["trust"])), sources=tuple(map(str, sources)), private=bool(raw["private"]))
