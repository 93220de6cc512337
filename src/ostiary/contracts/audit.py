"""The port to the audit log: what was decided and done, in an append-only hash chain."""

from collections.abc import Mapping
from typing import Protocol

from ostiary.contracts.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """`kind` is a stable word (tool.decided, approval.answered, credential.used, config.changed, login, control.kill, ...);
    `actor` is who caused it, `subject` what it is about, `outcome` one word. `chain` covers everything before it."""

    seq: int
    at: float
    kind: str
    actor: str
    subject: str
    outcome: str
    detail: Mapping[str, object]
    chain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditHead:
    """Where the log stands; kept outside the database too, so that a cut or rewritten tail shows."""

    seq: int
    chain: str
    at: float


class AuditLog(Protocol):
    """Entries are written by the `Audit` write of `Store.commit`, in the unit of what they tell about."""

    async def entries(
        self, *, after: int = 0, limit: int = 100, kind: str = "", turn: str = "", newest: bool = False
    ) -> tuple[AuditEntry, ...]:
        """In order; `newest` takes the last `limit`. `kind` may end in `*`; `turn` chooses those whose detail names it, however
        long ago that was."""
        ...

    async def head(self) -> AuditHead: ...

    async def verify(self) -> str:
        """Empty if chain and checkpoints hold, else one sentence naming the first broken seq."""
        ...
