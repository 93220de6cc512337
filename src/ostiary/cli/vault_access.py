"""What the commands of vault and memory need, and how they come by it: the house's own store, or the gateway that holds it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from ostiary.contracts.content import Label
from ostiary.contracts.errors import BadInput, OstiaryError, StoreHeld, StoreUnavailable
from ostiary.contracts.records import dataclass
from ostiary.contracts.search import Found, IndexStatus
from ostiary.contracts.store import CollectionUse, DocumentVersion

MEMORY = "_memory"
WORKSPACE = "_workspace"

_LOOK_SECONDS = 0.2
# So long the index may make no progress before the command no longer waits for it.
_STUCK_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFile:
    """`expect` (0: nothing may live there) makes the write compare-and-swap."""

    path: str
    content: bytes
    executable: bool | None = None
    expect: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote:
    """`problem` says why it was not written; then there is no version."""

    path: str
    version: int = 0
    problem: str = ""
    is_conflict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreWish:
    """One of `version` (with `path`), `at` and `turn`. `preview` changes nothing."""

    collection: str
    path: str = ""
    version: int | None = None
    at: float | None = None
    turn: str = ""
    preview: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    restored: tuple[str, ...]
    deleted: tuple[str, ...]
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultStatus:
    """`holder` says who has the vault open: this command, or the gateway at its address."""

    holder: str
    collections: tuple[CollectionUse, ...]
    index: IndexStatus


class VaultAccess(Protocol):
    """Raises OstiaryError: BadInput for what is not there, Conflict, QuotaExceeded, StoreUnavailable."""

    async def collections(self) -> tuple[CollectionUse, ...]: ...

    async def list(self, collection: str, *, pattern: str = "**", at: float | None = None) -> tuple[DocumentVersion, ...]: ...

    async def get(self, collection: str, path: str, *, version: int | None = None) -> tuple[DocumentVersion, bytes] | None: ...

    async def history(self, collection: str, path: str) -> tuple[DocumentVersion, ...]: ...

    async def put(self, collection: str, file: NewFile) -> int: ...

    async def put_many(self, collection: str, files: Sequence[NewFile], *, label: Label | None = None) -> tuple[Wrote, ...]:
        """Each is written or refused by itself. Over the gateway only the label's trust is kept: it knows who writes."""
        ...

    async def append(self, collection: str, path: str, content: bytes) -> int: ...

    async def delete(self, collection: str, path: str, *, expect: int | None = None) -> int: ...

    async def move(self, collection: str, path: str, to: str) -> int: ...

    async def restore(self, wish: RestoreWish) -> Restored: ...

    async def search(self, text: str, *, collections: Sequence[str] | None, pattern: str = "**", limit: int = 6) -> Found:
        """Without collections: all that hold documents."""
        ...

    async def status(self) -> VaultStatus: ...


class MemoryAccess(Protocol):
    """What is remembered. Plain data as the gateway's pages give it; raises OstiaryError."""

    async def recall(self, text: str, *, agent: str, limit: int, sessions: bool) -> Found: ...

    async def notes(self, agent: str) -> Mapping[str, Any]:
        """`notes` and what is `waiting` for the owner."""
        ...

    async def write(self, text: str, *, area: str, title: str, agent: str) -> Mapping[str, Any]: ...

    async def why(self, target: str, *, agent: str) -> Sequence[Mapping[str, Any]]: ...

    async def forget(self, text: str, *, preview: bool) -> Mapping[str, Any]: ...

    async def settle(self, ids: Sequence[str], *, area: str, agent: str, reject: bool) -> Sequence[Mapping[str, Any]]:
        """Confirm what waits, or reject it."""
        ...

    async def catch_up(self, progress: Callable[[IndexStatus], None], *, vectors: bool = True) -> IndexStatus:
        """Wait until everything committed is in the index; `vectors`: and what somebody else must make for it, too."""
        ...

    async def reindex(self, progress: Callable[[float], None]) -> None: ...


class Access(VaultAccess, MemoryAccess, Protocol):
    @property
    def is_own(self) -> bool:
        """Whether this command holds the vault itself: then nobody else indexes what changed."""
        ...


@asynccontextmanager
async def open_access(home: Path | None = None) -> AsyncIterator[Access]:
    """Through the gateway if one runs for everybody, else on the store itself, held alone; while another command holds it,
    that one is waited for, up to a minute. Raises OstiaryError."""
    from ostiary.cli.client import find_gateway
    from ostiary.cli.waiting import POLL_SECONDS, Patience

    if home is None:
        from ostiary.cli.home import home as home_of

        home = home_of()
    patience = Patience()
    while True:
        gateway = find_gateway(home)
        if gateway is not None:
            from ostiary.cli.vault_http import open_http

            async with open_http(gateway) as remote:
                yield remote
            return
        begun = False
        try:
            from ostiary.cli.vault_local import open_local

            async with open_local(home) as local:
                begun = True
                yield local
                return
        except StoreHeld as error:
            if begun:
                raise
            patience.use(error)
        import anyio

        await anyio.sleep(POLL_SECONDS)


async def watched(
    look: Callable[[], Awaitable[IndexStatus]], is_done: Callable[[IndexStatus], bool], show: Callable[[IndexStatus], None]
) -> IndexStatus:
    """What somebody else does to the index, until it is done. Raises StoreUnavailable if nothing moves for a minute."""
    import anyio

    seen, since = None, anyio.current_time()
    while not is_done(status := await look()):
        show(status)
        if status != seen:
            seen, since = status, anyio.current_time()
        if anyio.current_time() - since > _STUCK_SECONDS:
            raise StoreUnavailable("the index does not get on", hint="See `ostiary logs`.")
        await anyio.sleep(_LOOK_SECONDS)
    return status


def run(act: Callable[[Access], Any]) -> Any:
    """One command's work. Raises OstiaryError, KeyboardInterrupt."""
    from asyncio import CancelledError

    import anyio

    async def main() -> Any:
        async with open_access() as access:
            return await act(access)

    try:
        return anyio.run(main)
    except CancelledError:
        # Ctrl-C while something else was being cancelled as well: the loop cannot tell the two apart.
        raise KeyboardInterrupt from None
    except BaseExceptionGroup as group:
        # A group of one says no more than the one.
        found: BaseException = group
        while isinstance(found, BaseExceptionGroup) and len(found.exceptions) == 1:
            found = found.exceptions[0]
        if isinstance(found, OstiaryError):
            raise found from None
        raise


def row(version: DocumentVersion) -> dict[str, Any]:
    """A version as `--json` shows it, and the gateway's pages."""
    from ostiary.gateway.vault_api.rows import row as shown

    return {"collection": version.collection, **shown(version)}


def missing(collection: str, path: str, version: int | None = None) -> BadInput:
    which = f"no version {version} of" if version is not None else "no document"
    return BadInput(f"there is {which} {path!r} in {collection}", hint=f"See `ostiary vault ls {collection}`.")
