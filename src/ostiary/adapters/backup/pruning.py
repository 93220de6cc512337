"""Letting backups expire: their manifests go, then every piece that no other backup needs."""

from ostiary.adapters.backup.folder import Folder
from ostiary.adapters.backup.making import made_at
from ostiary.adapters.backup.reading import live_names, manifest_of
from ostiary.adapters.backup.sealing import Damaged, Seal
from ostiary.contracts.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """`freed` in bytes."""

    backups: tuple[str, ...]
    pieces: int
    freed: int


def prune(folder: Folder, seal: Seal, *, older_than: float) -> Pruned:
    """Remove backups made before `older_than`, never the newest whole one. The folder must be held alone.

    Raises Damaged if what the others need cannot be told; then no piece is removed."""
    ids = folder.manifests()
    kept = _newest_readable(folder, seal, ids)
    gone = tuple(id for id in ids if id != kept and made_at(id) < older_than)
    for id in gone:
        folder.remove(id)
    pieces, freed = sweep(folder, seal)
    return Pruned(backups=gone, pieces=pieces, freed=freed)


def sweep(folder: Folder, seal: Seal) -> tuple[int, int]:
    """Remove the pieces that no backup names, how many and how many bytes. Raises Damaged."""
    live = live_names(folder, seal)
    count = freed = 0
    for path, name, size in folder.pieces():
        if name is None or name not in live:
            path.unlink(missing_ok=True)
            count += 1
            freed += size
    return count, freed


def _newest_readable(folder: Folder, seal: Seal, ids: list[str]) -> str:
    for id in reversed(ids):
        try:
            manifest_of(folder, seal, id)
        except Damaged:
            continue
        return id
    return ""
