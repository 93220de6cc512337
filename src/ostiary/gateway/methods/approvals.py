"""What waits for a person's yes: shown whole, answered once; and the grants that outlive their question."""

import json
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from ostiary.contracts.errors import BadInput, OstiaryError
from ostiary.contracts.identity import OWNER, Principal
from ostiary.core.approvals.desk import Approvals, PendingApproval
from ostiary.core.approvals.grants import Grant, stated
from ostiary.core.approvals.wording import bound_lines, described, visible
from ostiary.gateway.methods.services import Call, Services
from ostiary.gateway.protocol.approvals import (
    AnswerApproval,
    AnsweredApproval,
    Approval,
    ApprovalGroup,
    ApprovalList,
    GrantList,
    GrantRow,
    ListApprovals,
    Offer,
    RevokeGrant,
)
from ostiary.gateway.protocol.errors import MethodError
from ostiary.gateway.protocol.registry import Method
from ostiary.gateway.protocol.shape import Nothing

LONGEST_SHOWN = 64_000


def list_approvals(call: Call[ListApprovals]) -> ApprovalList:
    """What waits for a person, and which of it is alike."""
    wanted = call.params.id.strip().lower()
    only = question_of(call.services.approvals, wanted) if wanted else None
    rows = ([only] if only is not None else []) if wanted else waiting(call.services)
    return ApprovalList(approvals=rows, groups=groups_of(rows))


async def answer_approval(call: Call[AnswerApproval]) -> AnsweredApproval:
    """Allow or refuse a call that waits. Durable when it is answered; a late or second answer is refused."""
    asked, desk = call.params, _desk(call.services)
    by = _on_authority(call)
    found = next((each for each in desk.pending if each.id == asked.id.strip().lower()), None)
    try:
        answered = await desk.answer(asked.id, asked.allow, by=by, pattern=asked.pattern, seconds=asked.seconds, note=asked.note)
    except BadInput as error:
        if found is not None and found in desk.pending and call.services.clock.now() < found.asked.deadline:
            raise
        raise MethodError("CONFLICT", _sentence(str(error)), hint=error.hint) from None
    also = await _answer_covered(desk, answered.grant, by, call.services.clock.now()) if answered.grant else []
    return AnsweredApproval(id=answered.approval, answer=answered.answer, by=answered.by, grant=answered.grant, also=also)


def list_grants(call: Call[Nothing]) -> GrantList:
    """What runs without asking, and until when."""
    return GrantList(grants=[_row(grant) for grant in _desk(call.services).grants])


async def revoke_grant(call: Call[RevokeGrant]) -> GrantRow:
    """Take a grant back; like calls are asked about again."""
    try:
        return _row(await _desk(call.services).revoke(call.params.id, by=_on_authority(call)))
    except BadInput as error:
        raise MethodError("NOT_FOUND", _sentence(str(error)), hint=error.hint) from None


def waiting(services: Services) -> list[Approval]:
    """Oldest first, very long ones in brief; nothing where nobody can be asked."""
    return [brief(shown(each)) for each in services.approvals.pending] if services.approvals is not None else []


def brief(question: Approval) -> Approval:
    """What fits into a frame beside others: a question that is a book must not cost everybody their connection."""
    size = len(question.text) + sum(map(len, question.bound.values())) + sum(len(each.text) for each in question.offers)
    if size <= LONGEST_SHOWN:
        return question
    return msgspec.structs.replace(question, text=question.text[:LONGEST_SHOWN], arguments={}, bound={}, offers=[], whole=False)


def question_of(approvals: Approvals | None, approval: str) -> Approval | None:
    """None if it waits no more."""
    pending = approvals.pending if approvals is not None else ()
    return next((shown(each) for each in pending if each.id == approval), None)


def shown(pending: PendingApproval) -> Approval:
    """All of it, with nothing in it that could hide or reorder what is read."""
    asked, label = pending.asked, pending.asked.label
    bound = {visible(name): visible(value) for name, value in asked.bound.items()}
    whole = "\n".join((described(asked.name, pending.arguments), *bound_lines(asked.bound)))
    return Approval(
        id=asked.approval,
        key=str(pending.session),
        turn=pending.turn,
        call_id=asked.call_id,
        tool=visible(asked.name),
        text=whole,
        arguments={visible(name): visible(_text(value)) for name, value in pending.arguments.items()},
        bound=bound,
        layers=list(asked.layers),
        reason=visible(asked.reason),
        offers=[Offer(pattern=each, text=visible(stated(asked.name, each))) for each in asked.offers],
        group=_group(pending),
        asked_at=pending.asked_at,
        deadline=asked.deadline,
        who=str(pending.principal.user),
        channel=pending.channel,
        trust=str(label.trust) if label is not None else "",
        private=label.private if label is not None else False,
        sources=[visible(each) for each in label.sources] if label is not None else [],
    )


def groups_of(rows: Sequence[Approval]) -> list[ApprovalGroup]:
    """Alike are calls that one pattern can cover; the narrowest that covers them all is offered for them."""
    members: dict[str, list[Approval]] = {}
    for row in rows:
        members.setdefault(row.group, []).append(row)
    groups = []
    for name, alike in members.items():
        shared = [offer for offer in alike[0].offers if all(offer in each.offers for each in alike)]
        ids = [each.id for each in alike]
        groups.append(ApprovalGroup(group=name, tool=alike[0].tool, ids=ids, offer=shared[0] if shared else None))
    return groups


def _group(pending: PendingApproval) -> str:
    """A grant is for one agent, one person and one tool, so calls are alike only within them."""
    offers = pending.asked.offers
    widest = visible(offers[-1]) if offers else pending.id
    return f"{pending.session.agent} {pending.principal.user} {visible(pending.asked.name)}: {widest}"


async def _answer_covered(desk: Approvals, given: str, by: Principal, now: float) -> list[str]:
    """Whoever allowed all that is like this need not be asked again about what waits already."""
    grant = next((each for each in desk.grants if each.id == given), None)
    covered = []
    for other in desk.pending:
        if grant is None or other.action is None or not other.asked.offers:
            continue
        # One that names files which were others when it was asked is about something that nobody has allowed.
        if not grant.covers(other.action, now) or not grant.holds(other.asked.bound):
            continue
        try:
            await desk.answer(other.id, True, by=by, note=f"covered by {grant.id}")
        except OstiaryError:
            # Somebody was quicker, or its time was over: that is its answer.
            continue
        covered.append(other.id)
    return covered


def _on_authority(call: "Call[object]") -> Principal:
    """The scope `approve` is the owner's word for exactly this; who used it is recorded."""
    return replace(call.caller.principal, role=OWNER)


def _row(grant: Grant) -> GrantRow:
    return GrantRow(
        id=grant.id,
        tool=grant.tool,
        pattern=visible(stated(grant.tool, grant.pattern)),
        fixed={visible(name): visible(value) for name, value in grant.fixed.items()},
        agent=grant.agent,
        who=grant.principal,
        until=grant.until,
        by=grant.by,
        given_at=grant.given_at,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _desk(services: Services) -> Approvals:
    assert services.approvals is not None
    return services.approvals


METHODS = (
    Method("approvals.list", ListApprovals, ApprovalList, "read", list_approvals, or_scope="approve", needs="approvals"),
    Method("approvals.answer", AnswerApproval, AnsweredApproval, "approve", answer_approval, has_effect=True, needs="approvals"),
    Method("grants.list", Nothing, GrantList, "read", list_grants, or_scope="approve", needs="approvals"),
    Method("grants.revoke", RevokeGrant, GrantRow, "approve", revoke_grant, has_effect=True, needs="approvals"),
)
