"""What the gateway tells without being asked."""

from collections.abc import Mapping
from typing import Any, Literal

from ostiary.gateway.protocol.approvals import ApprovalAnswered, ApprovalAsked
from ostiary.gateway.protocol.chat import CallState, Input, TurnState
from ostiary.gateway.protocol.connect import Challenge
from ostiary.gateway.protocol.control import HouseStatus
from ostiary.gateway.protocol.sessions import Usage
from ostiary.gateway.protocol.shape import Payload
from ostiary.gateway.protocol.system import Health, PresenceList


class Tick(Payload):
    """Milliseconds UTC. A client that misses three of them is not connected any more."""

    ts: int


class SessionChanged(Payload):
    key: str
    change: Literal["updated", "deleted", "reset"]
    title: str
    updated_at: float
    running: bool


class Shutdown(Payload, omit_defaults=True):
    """The gateway stops. Turns under way go on after the next start."""

    reason: str
    restart_expected_ms: int = 0


class ChatStarted(Payload):
    key: str
    turn: str
    items: list[int]
    inputs: list[Input]
    sender: str
    at: float
    state: Literal["started"] = "started"


class ChatDelta(Payload):
    """A piece of an answer being written. `offset` counts characters; a higher `attempt` voids what came before it.

    A client that reads too slowly misses some: `answered` has the whole text."""

    key: str
    turn: str
    step: int
    attempt: int
    offset: int
    text: str
    stream: Literal["assistant", "thinking"]
    state: Literal["delta"] = "delta"


class ChatTool(Payload, omit_defaults=True):
    """`layer` allowed it, for `reason`. `details` are for people: what it changed as a diff, an exit code."""

    key: str
    turn: str
    step: int
    id: str
    name: str
    phase: Literal["started", "ended"]
    state: Literal["tool"]
    arguments: str | None = None
    fate: CallState | None = None
    is_error: bool | None = None
    result: str | None = None
    seconds: float | None = None
    layer: str | None = None
    reason: str | None = None
    details: dict[str, Any] | None = None


class ChatProgress(Payload):
    """A word from a tool at work, such as what a command has just printed. As with `delta`, a slow reader misses some."""

    key: str
    turn: str
    step: int
    id: str
    text: str
    state: Literal["progress"] = "progress"


class ChatAnswered(Payload):
    """The model's answer of one step, whole."""

    key: str
    turn: str
    step: int
    text: str
    thinking: str
    model: str
    usage: Usage
    state: Literal["answered"] = "answered"


class ChatSteered(Payload):
    """Messages that joined the running turn."""

    key: str
    turn: str
    items: list[int]
    inputs: list[Input]
    state: Literal["steered"] = "steered"


class ChatWaiting(Payload):
    key: str
    turn: str
    waiting_for: str
    call_ids: list[str]
    state: Literal["waiting"] = "waiting"


class ChatResumed(Payload):
    key: str
    turn: str
    state: Literal["resumed"] = "resumed"


class ChatFinal(Payload):
    key: str
    turn: str
    reply: str
    usage: Usage
    model: str
    status: Literal["completed"] = "completed"
    state: Literal["final"] = "final"


class ChatError(Payload):
    """`partial` is the answer as far as it was shown."""

    key: str
    turn: str
    status: TurnState
    reply: str
    reason: str
    error_kind: str
    partial: str
    usage: Usage
    state: Literal["error"] = "error"


class ChatSummarised(Payload):
    """What was said before the turn `keptFrom` is sent to the model as `summary` from here on."""

    key: str
    turn: str
    kept_from: str
    summary: str
    at: float
    state: Literal["summarised"] = "summarised"


class ChatNoted(Payload):
    """Words that were put into the transcript without a turn."""

    key: str
    turn: str
    text: str
    at: float
    by: str
    state: Literal["noted"] = "noted"


Chat = (
    ChatStarted
    | ChatDelta
    | ChatTool
    | ChatProgress
    | ChatAnswered
    | ChatSteered
    | ChatWaiting
    | ChatResumed
    | ChatFinal
    | ChatError
    | ChatSummarised
    | ChatNoted
)
CHAT: tuple[type[Payload], ...] = (
    ChatStarted,
    ChatDelta,
    ChatTool,
    ChatProgress,
    ChatAnswered,
    ChatSteered,
    ChatWaiting,
    ChatResumed,
    ChatFinal,
    ChatError,
    ChatSummarised,
    ChatNoted,
)


class AgentEvent(Payload):
    """How a run that this socket began with `agent` gets on. `data` is as in `chat`, for lifecycle with `phase`."""

    run_id: str
    stream: Literal["lifecycle", "assistant", "tool"]
    data: dict[str, Any]


# Every event: its payload, and who gets it.
EVENTS: Mapping[str, tuple[tuple[type[Payload], ...], str]] = {
    "connect.challenge": ((Challenge,), "every new socket, before `connect`; not counted in `seq`"),
    "tick": ((Tick,), "every socket, every 30 s"),
    "presence": ((PresenceList,), "every socket, when somebody comes or goes"),
    "health": ((Health,), "every socket, when the problems change"),
    "sessions": ((SessionChanged,), "every socket, when a session is used, changed, reset or deleted"),
    "chat": (CHAT, "the subscribers of the session"),
    "agent": ((AgentEvent,), "the socket that began the run"),
    "approval": (
        (ApprovalAsked, ApprovalAnswered),
        "every socket with the scope read or approve, when a call waits for a person and when it waits no more",
    ),
    "house": (
        (HouseStatus,),
        "every socket with the scope read, when the house wakes, sleeps or is killed, or a switch changes; without `tools`",
    ),
    "shutdown": ((Shutdown,), "every socket, when the gateway stops"),
}
