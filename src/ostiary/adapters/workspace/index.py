"""What we know of a directory between two uses: which content we last saw in which file, and what else lies there."""

import json
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
    """`residue` is the label of what lies in the directory without being a document; None if nothing does."""

    files: dict[str, Seen] = field(default_factory=dict)
    executable: dict[str, bool] = field(default_factory=dict)
    residue: Label | None = None

    def see(self, path: str, digest: str, found: Found, *, now_ns: int) -> None:
        is_settled = now_ns - found.signature[3] > _TICK_NS
        self.files[path] = Seen(digest=digest, signature=found.signature, is_settled=is_settled)
        self.executable[path] = found.is_executable


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
        )
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None


def save(index: Index, path: Path) -> None:
    raw = {
        "schema": _SCHEMA,
        "files": {name: [seen.digest, list(seen.signature), seen.is_settled] for name, seen in index.files.items()},
        "executable": index.executable,
        "residue": None
        if index.residue is None
        else {"trust": index.residue.trust.value, "sources": list(index.residue.sources), "private": index.residue.private},
    }
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(raw, separators=(",", ":")))
    beside.replace(path)


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
