"""Talking: what was said, saying something, and runs on behalf of a program."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from ostiary.gateway.protocol.sessions import Usage, Verbosity
from ostiary.gateway.protocol.shape import Effect, Key, Params, Payload, Words

TurnState = Literal["running", "waiting", "completed", "failed", "aborted", "timeout"]
CallState = Literal["running", "done", "refused", "skipped", "interrupted", "unanswered"]
Thinking = Literal["off", "minimal", "low", "medium", "high", "xhigh"]
Model = Annotated[str, Meta(max_length=200)]


class File(Payload):
    """A file that came with a message; its bytes are the blob `digest`."""

    name: str
    media_type: str
    digest: str
    size: int


class Input(Payload):
    text: str
    attachments: list[File]


class Asked(Payload, omit_defaults=True):
    """A person was asked about a call: by which layers, why, and what became of it. No `answer`: it still waits."""

    id: str
    layers: list[str]
    reason: str
    at: float
    deadline: float
    answer: str = ""
    by: str = ""
    grant: str = ""
    note: str = ""


class ToolUse(Payload, omit_defaults=True):
    """`arguments` is JSON text as the model wrote it. `layer` allowed it, for `reason`; `asked` are the questions put to people.

    `details` are for people: what it changed as a diff, an exit code."""

    id: str
    name: str
    arguments: str
    state: CallState
    result: str | None = None
    is_error: bool | None = None
    seconds: float | None = None
    layer: str | None = None
    reason: str | None = None
    asked: list[Asked] | None = None
    details: dict[str, Any] | None = None


class Step(Payload, omit_defaults=True):
    """One answer of the model and the calls it made."""

    step: int
    model: str
    text: str
    thinking: str
    calls: list[ToolUse]
    usage: Usage | None = None
    seconds: float | None = None


class Turn(Payload):
    """`at` is UTC seconds. `reply` is what people were told; `reason` and `errorKind` say why it did not complete.

    What was never a turn of this session has an id of its own kind: `note-…` for a note, `past-…` for history that was
    brought along by a branch or an import.
    """

    id: str
    at: float
    status: TurnState
    sender: str
    inputs: list[Input]
    steps: list[Step]
    reply: str
    reason: str
    error_kind: str
    usage: Usage


class GetHistory(Params):
    """The newest turns, or those before the turn `before`. It also subscribes this socket to the session."""

    key: Key
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    before: Annotated[str, Meta(max_length=128)] = ""
    subscribe: bool = True
    verbose: Verbosity = "on"


class Partial(Payload):
    """The answer that is being written, as far as it is there: `delta` events of the same step and attempt go on from its end.

    Of a very long one only the beginning is given."""

    turn: str
    step: int
    attempt: int
    text: str


class ContextLabel(Payload):
    """Where what the model is sent came from: the lowest trust of all of it, whether anything is private, and the sources."""

    trust: str
    private: bool
    sources: list[str]


class Summarised(Payload):
    """What was said before the turn `keptFrom` is sent to the model as `summary`."""

    kept_from: str
    summary: str
    at: float


class History(Payload):
    """Oldest first. `more`: there are earlier ones in this conversation. `partial` is null unless an answer is being written.

    `label` is that of the conversation as it stands; null where it cannot be told. `summarised` is the last summary that was made
    among these turns; the turn it names may be an earlier one."""

    turns: list[Turn]
    more: bool
    settings: dict[str, str]
    model: str
    context_tokens: int
    context_window: int
    usage: Usage
    partial: Partial | None = None
    label: ContextLabel | None = None
    summarised: Summarised | None = None


class Attached(Params):
    """A blob that was uploaded before."""

    digest: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    name: Annotated[str, Meta(max_length=255)]
    media_type: Annotated[str, Meta(min_length=3, max_length=100)]
    size: Annotated[int, Meta(ge=0)]


class Send(Effect):
    """`text` may be empty if there are attachments. `model` and `thinking` are for this message only."""

    key: Key
    text: Annotated[str, Meta(max_length=1_000_000)]
    attachments: Annotated[list[Attached], Meta(max_length=20)] = []  # noqa: RUF012 - msgspec copies it
    model: Model = ""
    thinking: Thinking | None = None


class Sent(Payload):
    """`answered`: it was a command, and `text` is what it said. `item` identifies the message in `started` events."""

    status: Literal["accepted", "answered", "duplicate"]
    item: int | None
    text: str = ""


class Abort(Params):
    key: Key


class Aborted(Payload):
    turns: int
    queued: int


class Inject(Effect):
    """Words put into the transcript as the assistant's, without asking a model."""

    key: Key
    text: Annotated[str, Meta(min_length=1, max_length=100_000)]


class Injected(Payload):
    seq: int


class Run(Effect):
    """`key` names the session, else it is the main one of `agentId`. `timeoutMs` bounds the second response, not the run."""

    message: Words
    key: Annotated[str, Meta(max_length=600)] = ""
    agent_id: Annotated[str, Meta(max_length=64)] = ""
    model: Model = ""
    thinking: Thinking | None = None
    timeout_ms: Annotated[int, Meta(ge=1, le=3_600_000)] = 660_000


class RunAccepted(Payload):
    run_id: str
    session_key: str
    status: Literal["accepted"] = "accepted"
    text: str | None = None


class RunEnded(Payload):
    """`summary` is one line; `text` is the reply. `timeout`: it still runs; ask again with agent.wait."""

    run_id: str
    status: Literal["ok", "error", "timeout"]
    summary: str
    text: str = ""
    usage: Usage | None = None


class Wait(Params):
    run_id: Annotated[str, Meta(pattern="^run_[0-9]{1,18}$")]
    timeout_ms: Annotated[int, Meta(ge=0, le=600_000)] = 30_000


class Place(Params):
    channel: Annotated[str, Meta(min_length=1, max_length=64)]
    chat: Annotated[str, Meta(min_length=1, max_length=256)]
    account: Annotated[str, Meta(max_length=64)] = "default"
    thread: Annotated[str, Meta(max_length=256)] = ""


class Deliver(Effect):
    to: Place
    text: Annotated[str, Meta(min_length=1, max_length=100_000)]


class Delivered(Payload):
    key: str


ToolArguments = dict[str, Any]
