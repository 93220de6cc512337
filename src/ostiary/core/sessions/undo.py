"""Taking back what a turn did to documents: each becomes what it was before the turn, as a new version.

Nothing of anybody else is overwritten: a document that was changed since, or in the middle of the turn by somebody else, is
left alone and named.
"""

from collections.abc import Mapping, Sequence

from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Documents, DocumentVersion, Put, Tombstone

Place = tuple[str, str]
Stored = tuple[DocumentVersion, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """`writes` are compare-and-swap and go in one commit. `restored` and `deleted` are paths; `conflicts` say with the path
    why a document is left as it is."""

    writes: tuple[Put | Tombstone, ...] = ()
    restored: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


def spans(changed: Sequence[DocumentVersion]) -> dict[Place, tuple[int, int]]:
    """The first and the last version that the turn wrote of each document."""
    found: dict[Place, tuple[int, int]] = {}
    for version in changed:
        place = (version.collection, version.path)
        first, last = found.get(place, (version.version, version.version))
        found[place] = (min(first, version.version), max(last, version.version))
    return found


def undo_writes(
    changed: Sequence[DocumentVersion],
    current: Mapping[Place, DocumentVersion],
    before: Mapping[Place, Stored],
    *,
    at: float,
    author: str,
    turn: str = "",
) -> Undo:
    """`changed` is every version the turn wrote; `current` the newest version of each of these documents, tombstones
    included; `before` the version in front of the turn's first, where there is one. `turn` is what the undoing itself is
    recorded under."""
    counts: dict[Place, int] = {}
    for version in changed:
        place = (version.collection, version.path)
        counts[place] = counts.get(place, 0) + 1
    writes: list[Put | Tombstone] = []
    restored: list[str] = []
    deleted: list[str] = []
    conflicts: list[str] = []
    for place, (first, last) in spans(changed).items():
        path = place[1]
        newest = current.get(place)
        if newest is None or newest.version != last:
            conflicts.append(f"{path} was changed since")
            continue
        if counts[place] != last - first + 1:
            conflicts.append(f"{path} was changed by somebody else at the same time")
            continue
        old = before.get(place)
        if first > 1 and old is None:
            conflicts.append(f"{path} has no earlier version any more")
        elif old is None or not old[0].digest:
            if newest.digest:
                writes.append(_tombstone(place, at, author, turn, last))
                deleted.append(path)
        elif (old[0].digest, old[0].executable) != (newest.digest, newest.executable):
            writes.append(_put(old, at, author, turn, last))
            restored.append(path)
    return Undo(writes=tuple(writes), restored=tuple(restored), deleted=tuple(deleted), conflicts=tuple(conflicts))


def _tombstone(place: Place, at: float, author: str, turn: str, expect: int) -> Tombstone:
    return Tombstone(collection=place[0], path=place[1], at=at, author=author, turn=turn, expect_version=expect)


def _put(old: Stored, at: float, author: str, turn: str, expect: int) -> Put:
    version, content = old
    return Put(
        collection=version.collection,
        path=version.path,
        content=content,
        at=at,
        author=author,
        turn=turn,
        label=version.label,
        expect_version=expect,
        executable=version.executable,
    )


async def plan_undo(documents: Documents, undone: str, *, at: float, author: str, turn: str = "") -> Undo:
    """What takes back the turn `undone`, as the documents are now. Raises StoreError."""
    changed = await documents.changed_by(undone)
    current: dict[Place, DocumentVersion] = {}
    before: dict[Place, Stored] = {}
    for place, (first, _) in spans(changed).items():
        history = await documents.history(*place)
        if history:
            current[place] = history[-1]
        old = await documents.get(*place, version=first - 1) if first > 1 else None
        if old is not None:
            before[place] = old
    return undo_writes(changed, current, before, at=at, author=author, turn=turn)
