"""What waits for a person's yes, the answer, and the grants that outlive their question."""

from typing import Annotated, Literal

from msgspec import Meta

from ostiary.gateway.protocol.shape import Effect, Name, Params, Payload, Repeatable

Answer = Literal["allowed", "denied", "expired", "withdrawn"]
LONGEST = 30 * 86_400


class Offer(Payload):
    """`pattern` is what to send back for a wider yes; `text` is what to show of it."""

    pattern: str
    text: str


class Approval(Payload):
    """A call that waits. Every text for people has its control, direction and invisible characters written out.

    `text` is all there is to read: the tool, every argument, and what the answer is bound to. `arguments` and `bound` are its
    parts. `layers` are the rules that ask, for `reason`. `offers` are patterns for a wider yes, the narrowest first; none: it
    can only be allowed once. Calls of the same `group` are alike. `trust`, `private` and `sources` say what the conversation
    holds that it was decided on. Times are UTC seconds. Not `whole`: `text` is only the beginning of a very long one; read it
    with `approvals.list` and its id before it is answered."""

    id: str
    key: str
    turn: str
    call_id: str
    tool: str
    text: str
    arguments: dict[str, str]
    bound: dict[str, str]
    layers: list[str]
    reason: str
    offers: list[Offer]
    group: str
    asked_at: float
    deadline: float
    who: str
    channel: str
    trust: str
    private: bool
    sources: list[str]
    whole: bool = True


class ListApprovals(Params):
    """`id`: this one alone, whole however long it is."""

    id: Annotated[str, Meta(max_length=128)] = ""


class ApprovalGroup(Payload):
    """Calls that are alike. `offer` is the narrowest pattern that covers every one of them; null if there is none."""

    group: str
    tool: str
    ids: list[str]
    offer: Offer | None


class ApprovalList(Payload):
    """Oldest first."""

    approvals: list[Approval]
    groups: list[ApprovalGroup]


class AnswerApproval(Effect):
    """A yes with `pattern` and `seconds` also allows like calls until then, without asking; `note` is told to the model."""

    id: Name
    allow: bool
    pattern: Annotated[str, Meta(max_length=600)] = ""
    seconds: Annotated[float, Meta(ge=0, le=LONGEST)] = 0.0
    note: Annotated[str, Meta(max_length=500)] = ""


class AnsweredApproval(Payload):
    """`grant` is the id of the wider grant, else empty. `also` are the other calls that waited and that it covers."""

    id: str
    answer: Answer
    by: str
    grant: str
    also: list[str]


class GrantRow(Payload):
    """Like calls of `tool`, by `who` to `agent`, run unasked until `until`. `fixed` are the arguments that must be the same."""

    id: str
    tool: str
    pattern: str
    fixed: dict[str, str]
    agent: str
    who: str
    until: float
    by: str
    given_at: float


class GrantList(Payload):
    """Newest first."""

    grants: list[GrantRow]


class RevokeGrant(Repeatable):
    id: Name


class ApprovalAsked(Payload):
    """A call waits for a person."""

    approval: Approval
    state: Literal["asked"] = "asked"


class ApprovalAnswered(Payload):
    """It waits no more. `by` is empty if nobody answered."""

    id: str
    key: str
    turn: str
    call_id: str
    answer: Answer
    by: str
    grant: str
    note: str
    state: Literal["answered"] = "answered"
