"""A workspace over documents in memory, on a real directory."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ostiary.adapters.tools.diffs import unified
from ostiary.adapters.workspace import DocumentWorkspace
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import Write
from ostiary.contracts.workspace import Capture, WorkspaceLease
from tests.conformance.tools.documents import MemoryDocuments
from tests.conformance.tools.tools import folder_of

MAIN = SessionKey("main", "main")
OTHER = SessionKey("main", "other")
OWN = Label(trust=Trust.OWNER, sources=("me",))
WEB = Label(trust=Trust.UNTRUSTED, sources=("web",))


def diff(before: bytes | None, after: bytes | None, path: str, limit: int) -> str:
    return unified(before, after, path, limit=limit)


def protected(path: str) -> str:
    return "it may hold secrets" if path.endswith(".env") else ""


def workspace(documents: MemoryDocuments, root: Path, **changes: Any) -> DocumentWorkspace:
    async def commit(writes: Sequence[Write]) -> None:
        documents.commit(writes)

    given = {"commit": commit, **changes}
    return DocumentWorkspace(documents, root / "workspaces", folder_of=folder_of, diff=diff, protected=protected, **given)


async def taken(held: DocumentWorkspace, lease: WorkspaceLease, label: Label = OWN) -> Capture:
    return await held.capture(lease, author="api:me", turn="turn_1", at=5.0, label=label)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
