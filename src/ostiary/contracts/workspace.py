"""The port to exec's view of the documents: a directory made from them, and its changes brought back as versions."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import DocumentVersion, Write

Access = Literal["none", "ro", "rw"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """For whom a directory is used, since when (UTC), and the label of what they do there: what is found in it later and was
    never captured is theirs."""

    author: str
    turn: str
    at: float
    label: Label


NOBODY = Use(author="", turn="", at=0.0, label=Label(trust=Trust.UNTRUSTED, private=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceLease:
    """A directory of the session's alone until the lease ends. `base` is the version of each document that was laid out (by
    path relative to `directory`). `label` joins the labels of everything that lay there when the lease began.
    `told` says what an earlier, interrupted use had left there and where it is now.

    With access "none" nothing is laid out and nothing captured; with "ro" the documents lie in `agent_directory`, to be
    mounted read-only, and `directory` is scratch."""

    session: SessionKey
    access: Access
    directory: str
    agent_directory: str
    base: Mapping[str, DocumentVersion]
    label: Label
    use: Use = NOBODY
    told: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """`diff` is unified text for people, empty for what is not text; a change of mode stands in front of it."""

    path: str
    change: Literal["added", "changed", "deleted"]
    size: int
    diff: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """`writes` carry `expect_version`, so that nobody else's newer version is overwritten. `refused` names, with the reason,
    what was not taken: links, devices, names that are no paths, files too big. `kept_aside` names what lost against a newer
    version and under which name it is kept; these copies are among `writes`."""

    writes: tuple[Write, ...]
    changes: tuple[FileChange, ...]
    refused: tuple[str, ...] = ()
    kept_aside: tuple[str, ...] = ()


class Workspace(Protocol):
    def lease(self, session: SessionKey, *, access: Access, use: Use = NOBODY) -> AbstractAsyncContextManager[WorkspaceLease]:
        """The session's one live directory, brought up to date. Leases of one session share it; what the others have done in
        it is kept first. Sessions that find every directory in use wait, bounded. Raises Busy, StoreError, ToolError (too
        big)."""
        ...

    async def capture(self, lease: WorkspaceLease, *, author: str, turn: str, at: float, label: Label) -> Capture:
        """What changed since the last capture, to be committed by the caller. Never follows links, never reads special files,
        never deletes everything because the directory is empty.

        Raises ToolError when the directory as a whole is beyond the limits."""
        ...


class LiveWorkspace(Workspace, Protocol):
    """The ability to keep what goes on in a directory while commands still run in it."""

    async def keep(self, lease: WorkspaceLease, *, at: float, is_over: bool = False) -> Capture:
        """Capture, commit as a unit of its own in the name of the lease's use, and bring the directory up to date. The
        `writes` it gives are done. `is_over`: nothing of this lease runs any more. Raises ToolError, StoreError."""
        ...

    async def follow(self, lease: WorkspaceLease, *, at: float) -> None:
        """The same, but only if documents in the directory were changed by somebody else. Raises ToolError, StoreError."""
        ...

    async def settle(self, session: SessionKey, *, at: float) -> None:
        """Wait, within bounds, until what was last captured for the session is in the documents; what does not arrive there is
        kept aside. Raises StoreError."""
        ...

    def label_of(self, lease: WorkspaceLease) -> Label:
        """The label of everything that lies in the directory now."""
        ...
