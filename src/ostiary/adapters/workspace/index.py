"""What we know of a directory between two uses: which content we last saw in which file, and what else lies there."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ostiary.adapters.workspace.tree import Found, Signature
from ostiary.contracts.content import Label, Trust

_SCHEMA = 1
# Clocks of file systems stand still for up to a tick: what changed that recently may change again without a trace.
_TICK_NS = 50_000_000


@dataclass(slots=True)
class Seen:
    """The content a file had when it was last read or written by us."""

    digest: str
    signature: Signature
    is_settled: bool

    def still(self, found: Found) -> bool:
        """Whether the file certainly still holds that content, judged without reading it."""
        return self.is_settled and found.signature == self.signature


@dataclass(slots=True)
class Index:
    """`residue` is the label of what lies in the directory without being a document; None if nothing does. `left` are the
    words in which that was last told."""

    files: dict[str, Seen] = field(default_factory=dict)
    executable: dict[str, bool] = field(default_factory=dict)
    residue: Label | None = None
    left: tuple[str, ...] = ()
    is_changed: bool = True

    def see(self, path: str, digest: str, found: Found, *, now_ns: int) -> None:
        is_settled = now_ns - found.signature[3] > _TICK_NS
        self.files[path] = Seen(digest=digest, signature=found.signature, is_settled=is_settled)
        self.executable[path] = found.is_executable
        self.is_changed = True

    def forget(self, path: str) -> None:
        if self.files.pop(path, None) is not None:
            self.is_changed = True

    def note(self, path: str, found: Found) -> None:
        """The same content; only whether it can be executed may be new."""
        if self.executable.get(path) is not found.is_executable:
            self.executable[path] = found.is_executable
            self.is_changed = True

    def leave(self, residue: Label | None, words: tuple[str, ...] = ()) -> tuple[str, ...]:
        """What lies in the directory without being a document has this label now. Gives the words that are new."""
        known = set(self.left)
        if residue != self.residue or words != self.left:
            self.residue, self.left = residue, words
            self.is_changed = True
        return tuple(word for word in words if word not in known)


def load(path: Path) -> Index | None:
    """None if there is none or it cannot be trusted: the directory is then laid out afresh."""
    try:
        raw = json.loads(path.read_bytes())
        if raw["schema"] != _SCHEMA:
            return None
        return Index(
            files={
                name: Seen(digest=str(seen[0]), signature=_signature(seen[1]), is_settled=bool(seen[2]))
                for name, seen in raw["files"].items()
            },
            executable={str(name): bool(value) for name, value in raw["executable"].items()},
            residue=_label(raw["residue"]),
            left=tuple(map(str, raw["left"])),
            is_changed=False,
        )
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None


def save(index: Index, path: Path) -> None:
    """Its time is that of the last use, whether or not anything changed."""
    if not index.is_changed:
        os.utime(path)
        return
    raw = {
        "schema": _SCHEMA,
        "files": {name: [seen.digest, list(seen.signature), seen.is_settled] for name, seen in index.files.items()},
        "executable": index.executable,
        "left": list(index.left),
        "residue": None
        if index.residue is None
        else {"trust": index.residue.trust.value, "sources": list(index.residue.sources), "private": index.residue.private},
    }
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(raw, separators=(",", ":")))
    beside.replace(path)
    index.is_changed = False


def _signature(raw: list[int]) -> Signature:
    inode, size, modified, changed = raw
    return (int(inode), int(size), int(modified), int(changed))


def _label(raw: Mapping[str, object] | None) -> Label | None:
    if raw is None:
        return None
    sources = raw["sources"]
    if not isinstance(sources, list):
        raise TypeError("sources")
    return Label(trust=Trust(str(raw["trust"])), sources=tuple(map(str, sources)), private=bool(raw["private"]))
