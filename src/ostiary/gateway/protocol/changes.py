"""What turns did to files, taking it back, vouching for what was said, and running a turn again."""

from typing import Annotated, Literal

from msgspec import Meta

from ostiary.gateway.protocol.chat import Turn
from ostiary.gateway.protocol.shape import Effect, Key, Name, Params, Payload

OptionalKey = Annotated[str, Meta(max_length=600)]
OptionalTurn = Annotated[str, Meta(max_length=128)]


class ListChanges(Params):
    """Of one turn, or of the newest turns of the session `key`."""

    turn: OptionalTurn = ""
    key: OptionalKey = ""
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


class FileChange(Payload):
    """From version `before` (0: there was none) to `after`, both of the turn. `diff` is a unified one, or empty: `note` says
    why. `current`: nobody changed it since, so it can be taken back. `undone`: it was changed since, and is again what it was
    before the turn."""

    path: str
    collection: str
    change: Literal["added", "changed", "deleted"]
    before: int
    after: int
    size: int
    added: int
    removed: int
    diff: str
    note: str
    current: bool
    undone: bool


class TurnChanges(Payload):
    turn: str
    at: float
    files: list[FileChange]


class ChangeList(Payload):
    """The newest turn first; turns that changed no file are left out."""

    turns: list[TurnChanges]


class UndoTurn(Effect):
    """Without `turn` it is the newest of the session `key` that changed a file."""

    turn: OptionalTurn = ""
    key: OptionalKey = ""


class Undone(Payload):
    """`conflicts` say of each file that was left as it is, why."""

    turn: str
    restored: list[str]
    deleted: list[str]
    conflicts: list[str]


class TrustSession(Effect):
    """`reason` goes to the audit log."""

    key: Key
    reason: Annotated[str, Meta(max_length=500)] = ""


class OfTurn(Params):
    key: Key
    turn: Name


class DecisionRow(Payload):
    """One decision as it was recorded then: which layer, why, and how trusted what it was decided on was."""

    at: float
    tool: str
    call_id: str
    outcome: str
    layer: str
    reason: str
    trust: str
    private: bool


class StepRecord(Payload):
    """What one answer of the model was asked with: digests of the prompt and the tools (both kept as blobs), messages."""

    step: int
    model: str
    thinking: str
    prompt: str
    schemas: str
    messages: int
    characters: int
    seconds: float
    cost: float | None


class TurnRecord(Payload):
    """A turn with everything that was recorded of it. `decisions` come from the audit log, as far back as it is searched;
    each call of `turn` tells its own besides. `directives` were settings for this turn only."""

    turn: Turn
    steps: list[StepRecord]
    decisions: list[DecisionRow]
    directives: dict[str, str]


class RerunTurn(Effect):
    """The branch holds everything before step `step` of the turn; its own inputs are then said again in it."""

    key: Key
    turn: Name
    step: Annotated[int, Meta(ge=1, le=10_000)] = 1


class Rerun(Payload):
    """`key` is the new session; `item` identifies the message in its `started` event."""

    key: str
    item: int | None
