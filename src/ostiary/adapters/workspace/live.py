"""A directory in use: what we know of it, who is in it, and the mark that tells a later life of an unfinished use."""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from ostiary.adapters.workspace import index as indexes
from ostiary.adapters.workspace.index import Index
from ostiary.adapters.workspace.tree import remove_tree
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import DocumentVersion
from ostiary.contracts.workspace import NOBODY, Access, Use

NOTHING = Label(trust=Trust.SYSTEM)
STALE = (-1, False)


@dataclass(slots=True, eq=False)
class LiveTree:
    """`base` is what of the documents lies in it, `documents_label` their labels joined; both belong to `generation` of the
    mirror and to sessions that are private or not. `users` are the leases in it now, `session` used it last. `is_believed` once
    `index` was compared with the directory in this life. `is_open` while something may have changed in it that nobody has
    captured. `told` waits to be told at its next use. Whoever reads or writes any of it holds `lock`."""

    slot: Path
    access: Access
    index: Index
    is_open: bool
    use: Use = NOBODY
    base: Mapping[str, DocumentVersion] = field(default_factory=dict)
    documents_label: Label = NOTHING
    generation: tuple[int, bool] = STALE
    users: dict[int, Use] = field(default_factory=dict)
    is_believed: bool = False
    session: SessionKey | None = None
    told: tuple[str, ...] = ()
    lock: anyio.Lock = field(default_factory=anyio.Lock)

    @property
    def documents(self) -> Path:
        """Where documents are laid out."""
        return self.slot / ("files" if self.access == "rw" else "agent")

    @property
    def directory(self) -> Path:
        """Where a command writes."""
        return self.slot / ("files" if self.access == "rw" else "scratch")

    def label(self, *, besides: int = 0) -> Label:
        """Of everything that lies there, and of whoever is at work in it (`besides`: one lease whose own label is known)."""
        label = self.documents_label
        if self.index.residue is not None:
            label = label.join(self.index.residue)
        for key, use in self.users.items():
            label = label if key == besides else label.join(use.label)
        return label

    def hold(self, base: Mapping[str, DocumentVersion], label: Label, generation: tuple[int, bool]) -> None:
        self.base, self.documents_label, self.generation = base, label, generation

    def open(self, use: Use) -> None:
        """From here on commands may change it. What we know of it is on the disk first."""
        if not self.users:
            self.index.rest(time.time_ns())
        self.save()
        _mark(self.slot, self.access).write_text(json.dumps(indexes.written_use(use)))
        self.is_open = True
        self.use = use

    def save(self) -> None:
        """What we know of it is on the disk."""
        indexes.save(self.index, _index(self.slot, self.access))

    def close(self) -> None:
        """One of its users is done, and everything in it is captured."""
        self.save()
        if len(self.users) <= 1:
            # Last: whoever finds the mark looks for what was not captured.
            _mark(self.slot, self.access).unlink(missing_ok=True)
            self.is_open = False


def load(slot: Path, access: Access) -> LiveTree:
    """Made if it is not there; emptied if nothing is known of it."""
    slot.mkdir(mode=0o700, parents=True, exist_ok=True)
    index, mark = indexes.load(_index(slot, access)), _mark(slot, access)
    tree = LiveTree(slot=slot, access=access, index=index or Index(), is_open=mark.exists())
    if index is None:
        empty(tree)
    elif tree.is_open:
        try:
            tree.use = indexes.read_use(json.loads(mark.read_bytes())) or NOBODY
        except (OSError, ValueError, KeyError, TypeError):
            tree.use = NOBODY
    return tree


def empty(tree: LiveTree) -> None:
    """Nothing is left in it, and nothing known of it."""
    for folder in {tree.documents, tree.directory}:
        remove_tree(folder)
    _index(tree.slot, tree.access).unlink(missing_ok=True)
    _mark(tree.slot, tree.access).unlink(missing_ok=True)
    tree.index = Index()
    tree.is_open = False
    tree.is_believed = True
    tree.hold({}, NOTHING, STALE)


def has_room(slot: Path, least: int) -> bool:
    free = os.statvfs(slot)
    return free.f_bavail * free.f_frsize >= least


def is_unfinished(slot: Path) -> bool:
    """Whether a use of it may not have come to its end."""
    if _mark(slot, "rw").exists():
        return True
    index = indexes.load(_index(slot, "rw"))
    return index is not None and bool(index.pending)


def last_use(place: Path) -> float:
    return max((entry.stat().st_mtime for entry in place.glob("*/*.json")), default=0.0)


def _index(slot: Path, access: Access) -> Path:
    return slot / ("rw.json" if access == "rw" else "ro.json")


def _mark(slot: Path, access: Access) -> Path:
    return slot / ("rw.in-use" if access == "rw" else "ro.in-use")
