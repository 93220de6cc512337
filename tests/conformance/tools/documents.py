"""Documents held in a dictionary, with the globs the contract promises."""

import hashlib
import re
from dataclasses import replace

from ostiary.contracts.content import Label
from ostiary.contracts.errors import BadInput
from ostiary.contracts.store import DocumentVersion


class MemoryDocuments:
    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], list[tuple[DocumentVersion, bytes]]] = {}

    def put(self, collection: str, path: str, content: str | bytes, *, label: Label | None = None) -> "MemoryDocuments":
        raw = content.encode() if isinstance(content, str) else content
        versions = self._kept.setdefault((collection, path), [])
        version = DocumentVersion(
            collection=collection,
            path=path,
            version=len(versions) + 1,
            digest=hashlib.sha256(raw).hexdigest(),
            size=len(raw),
            at=1.0,
            author="test",
            label=label,
        )
        versions.append((version, raw))
        return self

    async def get(self, collection: str, path: str, *, version: int | None = None) -> tuple[DocumentVersion, bytes] | None:
        versions = self._kept.get((collection, path), [])
        return next((kept for kept in reversed(versions) if version in (None, kept[0].version)), None)

    async def list(self, collection: str, *, pattern: str = "**") -> tuple[DocumentVersion, ...]:
        glob = re.compile(re.escape(pattern).replace(r"\*\*", ".*").replace(r"\*", "[^/]*"), re.DOTALL)
        newest = [versions[-1][0] for (held, _), versions in self._kept.items() if held == collection]
        return tuple(sorted((kept for kept in newest if glob.fullmatch(kept.path)), key=lambda kept: kept.path))

    async def history(self, collection: str, path: str) -> tuple[DocumentVersion, ...]:
        return tuple(version for version, _ in self._kept.get((collection, path), []))

    async def restore(self, collection: str, path: str, version: int, *, at: float, author: str) -> DocumentVersion:
        found = await self.get(collection, path, version=version)
        if found is None:
            raise BadInput(f"{path} has no version {version}")
        self.put(collection, path, found[1], label=found[0].label)
        return replace(self._kept[collection, path][-1][0], at=at, author=author)
