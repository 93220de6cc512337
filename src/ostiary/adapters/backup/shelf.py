"""Where backups lie: a folder that many share, or a single file with one. What both offer is this port."""

from collections.abc import Iterable
from typing import Protocol

from ostiary.adapters.backup.header import Header


class Shelf(Protocol):
    """Holds sealed pieces by their names, and sealed manifests by their ids. Raises Damaged for what cannot be read,
    StoreUnavailable for a disk that does not take more."""

    @property
    def header(self) -> Header: ...

    def has(self, name: bytes) -> bool: ...

    def get(self, name: bytes) -> bytes: ...

    def put(self, name: bytes, sealed: bytes) -> None: ...

    def manifests(self) -> Iterable[str]:
        """Ids, the oldest first."""
        ...

    def manifest(self, id: str) -> bytes: ...

    def finish(self, id: str, sealed: bytes) -> None:
        """The pieces are on the disk, then the manifest: a backup is whole or absent."""
        ...
