"""Sessions: the list, one of them, and what can be done with it."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from ostiary.gateway.protocol.shape import Effect, Key, Name, Params, Payload

Verbosity = Literal["on", "full"]
Keys = Annotated[list[Annotated[str, Meta(min_length=1, max_length=600)]], Meta(min_length=1, max_length=100)]


class ListSessions(Params):
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    search: Annotated[str, Meta(max_length=200)] = ""
    include_ephemeral: bool = False


class SessionLine(Payload):
    """Times are UTC seconds. `waitingFor` is empty unless its turn is suspended."""

    key: str
    title: str
    created_at: float
    updated_at: float
    events: int
    running: bool
    waiting_for: str
    queued: int
    origin: str = ""


class SessionList(Payload):
    sessions: list[SessionLine]


class OfSession(Params):
    key: Key


class Usage(Payload):
    """Tokens; `cost` is USD, null when no price is known."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float | None = None


class Session(Payload):
    key: str
    title: str
    settings: dict[str, str]
    usage: Usage
    turns: int
    messages: int
    model: str
    running_turn: str
    waiting_for: str
    queued: int
    created_at: float
    updated_at: float
    context_tokens: int
    context_window: int
    context_report: dict[str, Any]


Settings = Annotated[
    dict[Annotated[str, Meta(min_length=1, max_length=64)], Annotated[str, Meta(max_length=500)]], Meta(max_length=32)
]


class PatchSession(Effect):
    """A setting with an empty value returns to its default."""

    key: Key
    settings: Settings = {}  # noqa: RUF012 - msgspec copies it
    title: Annotated[str, Meta(max_length=200)] | None = None


class Patched(Payload):
    settings: dict[str, str]
    title: str


class ChangeSession(Effect):
    key: Key


class CompactSession(Effect):
    """`instructions` say what the summary must keep in particular."""

    key: Key
    instructions: Annotated[str, Meta(max_length=2000)] = ""


class BranchSession(Effect):
    """The new session holds everything before the turn `atTurn`."""

    key: Key
    at_turn: Name


class Branched(Payload):
    key: str


class ListEvents(Params):
    key: Key
    after: Annotated[int, Meta(ge=0)] = 0
    turn: Annotated[str, Meta(max_length=128)] = ""
    limit: Annotated[int, Meta(ge=1, le=2000)] = 500


class Events(Payload):
    """Each holds `seq`, `turn`, `at`, `kind` and the event's own fields as the journal keeps them. `more`: later ones follow."""

    events: list[dict[str, Any]]
    more: bool


class Subscribe(Params):
    """Keys of sessions, or `*` for all of them. `verbose` full: events of tools carry their results."""

    keys: Keys
    verbose: Verbosity = "on"


class Unsubscribe(Params):
    keys: Keys


class Subscribed(Payload):
    keys: list[str]
