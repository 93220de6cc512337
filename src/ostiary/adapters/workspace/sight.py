"""Which documents the commands of a session see, and which of their files may become documents."""

from collections.abc import Callable, Iterable

from ostiary.adapters.workspace import layout
from ostiary.adapters.workspace.live import NOTHING
from ostiary.adapters.workspace.mirror import Mirror
from ostiary.adapters.workspace.slots import Scope
from ostiary.adapters.workspace.writes import COLLECTION
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import ToolError
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Documents, DocumentVersion

BOOTSTRAP = "_bootstrap"
_MEMORY = "memory.md"
_PRIVATE = Label(trust=Trust.SYSTEM, private=True)
_UNKNOWN = Label(trust=Trust.UNTRUSTED, private=True)

Generation = tuple[int, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceLimits:
    """`files` counts folders and everything else too; `taken_bytes` is what one capture brings back at most."""

    files: int = 20_000
    bytes: int = 500_000_000
    file_bytes: int = 50_000_000
    taken_bytes: int = 200_000_000
    depth: int = 64
    copies: int = 8
    wait_seconds: float = 30.0
    free_bytes: int = 512_000_000


class Sight:
    """`folder_of` tells where an agent's documents lie; `protected` gives the reason why a path may be neither shown to a
    command nor taken from it; MEMORY.md is there only where `is_private` vouches for the session. Bootstrap files are never
    shown and never taken."""

    def __init__(
        self,
        documents: Documents,
        limits: WorkspaceLimits,
        *,
        folder_of: Callable[[str], str],
        scope: Callable[[SessionKey], Scope],
        protected: Callable[[str], str],
        is_private: Callable[[SessionKey], bool],
    ) -> None:
        self._mirror = Mirror(documents, (COLLECTION, BOOTSTRAP))
        self._limits = limits
        self._folder_of = folder_of
        self._scope = scope
        self._protected = protected
        self._is_private = is_private

    async def refresh(self) -> None:
        """Raises StoreError."""
        await self._mirror.refresh()

    def generation(self, session: SessionKey) -> Generation:
        """As long as it is the same, so is what the session sees."""
        return (self._mirror.generation, self._is_private(session))

    def folder(self, session: SessionKey) -> str:
        # Who shares one directory shares the documents in it.
        return self._folder_of("main" if self._scope(session) == "shared" else session.agent)

    def living(self, session: SessionKey) -> dict[str, DocumentVersion]:
        """Newest versions by path relative to the session's folder."""
        folder = self.folder(session)
        start = len(folder)
        held = self._mirror.of(COLLECTION)
        return {path[start:]: version for path, version in held.items() if version.digest and path.startswith(folder)}

    def newest(self, session: SessionKey, path: str) -> DocumentVersion | None:
        """A tombstone too."""
        return self._mirror.of(COLLECTION).get(self.folder(session) + path)

    def wanted(self, session: SessionKey) -> dict[str, DocumentVersion]:
        """What is laid out for the session. Raises ToolError if it is too much."""
        hides, limits = self._hides(session), self._limits
        visible = {path: version for path, version in self.living(session).items() if not hides(path)}
        wanted = layout.fits_a_directory(visible, limits.file_bytes)
        if len(wanted) > limits.files or sum(version.size for version in wanted.values()) > limits.bytes:
            raise ToolError("The workspace is too big to be laid out for a command.")
        return dict(sorted(wanted.items()))

    def forbidden(self, session: SessionKey) -> Callable[[str], str]:
        """Gives the reason why a file is not taken, empty if it may be."""
        is_private = self._is_private(session)

        def reason(path: str) -> str:
            if path.casefold() == _MEMORY and not is_private:
                return "it belongs to private conversations"
            said = self._protected(path)
            return f"it is protected: {said}" if said else ""

        return reason

    def reserved(self, session: SessionKey) -> Callable[[str], str]:
        folder = self.folder(session)
        owners = {version.path.casefold() for version in self._mirror.of(BOOTSTRAP).values() if version.digest}

        def reason(path: str) -> str:
            return "it is one of the owner's own files" if (folder + path).casefold() in owners else ""

        return reason

    def _hides(self, session: SessionKey) -> Callable[[str], bool]:
        is_private, protected = self._is_private(session), self._protected
        return lambda path: bool(protected(path)) or (not is_private and path.casefold() == _MEMORY)


def label_of(versions: Iterable[DocumentVersion]) -> Label:
    """Documents are private, and one of unknown origin is untrusted."""
    labels = {version.label for version in versions}
    label = _PRIVATE if labels else NOTHING
    for one in labels:
        label = label.join(one or _UNKNOWN)
    return label
