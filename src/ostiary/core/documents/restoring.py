"""Bringing a whole collection back to a moment, or to just before a turn: each document as a new version, nothing lost."""

from collections.abc import Collection, Sequence
from math import inf, nextafter

from ostiary.contracts.errors import BadInput
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Documents, DocumentVersion, Restore, Tombstone


@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePlan:
    """`writes` are compare-and-swap and go in one commit. `restored` and `deleted` are paths; `left` says with the path why a
    document stays as it is."""

    writes: tuple[Restore | Tombstone, ...] = ()
    restored: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def restore_plan(
    then: Sequence[DocumentVersion],
    now: Sequence[DocumentVersion],
    *,
    at: float,
    author: str,
    turn: str = "",
    erased: Collection[str] = (),
) -> RestorePlan:
    """`then` are the living documents of one collection as they were, `now` as they are. `erased` are paths that lived then
    and whose content of that time is gone for ever: what they are now is all there is, so it stays."""
    current = {version.path: version for version in now}
    wanted = {version.path for version in then}
    restores = [
        Restore(
            collection=old.collection,
            path=old.path,
            version=old.version,
            at=at,
            author=author,
            turn=turn,
            expect_version=_version(current.get(old.path)),
        )
        for old in then
        if _differs(old, current.get(old.path))
    ]
    removals = [
        Tombstone(collection=new.collection, path=new.path, at=at, author=author, turn=turn, expect_version=new.version)
        for new in now
        if new.path not in wanted and new.path not in erased
    ]
    return RestorePlan(
        writes=(*removals, *restores),
        restored=tuple(write.path for write in restores),
        deleted=tuple(write.path for write in removals),
        left=tuple(f"{path} as it was then was erased for ever" for path in sorted(erased)),
    )


def moment_before(changed: Sequence[DocumentVersion]) -> float:
    """The last moment before a turn, given every version it wrote. Raises BadInput if it wrote none."""
    if not changed:
        raise BadInput("That turn changed no document")
    return nextafter(min(version.at for version in changed), -inf)


async def plan_restore(
    documents: Documents, collection: str, moment: float, *, at: float, author: str, turn: str = "", pattern: str = "**"
) -> RestorePlan:
    """What brings the documents that match the pattern back to how they were at `moment`. Raises StoreError."""
    then = await documents.list(collection, pattern=pattern, at=moment)
    now = await documents.list(collection, pattern=pattern)
    wanted = {version.path for version in then}
    erased = [
        version.path
        for version in now
        if version.path not in wanted and _was_erased(await documents.history(collection, version.path), moment)
    ]
    return restore_plan(then, now, at=at, author=author, turn=turn, erased=erased)


async def plan_restore_before(
    documents: Documents, collection: str, undone: str, *, at: float, author: str, turn: str = "", pattern: str = "**"
) -> RestorePlan:
    """As `plan_restore`, to just before the turn `undone`: also what others changed since then goes back.

    To take back the turn alone there is `core.sessions.undo`. Raises BadInput if the turn changed no document, StoreError."""
    moment = moment_before(await documents.changed_by(undone))
    return await plan_restore(documents, collection, moment, at=at, author=author, turn=turn, pattern=pattern)


def _version(current: DocumentVersion | None) -> int:
    return 0 if current is None else current.version


def _differs(old: DocumentVersion, current: DocumentVersion | None) -> bool:
    return current is None or (old.digest, old.executable, old.label) != (current.digest, current.executable, current.label)


def _was_erased(history: Sequence[DocumentVersion], moment: float) -> bool:
    newest = max((version for version in history if version.at <= moment), key=lambda version: version.version, default=None)
    return newest is not None and newest.erased
