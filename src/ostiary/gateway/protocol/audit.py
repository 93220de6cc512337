"""The audit log: its entries, and whether it holds together."""

from typing import Annotated, Any

from msgspec import Meta

from ostiary.gateway.protocol.shape import Params, Payload


class ListAudit(Params):
    """`kind` may end in `*`. `newest` gives the last `limit` instead of the first after `after`; either way in order."""

    after: Annotated[int, Meta(ge=0)] = 0
    limit: Annotated[int, Meta(ge=1, le=500)] = 100
    kind: Annotated[str, Meta(max_length=80)] = ""
    newest: bool = False


class AuditRow(Payload):
    """`chain` covers everything before it."""

    seq: int
    at: float
    kind: str
    actor: str
    subject: str
    outcome: str
    detail: dict[str, Any]
    chain: str


class AuditRows(Payload):
    """`head` is the newest entry's number, 0 if there is none."""

    entries: list[AuditRow]
    head: int


class AuditVerified(Payload):
    """`problem` is empty if chain and checkpoints hold, else a sentence that names the first broken entry."""

    ok: bool
    problem: str
    entries: int
    chain: str
