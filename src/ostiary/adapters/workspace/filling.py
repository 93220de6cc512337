"""Bringing documents into a directory, a bounded amount of them in memory at a time."""

from collections.abc import Mapping

from anyio.to_thread import run_sync

from ostiary.adapters.workspace import layout
from ostiary.adapters.workspace.live import LiveTree
from ostiary.adapters.workspace.tree import Owner
from ostiary.contracts.store import Documents, DocumentVersion

_BATCH_BYTES = 16_000_000


async def fill(
    documents: Documents, tree: LiveTree, owner: Owner | None, wanted: Mapping[str, DocumentVersion], missing: list[str]
) -> None:
    """Write what is missing. A document that went away meanwhile is left out. Raises StoreError, OSError."""
    batch: dict[str, tuple[DocumentVersion, bytes]] = {}
    size = 0
    for path in missing:
        version = wanted[path]
        found = await documents.get(version.collection, version.path, version=version.version)
        if found is None:
            continue
        batch[path] = (version, found[1])
        size += len(found[1])
        if size > _BATCH_BYTES:
            await run_sync(layout.write, tree.documents, owner, batch, tree.index)
            batch, size = {}, 0
    await run_sync(layout.write, tree.documents, owner, batch, tree.index)
