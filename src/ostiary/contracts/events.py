"""The closed set of events. The journal keeps them, the session is their fold, screens show them.

Every event class has a stable `kind` (see KINDS) and a `version`; adapters/store holds an upcaster for each older version.
Payloads may be erased: `Erased` then stands in their place and the hash chain still verifies.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from ostiary.contracts.content import AnswerPart, Image, Label, Message, UserPart
from ostiary.contracts.identity import Principal
from ostiary.contracts.messages import Address, Attachment
from ostiary.contracts.model import ToolSchema, Usage
from ostiary.contracts.records import dataclass

TurnStatus = Literal["completed", "failed", "aborted", "timeout"]
ToolFate = Literal["done", "refused", "skipped", "interrupted", "unanswered"]
ApprovalAnswer = Literal["allowed", "denied", "expired", "withdrawn"]
WaitKind = Literal["approval", "client_tool", "child", "vault"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInput:
    """One accepted message as the turn saw it. `item` is its inbox row, 0 if it had none.

    `parts` is what the model reads; `attachments` are the files that came with it, for people."""

    item: int
    parts: tuple[UserPart, ...]
    at: float
    sender: str = ""
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    """`context` is history the caller brought along (a stateless request); `instructions` bind this turn and grant nothing.

    `directives` are settings for this turn only. `client_tools` run on the caller's side.
    """

    inputs: tuple[TurnInput, ...]
    principal: Principal
    reply_to: Address
    lane: str = "main"
    generation: int = 0
    instructions: str = ""
    context: tuple[Message, ...] = ()
    client_tools: tuple[ToolSchema, ...] = ()
    directives: Mapping[str, str] = field(default_factory=dict)
    summary_of_dropped: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered:
    """A message that joined the running turn between two steps."""

    inputs: tuple[TurnInput, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequested:
    """Written before the call. `history` is the rolling digest over every message sent (the messages are in the journal);
    `prefix` and `schemas` are digests of documents stored once by hash. `unattended`: nobody is asked about what it calls."""

    step: int
    model: str
    thinking: str
    prefix: str
    schemas: str
    history: str
    messages: int
    characters: int
    unattended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpent:
    """A model was paid for something that is no answer of the turn, such as a summary of what was said before."""

    model: str
    usage: Usage
    purpose: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswered:
    step: int
    parts: tuple[AnswerPart, ...]
    stop: str
    usage: Usage
    model: str
    profile: str = ""
    seconds: float = 0.0
    label: Label | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolIntended:
    """Written before the call: from here on the effect may have happened. `layer` and `reason` are the Allow's."""

    call_id: str
    name: str
    arguments: str
    call_key: str
    repeatable: bool
    layer: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResulted:
    """The one answer to a call, whatever became of it."""

    call_id: str
    name: str
    text: str
    is_error: bool
    fate: ToolFate
    label: Label
    details: Mapping[str, object] = field(default_factory=dict)
    images: tuple[Image, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAsked:
    """A call waits for a person. `digest` covers tool, arguments and everything in `bound`; `layers` are those that ask.

    `offers` are patterns a wider grant may be given by, the narrowest first. `deadline` is UTC seconds."""

    approval: str
    call_id: str
    name: str
    digest: str
    layers: tuple[str, ...]
    reason: str
    deadline: float
    bound: Mapping[str, str] = field(default_factory=dict)
    offers: tuple[str, ...] = ()
    label: Label | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAnswered:
    """`by` is who answered, empty if nobody did. `grant` is the id of the wider grant that was given with it."""

    approval: str
    call_id: str
    answer: ApprovalAnswer
    by: str = ""
    grant: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declassified:
    """The owner vouches for everything said so far: the conversation's label begins anew from here."""

    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSuspended:
    """The turn keeps its session's place and holds no slot. `deadline` is UTC seconds, 0 for none."""

    waiting_for: WaitKind
    call_ids: tuple[str, ...]
    deadline: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResumed:
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    """`partial` is the answer as far as it was shown when the turn was cut short. `reply` is what people were told.

    `error_kind` is the stable word of the error that ended it (rate_limit, context_overflow, ...). `retry_after`: in so many
    seconds the same may succeed, 0 if nobody knows."""

    status: TurnStatus
    reason: str = ""
    error_kind: str = ""
    partial: str = ""
    reply: str = ""
    retry_after: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChanged:
    """A session setting (model, thinking, queue, verbose, send, ...). An empty value returns to the default."""

    name: str
    value: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixPinned:
    """The stable prompt prefix of this session from here on, by digest of a stored blob."""

    digest: str
    schemas: str
    reason: str
    report: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """The conversation starts afresh; the journal before it stays readable."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trimmed:
    """Turns before `kept_from` (a turn id) are no longer sent. Said to the user in `notice`."""

    kept_from: str
    turns: int
    notice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """The summary stands for everything before `kept_from` (a turn id)."""

    summary: str
    kept_from: str
    label: Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Branched:
    """This session begins as another one was at event `at`; `messages` is that state."""

    parent: str
    at: int
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """History from elsewhere, repaired on the way in. `notes` says what was mended."""

    messages: tuple[Message, ...]
    source: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """Words put into the conversation as if the assistant had said them, without asking a model."""

    text: str
    by: str
    label: Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """Stands where a payload was erased."""

    kind: str
    digest: str


Event = (
    TurnStarted
    | Steered
    | ModelRequested
    | ModelSpent
    | ModelAnswered
    | ToolIntended
    | ToolResulted
    | ApprovalAsked
    | ApprovalAnswered
    | Declassified
    | TurnSuspended
    | TurnResumed
    | TurnEnded
    | SettingChanged
    | PrefixPinned
    | Reset
    | Trimmed
    | Compacted
    | Branched
    | Imported
    | Noted
    | Erased
)

KINDS: Mapping[str, type[Event]] = {
    "turn.started": TurnStarted,
    "turn.steered": Steered,
    "model.requested": ModelRequested,
    "model.spent": ModelSpent,
    "model.answered": ModelAnswered,
    "tool.intended": ToolIntended,
    "tool.resulted": ToolResulted,
    "approval.asked": ApprovalAsked,
    "approval.answered": ApprovalAnswered,
    "session.declassified": Declassified,
    "turn.suspended": TurnSuspended,
    "turn.resumed": TurnResumed,
    "turn.ended": TurnEnded,
    "session.setting": SettingChanged,
    "session.prefix": PrefixPinned,
    "session.reset": Reset,
    "session.trimmed": Trimmed,
    "session.compacted": Compacted,
    "session.branched": Branched,
    "session.imported": Imported,
    "session.noted": Noted,
}
KIND_OF: Mapping[type[Event], str] = {cls: kind for kind, cls in KINDS.items()}
VERSIONS: Mapping[str, int] = dict.fromkeys(KINDS, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An event as the journal keeps it: `seq` counts from 1 within its session; `turn` is empty for session events."""

    session: str
    seq: int
    turn: str
    at: float
    event: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """A piece of an answer being written, or a word of progress from a tool (`call` says which call's).

    Never journaled; a higher `attempt` voids the lower ones."""

    session: str
    turn: str
    step: int
    attempt: int
    offset: int
    text: str
    stream: Literal["assistant", "thinking", "call", "tool"]
    call: str = ""


Shown = Recorded | Delta
