"""Documents held in a dictionary, with the globs, versions and compare-and-swap that the contract promises."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from ostiary.adapters.store.paths import check_path, matches
from ostiary.contracts.content import Label
from ostiary.contracts.errors import BadInput, Conflict
from ostiary.contracts.store import DocumentVersion, Put, Tombstone, Write


class MemoryDocuments:
    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], list[tuple[DocumentVersion, bytes]]] = {}
        self._changes: list[DocumentVersion] = []

    def put(
        self, collection: str, path: str, content: str | bytes, *, label: Label | None = None, executable: bool | None = None
    ) -> "MemoryDocuments":
        raw = content.encode() if isinstance(content, str) else content
        self._add(Put(collection=collection, path=path, content=raw, at=1.0, author="test", label=label, executable=executable))
        return self

    def delete(self, collection: str, path: str) -> "MemoryDocuments":
        self._add(Tombstone(collection=collection, path=path, at=1.0, author="test"))
        return self

    def commit(self, writes: Iterable[Write]) -> "MemoryDocuments":
        """Documents only. Raises Conflict, and then nothing is written."""
        chosen = [write for write in writes if isinstance(write, Put | Tombstone)]
        for write in chosen:
            versions = self._kept.get((write.collection, write.path), [])
            newest = versions[-1][0].version if versions else 0
            is_gone = not versions or not versions[-1][0].digest
            if write.expect_version not in (None, newest) and not (write.expect_version == 0 and is_gone):
                raise Conflict(f"{write.path} is at version {newest}")
        for write in chosen:
            self._add(write)
        return self

    def text(self, path: str, collection: str = "_workspace") -> str | None:
        versions = self._kept.get((collection, path), [])
        return versions[-1][1].decode() if versions and versions[-1][0].digest else None

    def _add(self, write: Put | Tombstone) -> None:
        check_path(write.path)
        raw = write.content if isinstance(write, Put) else b""
        versions = self._kept.setdefault((write.collection, write.path), [])
        version = DocumentVersion(
            collection=write.collection,
            path=write.path,
            version=len(versions) + 1,
            digest=hashlib.sha256(raw).hexdigest() if isinstance(write, Put) else "",
            size=len(raw),
            at=write.at,
            author=write.author,
            turn=write.turn,
            label=write.label if isinstance(write, Put) else None,
            executable=isinstance(write, Put) and _is_executable(write, versions),
        )
        versions.append((version, raw))
        self._changes.append(version)

    async def get(self, collection: str, path: str, *, version: int | None = None) -> tuple[DocumentVersion, bytes] | None:
        versions = self._kept.get((collection, path), [])
        if version is None:
            return versions[-1] if versions and versions[-1][0].digest else None
        return next((kept for kept in versions if kept[0].version == version), None)

    async def list(self, collection: str, *, pattern: str = "**") -> tuple[DocumentVersion, ...]:
        newest = [versions[-1][0] for (held, _), versions in self._kept.items() if held == collection]
        living = [kept for kept in newest if kept.digest and matches(pattern, kept.path)]
        return tuple(sorted(living, key=lambda kept: kept.path))

    async def changes(self, after: int, *, limit: int = 1000) -> tuple[tuple[int, DocumentVersion], ...]:
        return tuple(enumerate(self._changes[after : after + limit], after + 1))

    async def history(self, collection: str, path: str) -> tuple[DocumentVersion, ...]:
        return tuple(version for version, _ in self._kept.get((collection, path), []))

    async def changed_by(self, turn: str) -> tuple[DocumentVersion, ...]:
        return tuple(version for versions in self._kept.values() for version, _ in versions if version.turn == turn)

    async def restore(self, collection: str, path: str, version: int, *, at: float, author: str) -> DocumentVersion:
        found = await self.get(collection, path, version=version)
        if found is None:
            raise BadInput(f"{path} has no version {version}")
        self.put(collection, path, found[1], label=found[0].label)
        return replace(self._kept[collection, path][-1][0], at=at, author=author)


def _is_executable(write: Put, versions: list[tuple[DocumentVersion, bytes]]) -> bool:
    if write.executable is not None:
        return write.executable
    return bool(versions) and versions[-1][0].executable
