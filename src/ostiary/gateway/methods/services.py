"""What methods act through. Assembly fills it; a service that is None is one this gateway does not have."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from ostiary.contracts.audit import AuditLog
from ostiary.contracts.clock import Clock
from ostiary.contracts.content import Label
from ostiary.contracts.control import ControlDesk
from ostiary.contracts.engine import Engine
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import Address
from ostiary.contracts.model import ModelCatalogue, ModelRef
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import SessionRecord, Store
from ostiary.core.approvals.desk import Approvals
from ostiary.core.routing.commands import Command
from ostiary.core.sessions.undo import Undo
from ostiary.gateway.methods.tallies import Tallies
from ostiary.gateway.protocol import memory as mem
from ostiary.gateway.protocol import vault as vlt
from ostiary.gateway.protocol.changes import TurnChanges
from ostiary.gateway.protocol.config import ConfigSchema, ConfigView
from ostiary.gateway.protocol.devices import DeviceList, Paired
from ostiary.gateway.protocol.models import Kind, Profile
from ostiary.gateway.protocol.policy import ExplainPolicy, Explanation, ListTools, Tools
from ostiary.gateway.protocol.system import ChannelState
from ostiary.gateway.socket.callers import Caller
from ostiary.gateway.socket.connection import Connection
from ostiary.gateway.socket.hub import Hub

P = TypeVar("P", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What a session is at right now. `waiting_for` is empty unless its turn is suspended."""

    running: bool = False
    waiting_for: str = ""
    queued: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """An answer that is being written, as far as it is there. Deltas of the same turn, step and attempt go on from its end."""

    turn: str
    step: int
    attempt: int
    text: str


class SessionDesk(Protocol):
    """What the engine does to sessions besides contracts.engine.Controls. Raises StoreError."""

    def activity(self) -> Mapping[str, Activity]:
        """Of every session that is at something; the others are absent."""
        ...

    def writing(self, session: SessionKey) -> Writing | None:
        """None while nothing of an answer is there."""
        ...

    async def save_record(self, record: SessionRecord) -> None: ...

    async def delete(self, session: SessionKey, *, by: Principal) -> None:
        """Stop what runs, then journal, record and memory are gone."""
        ...

    async def note(self, session: SessionKey, text: str, *, by: Principal) -> int:
        """Put an assistant's words into the journal (`Noted`); gives its seq."""
        ...

    async def label(self, session: SessionKey) -> Label:
        """Of everything the model would be sent of it now."""
        ...


class ModelDesk(Protocol):
    """Models as configured, and the owner's keys for them. Raises BadInput, StoreError, ConfigInvalid."""

    def alias(self, ref: ModelRef) -> str:
        """Empty if it has none."""
        ...

    def is_usable(self, ref: ModelRef) -> bool: ...

    def profiles(self) -> Sequence[Profile]: ...

    async def set_profile(self, id: str, provider: str, kind: Kind, secret: str) -> None: ...

    async def delete_profile(self, id: str) -> bool:
        """False if there is none of that id."""
        ...

    async def set_primary(self, ref: ModelRef) -> int:
        """Gives the generation that comes of it."""
        ...


class ConfigDesk(Protocol):
    """The configuration file. Changes raise ConfigInvalid, BadInput, Conflict (another hash), Busy, StoreUnavailable."""

    def view(self) -> ConfigView: ...

    def schema(self) -> ConfigSchema: ...

    async def set(self, path: str, value: object, *, hash: str) -> int:
        """Gives the generation; the view then has the new hash."""
        ...

    async def unset(self, path: str, *, hash: str) -> int: ...

    async def apply(self, text: str, *, hash: str) -> int: ...


class DeviceDesk(Protocol):
    """Pairing and devices. Never grants more than `by` has. Raises BadInput, NotAllowed, UnknownSession, StoreError."""

    async def list(self, by: Caller) -> DeviceList: ...

    async def approve(self, request: str, scopes: Sequence[str] | None, by: Caller) -> Paired: ...

    async def reject(self, request: str, by: Caller) -> None: ...

    async def rotate(self, device: str, by: Caller) -> str:
        """Gives the new token."""
        ...

    async def revoke(self, device: str, by: Caller) -> None: ...

    async def link(self, by: Caller) -> str:
        """A link that signs one browser in, once."""
        ...


class PolicyDesk(Protocol):
    """The rules in force. Raises BadInput for a tool, person or session that cannot be."""

    async def explain(self, asked: ExplainPolicy) -> Explanation: ...

    async def tools(self, asked: ListTools) -> Tools: ...


class ChangeDesk(Protocol):
    """What turns did to files, and what was said, as far as it can be taken back or vouched for. Raises BadInput, StoreError."""

    async def of_turn(self, turn: str) -> TurnChanges | None:
        """None if it changed no file."""
        ...

    async def undo(self, turn: str, *, by: Principal) -> Undo: ...

    async def last_change(self, session: SessionKey) -> str:
        """The newest turn of the session that changed a file."""
        ...

    async def trust(self, session: SessionKey, *, by: Principal, reason: str) -> None: ...


class VaultDesk(Protocol):
    """The documents of the house. The caller of what writes has checked that `by` is the owner. Raises UnknownSession (there is
    no such document), BadInput, Conflict, QuotaExceeded, StoreError."""

    async def collections(self) -> vlt.CollectionList: ...

    async def list(self, asked: vlt.ListDocuments) -> vlt.DocumentList: ...

    async def get(self, asked: vlt.GetDocument) -> vlt.Document: ...

    async def newest(self, collection: str, path: str) -> vlt.DocumentLine | None:
        """The newest version, also one that says "deleted"; None if there never was any."""
        ...

    async def put(self, asked: vlt.PutDocument, by: Principal) -> vlt.Written: ...

    async def history(self, asked: vlt.OfDocument) -> vlt.DocumentHistory: ...

    async def diff(self, asked: vlt.CompareVersions) -> vlt.Difference: ...

    async def plan_restore(self, asked: vlt.PreviewRestore) -> vlt.Restored: ...

    async def restore(self, asked: vlt.RestoreDocuments, by: Principal) -> vlt.Restored: ...

    async def delete(self, asked: vlt.DeleteDocument, by: Principal) -> vlt.Written: ...

    async def move(self, asked: vlt.MoveDocument, by: Principal) -> vlt.Written: ...

    async def search(self, asked: vlt.SearchVault) -> vlt.Hits: ...

    async def search_sessions(self, asked: vlt.SearchSessions) -> vlt.SessionHits: ...


class MemoryDesk(Protocol):
    """What is remembered. Raises as VaultDesk; NotAllowed for what only the owner does."""

    async def list(self, asked: mem.ListMemory) -> mem.MemoryList: ...

    async def search(self, asked: mem.SearchMemory) -> mem.Hits: ...

    async def write(self, asked: mem.WriteMemory, by: Principal) -> mem.MemoryKept: ...

    async def why(self, asked: mem.WhyMemory) -> mem.MemoryOrigins: ...

    async def plan_forget(self, text: str) -> mem.ForgetPreview: ...

    async def forget(self, asked: mem.ForgetMemory, by: Principal) -> mem.MemoryForgotten: ...

    async def confirm(self, asked: mem.ConfirmMemory, by: Principal) -> mem.MemorySettled: ...

    async def status(self) -> mem.MemoryStatus: ...


Deliver = Callable[[Address, str, str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """`facts` has home, generation, config_problem, agents. `deliver` puts a text with its key into a channel's outbox.

    `agents` names the agents, the default one first. `problems` are sentences for the owner.
    """

    engine: Engine
    store: Store
    catalogue: ModelCatalogue
    clock: Clock
    version: str
    facts: Callable[[], Mapping[str, object]] = dict
    agents: Callable[[], tuple[str, ...]] = lambda: ("main",)
    commands: Callable[[], Sequence[Command]] = tuple
    problems: Callable[[], Sequence[str]] = tuple
    channels: Callable[[], Sequence[ChannelState]] = tuple
    log_file: Callable[[], Path | None] = lambda: None
    sessions: SessionDesk | None = None
    models: ModelDesk | None = None
    config: ConfigDesk | None = None
    devices: DeviceDesk | None = None
    control: ControlDesk | None = None
    policy: PolicyDesk | None = None
    approvals: Approvals | None = None
    changes: ChangeDesk | None = None
    vault: VaultDesk | None = None
    memory: MemoryDesk | None = None
    audit_log: AuditLog | None = None
    deliver: Deliver | None = None
    started_at: float = 0.0
    tallies: Tallies = field(default_factory=Tallies)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[P]):
    """One request: what it asks, who asks, and by which socket."""

    params: P
    caller: Caller
    connection: Connection
    hub: Hub
    services: Services
