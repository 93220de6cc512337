"""The port to exec's view of the documents: a directory made from them, and its changes brought back as versions."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol

from ostiary.contracts.content import Label
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import DocumentVersion, Write

Access = Literal["none", "ro", "rw"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceLease:
    """A directory of ours alone until the lease ends. `base` is the version of each document that was laid out (by path
    relative to `directory`). `label` joins the labels of everything that lies there.

    With access "none" nothing is laid out and nothing captured; with "ro" the documents lie in `agent_directory`, to be
    mounted read-only, and `directory` is scratch."""

    session: SessionKey
    access: Access
    directory: str
    agent_directory: str
    base: Mapping[str, DocumentVersion]
    label: Label


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """`diff` is unified text for people, empty for what is not text."""

    path: str
    change: Literal["added", "changed", "deleted"]
    size: int
    diff: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """`writes` carry `expect_version`, so that nobody else's newer version is overwritten. `refused` names, with the reason,
    what was not taken: links, devices, names that are no paths, files too big."""

    writes: tuple[Write, ...]
    changes: tuple[FileChange, ...]
    refused: tuple[str, ...] = ()


class Workspace(Protocol):
    def lease(self, session: SessionKey, *, access: Access) -> AbstractAsyncContextManager[WorkspaceLease]:
        """One lease at a time per directory; others wait, bounded. Raises Busy, StoreError, ToolError (too big)."""
        ...

    async def capture(self, lease: WorkspaceLease, *, author: str, turn: str, at: float, label: Label) -> Capture:
        """Never follows links, never reads special files, never mass-deletes on an empty directory.

        Raises ToolError when the directory as a whole is beyond the limits."""
        ...
