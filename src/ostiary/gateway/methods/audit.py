"""The audit log, for those who administer the house."""

from ostiary.contracts.audit import AuditLog
from ostiary.gateway.methods.services import Call, Services
from ostiary.gateway.protocol.audit import AuditRow, AuditRows, AuditVerified, ListAudit
from ostiary.gateway.protocol.registry import Method
from ostiary.gateway.protocol.shape import Nothing


async def list_entries(call: Call[ListAudit]) -> AuditRows:
    """Who decided and did what, in order."""
    asked, log = call.params, _log(call.services)
    found = await log.entries(after=asked.after, limit=asked.limit, kind=asked.kind, newest=asked.newest)
    rows = [
        AuditRow(
            seq=each.seq,
            at=each.at,
            kind=each.kind,
            actor=each.actor,
            subject=each.subject,
            outcome=each.outcome,
            detail=dict(each.detail),
            chain=each.chain,
        )
        for each in found
    ]
    return AuditRows(entries=rows, head=(await log.head()).seq)


async def verify(call: Call[Nothing]) -> AuditVerified:
    """Walk the whole chain and hold it against its checkpoints."""
    log = _log(call.services)
    problem = await log.verify()
    head = await log.head()
    return AuditVerified(ok=not problem, problem=problem, entries=head.seq, chain=head.chain)


def _log(services: Services) -> AuditLog:
    assert services.audit_log is not None
    return services.audit_log


METHODS = (
    Method("audit.list", ListAudit, AuditRows, "admin", list_entries, needs="audit_log"),
    Method("audit.verify", Nothing, AuditVerified, "admin", verify, needs="audit_log"),
)
