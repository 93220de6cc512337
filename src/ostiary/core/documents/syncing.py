"""Two-way sync of a folder and a collection, decided from three states: as both were after the last sync, and as each is now.

Nothing is overwritten that the other side has not seen: where both changed, the collection's content keeps the name and the
folder's content goes on under a name of its own, on both sides. A side that is suddenly empty deletes nothing.
"""

from collections.abc import Mapping
from typing import Literal

from ostiary.contracts.records import dataclass

_FEW = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """What is compared of a file or document: its content by digest, and whether it may be executed."""

    digest: str
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One change to a side. `file` is what is there afterwards, None for a deletion; `source` is the path on the other side
    whose content it is. Before doing it, see that the side still holds `expected` (None: nothing) at `path`."""

    kind: Literal["create", "update", "delete"]
    path: str
    file: File | None
    expected: File | None
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """Both sides changed `path`: the folder's content is kept as `copy`, first in the folder itself, then in the collection."""

    path: str
    copy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncPlan:
    """Carry out the clashes' copies in the folder first (rename `path` to `copy`), then the steps. `base` is the state to
    remember when all of it has been done. A plan with a `refusal` has no steps: the sentence says why."""

    to_collection: tuple[Step, ...] = ()
    to_folder: tuple[Step, ...] = ()
    clashes: tuple[Clash, ...] = ()
    base: Mapping[str, File]
    refusal: str = ""


def sync_plan(
    base: Mapping[str, File],
    folder: Mapping[str, File],
    collection: Mapping[str, File],
    *,
    date: str,
    allow_deletions: bool = False,
) -> SyncPlan:
    """`base` is empty the first time. `date` (like 2026-11-16) goes into the names of copies.

    `allow_deletions` is a person's word that an empty side, or one that lost more than half of its files, is meant so."""
    refusal = "" if allow_deletions else _refusal(base, folder, collection)
    if refusal:
        return SyncPlan(base=base, refusal=refusal)
    to_collection: list[Step] = []
    to_folder: list[Step] = []
    clashes: list[Clash] = []
    after: dict[str, File] = {}
    taken = {*base, *folder, *collection}
    for path in sorted(taken):
        before, here, there = base.get(path), folder.get(path), collection.get(path)
        side, keeps = _decision(before, here, there)
        if keeps is not None:
            after[path] = keeps
        if side == "collection":
            to_collection.append(_step(path, there, keeps))
        elif side in ("folder", "both"):
            to_folder.append(_step(path, here if side == "folder" else None, keeps))
        if side == "both" and here is not None:
            copy = _copy_name(path, date, taken)
            taken.add(copy)
            clashes.append(Clash(path=path, copy=copy))
            to_collection.append(_step(copy, None, here))
            after[copy] = here
    return SyncPlan(to_collection=tuple(to_collection), to_folder=tuple(to_folder), clashes=tuple(clashes), base=after)


def _decision(
    before: File | None, here: File | None, there: File | None
) -> tuple[Literal["", "folder", "collection", "both"], File | None]:
    """Which side must change, and what both hold afterwards."""
    if here == there:
        return "", here
    if there == before or there is None:
        # Unchanged in the collection; or deleted there and changed here, and then the change counts more.
        return ("folder", None) if here == before else ("collection", here)
    if here == before or here is None or here.digest == there.digest:
        return "folder", there
    return "both", there


def _step(path: str, expected: File | None, file: File | None) -> Step:
    kind: Literal["create", "update", "delete"] = "delete" if file is None else "create" if expected is None else "update"
    return Step(kind=kind, path=path, file=file, expected=expected, source="" if file is None else path)


def _refusal(base: Mapping[str, File], folder: Mapping[str, File], collection: Mapping[str, File]) -> str:
    for name, side, other in (("folder", folder, collection), ("collection", collection, folder)):
        if base and other and not side:
            return f"The {name} is empty, and after the last sync it was not: nothing is deleted. Is the right one open?"
        lost = sum(1 for path in base if path not in side and path in other)
        if lost > max(_FEW, len(base) // 2):
            return f"The {name} has lost {lost} of {len(base)} files since the last sync: nothing is deleted unless it is meant."
    return ""


def _copy_name(path: str, date: str, taken: set[str]) -> str:
    """`notes/plan.md` becomes `notes/plan.conflict-2026-11-16.md`, with a number where that is taken."""
    folder, slash, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    if not stem:
        stem, dot, ending = name, "", ""
    number = 1
    while True:
        mark = f"conflict-{date}" if number == 1 else f"conflict-{date}-{number}"
        copy = f"{folder}{slash}{stem}.{mark}{dot}{ending}"
        if copy not in taken:
            return copy
        number += 1
