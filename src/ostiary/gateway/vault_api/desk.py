"""What the pages stand on, and who writes through them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

import anyio

from ostiary.contracts.clock import Clock
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.identity import Principal
from ostiary.contracts.records import dataclass
from ostiary.contracts.search import Embedder, Search
from ostiary.contracts.store import Documents, Store
from ostiary.contracts.workspace import FileChange
from ostiary.gateway.limits import Limits
from ostiary.gateway.showing import Redact

if TYPE_CHECKING:
    from ostiary.core.memory.memory import Memory

BODY_SECONDS = 300.0
_BODIES_AT_ONCE = 8
_JSON_BYTES = 1024 * 1024
_JSON_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a command ended and what became of the files it changed. `code` is None if a signal or the time limit ended it."""

    code: int | None
    output: str
    changes: tuple[FileChange, ...] = ()
    refused: tuple[str, ...] = ()
    timed_out: bool = False


class Exec(Protocol):
    """Runs a command in the fence on a copy of a collection; what it changed is committed when this returns."""

    async def run(self, collection: str, command: str, *, seconds: float, network: bool, by: Principal) -> Ran:
        """Raises SandboxUnavailable, BadInput (a collection it cannot work on), ToolError, StoreError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultDesk:
    """`diff` gives unified text of two contents (None: there was none), empty for what is not text. Without `memory`, `exec`,
    `reindex` or `embedder` their pages say that there is none here. `reindex` begins a new index and does not wait. Without
    `redact` words are shown only to who may change them.
    `facts` adds to the status what only assembly knows."""

    store: Store
    documents: Documents
    search: Search
    embedder: Embedder | None
    clock: Clock
    diff: Callable[[bytes | None, bytes | None, str], str]
    memory: "Memory | None" = None
    exec: Exec | None = None
    redact: Redact | None = None
    reindex: Callable[[], Awaitable[None]] | None = None
    document_bytes: int = 100_000_000
    facts: Callable[[], Mapping[str, object]] = dict
    bodies: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(_BODIES_AT_ONCE))

    @property
    def document_limits(self) -> Limits:
        return Limits(body_bytes=self.document_bytes, body_seconds=BODY_SECONDS)


JSON_LIMITS = Limits(body_bytes=_JSON_BYTES, body_seconds=_JSON_SECONDS)


def label_of(by: Principal, trust: Trust | None = None) -> Label:
    """What the writer vouches for. Nobody can claim more trust than they have; less may be said."""
    own = Label(trust=Trust.OWNER if by.is_owner else Trust.CONTACT, sources=(str(by.user),))
    return own if trust is None else own.join(Label(trust=trust))
