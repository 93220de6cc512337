"""What all sockets share: who is connected, the clock they hear, and the feed of what happens in the house."""

import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
from anyio.abc import TaskGroup

from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import BadInput, OstiaryError
from ostiary.contracts.events import (
    ApprovalAnswered,
    ApprovalAsked,
    Branched,
    Delta,
    Imported,
    Noted,
    Recorded,
    Reset,
    SettingChanged,
    TurnEnded,
    TurnStarted,
    TurnSuspended,
)
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import Store
from ostiary.core.routing.feed import Watcher
from ostiary.gateway.protocol import approvals
from ostiary.gateway.protocol.approvals import Approval
from ostiary.gateway.protocol.connect import StateVersion
from ostiary.gateway.protocol.control import HouseStatus
from ostiary.gateway.protocol.events import ChatDelta, ChatProgress, SessionChanged, Shutdown, Tick
from ostiary.gateway.protocol.frames import encode, event_head
from ostiary.gateway.protocol.registry import Scope
from ostiary.gateway.protocol.system import Health, PresenceList
from ostiary.gateway.socket.audience import EVERY, Audience
from ostiary.gateway.socket.callers import Revocations
from ostiary.gateway.socket.connection import Connection
from ostiary.gateway.socket.deltas import Deltas
from ostiary.gateway.socket.limits import SocketLimits
from ostiary.gateway.socket.narration import Narration, delta_of
from ostiary.gateway.socket.presence import PresenceTable
from ostiary.gateway.socket.runs import Runs

log = logging.getLogger("ostiary.socket")

Watch = Callable[[], AbstractAsyncContextManager[Watcher]]

SEES_APPROVALS: frozenset[Scope] = frozenset({"read", "approve"})
_SEES_HOUSE: frozenset[Scope] = frozenset({"read"})

_NEWS = 1000
_REVOCATION_RETRY = 0.5
_REVOKED = 256
# Many come at once after a restart: each would tell all the others.
_PRESENCE_SECONDS = 1.0


class Hub:
    """Use it inside `async with hub.running()`. `watch` opens a watcher on everything the engine shows.

    `question` gives what waits under an id, None if it waits no more. `house` gives the house after its next change."""

    def __init__(
        self,
        *,
        store: Store,
        watch: Watch,
        clock: Clock,
        health: Callable[[], Health],
        is_running: Callable[[str], bool],
        presence: PresenceTable,
        revocations: Revocations,
        saw: Callable[[Any], None],
        limits: SocketLimits,
        question: Callable[[str], Approval | None] = lambda approval: None,
        house: Callable[[], Awaitable[HouseStatus]] | None = None,
    ) -> None:
        self.limits = limits
        self._question = question
        self._house = house
        self.audience = Audience()
        self.presence = presence
        self.runs = Runs()
        self.clock = clock
        self.health = health
        self._is_running = is_running
        self.restart_expected_ms = 0
        self._store = store
        self._watch = watch
        self._revocations = revocations
        self._saw = saw
        self._narration = Narration()
        self._deltas = Deltas(self._tell_delta, monotonic=clock.monotonic, seconds=limits.delta_seconds)
        self._health_version = 1
        self._problems: list[str] = []
        self._news: dict[str, SessionChanged] = {}
        self._is_news = anyio.Event()
        self._has_presence_changed = anyio.Event()
        self._is_busy = anyio.Event()
        self._is_watched = anyio.Event()
        self._has_left = anyio.Event()
        self._group: TaskGroup | None = None
        self._revoked: deque[tuple[int, str]] = deque(maxlen=_REVOKED)
        self.revoked = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Hub"]:
        """Leaving tells every socket, then closes them."""
        self._problems = self.health().problems
        async with anyio.create_task_group() as group:
            self._group = group
            group.start_soon(self._tick)
            group.start_soon(self._listen)
            group.start_soon(self._flush)
            group.start_soon(self._spread_news)
            group.start_soon(self._spread_presence)
            group.start_soon(self._drop_revoked)
            group.start_soon(self._follow_house)
            try:
                yield self
            finally:
                for connection in list(self.audience.everybody):
                    self.goodbye(connection)
                    connection.close(1012, "the gateway stops")
                with anyio.move_on_after(self.limits.close_seconds, shield=True):
                    while self.audience.everybody:
                        self._has_left = anyio.Event()
                        await self._has_left.wait()
                self._group = None
                group.cancel_scope.cancel()

    @property
    def is_running(self) -> bool:
        return self._group is not None

    @property
    def group(self) -> TaskGroup:
        """Requests run here: a connection that goes takes no act with it."""
        assert self._group is not None, "the hub is not running"
        return self._group

    @property
    def state_version(self) -> StateVersion:
        return StateVersion(presence=self.presence.version, health=self._health_version)

    def join(self, connection: Connection, since: int) -> None:
        """`since` is `revoked` as it stood before the caller was identified: who was revoked meanwhile goes again."""
        self.audience.join(connection)
        if any(number > since and caller == connection.caller.id for number, caller in self._revoked):
            connection.close(1008, "revoked")
        self._is_watched.set()
        if self.presence.arrived(connection.instance, connection.client, connection.caller.scopes):
            self.presence_changed()

    def leave(self, connection: Connection) -> None:
        self.audience.leave(connection)
        self.runs.left(connection)
        self._has_left.set()
        others = any(each.instance == connection.instance for each in self.audience.everybody)
        if not others and self.presence.left(connection.instance):
            self.presence_changed()

    def goodbye(self, connection: Connection, reason: str = "the gateway stops") -> None:
        payload = Shutdown(reason=reason, restart_expected_ms=self.restart_expected_ms)
        connection.outgoing.event(event_head("shutdown", encode(payload)))

    def subscribe(self, connection: Connection, sessions: list[str], *, wants_results: bool) -> None:
        """Raises BadInput beyond the number one socket may follow."""
        if len(connection.sessions | set(sessions)) > self.limits.subscriptions:
            raise BadInput(
                f"a socket follows at most {self.limits.subscriptions} sessions", hint=f"Leave some, or follow {EVERY!r}."
            )
        connection.wants_results = wants_results
        self.audience.subscribe(connection, sessions)

    def presence_changed(self) -> None:
        """Everybody is told soon."""
        self._has_presence_changed.set()

    def session_changed(self, change: SessionChanged) -> None:
        """For what the feed does not show: a title, a deletion, a new session. An empty title is looked up."""
        if self.audience.everybody and (len(self._news) < _NEWS or change.key in self._news):
            self._news[change.key] = change
            self._is_news.set()

    async def _tick(self) -> None:
        while True:
            await self.clock.sleep(self.limits.tick_seconds)
            everybody = self.audience.everybody
            self.presence.heard(connection.instance for connection in everybody)
            for connection in everybody:
                self._saw(connection.caller)
            if self.presence.expire():
                self.presence_changed()
            self.audience.tell_everybody("tick", Tick(ts=int(self.clock.now() * 1000)))
            health = self.health()
            if health.problems != self._problems:
                self._problems = health.problems
                self._health_version += 1
                self.audience.tell_everybody("health", health, self.state_version)

    async def _spread_presence(self) -> None:
        while True:
            await self._has_presence_changed.wait()
            await self.clock.sleep(_PRESENCE_SECONDS)
            self._has_presence_changed = anyio.Event()
            self.audience.tell_everybody("presence", PresenceList(presence=self.presence.list()), self.state_version)

    async def _follow_house(self) -> None:
        while self._house is not None:
            changed = await self._house()
            self.audience.tell_those_with(_SEES_HOUSE, "house", changed)

    async def _drop_revoked(self) -> None:
        while True:
            try:
                async for caller in self._revocations():
                    self.revoked += 1
                    self._revoked.append((self.revoked, caller))
                    for connection in list(self.audience.everybody):
                        if connection.caller.id == caller:
                            connection.close(1008, "revoked")
                return
            except OstiaryError as error:
                log.warning("revocations are not heard of for a moment: %s", error)
                await self.clock.sleep(_REVOCATION_RETRY)

    async def _listen(self) -> None:
        """While somebody is connected, everything the house shows; nobody costs nothing."""
        while True:
            while not self.audience.everybody:
                self._is_watched = anyio.Event()
                await self._is_watched.wait()
            async with self._watch() as watcher:
                while not watcher.ended and self.audience.everybody:
                    await watcher.wait()
                    for shown in watcher.take_ready():
                        if isinstance(shown, Delta):
                            self._show(shown)
                        else:
                            await self._told(shown)
                if watcher.ended and self.audience.everybody:
                    self.audience.lost_something()

    def _show(self, delta: Delta) -> None:
        told = delta_of(delta)
        if told is not None and (self.audience.of(delta.session) or self.runs.follows(delta.turn)):
            self._deltas.put(delta.session, told)
            self._is_busy.set()

    def _tell_delta(self, session: str, delta: ChatDelta | ChatProgress) -> None:
        self.audience.tell_subscribers(session, delta)
        self.runs.heard(delta)

    async def _flush(self) -> None:
        while True:
            if not self._deltas.waits:
                self._is_busy = anyio.Event()
                await self._is_busy.wait()
            await self.clock.sleep(self.limits.delta_seconds)
            self._deltas.flush()

    async def _told(self, recorded: Recorded) -> None:
        if not self._narration.knows(recorded):
            await self._recall(recorded)
        chat = self._narration.tell(recorded)
        if chat is not None:
            self._deltas.flush_session(recorded.session)
            self.audience.tell_subscribers(recorded.session, chat)
            self.runs.heard(chat)
        self._tell_approval(recorded)
        self._note_change(recorded)

    def _tell_approval(self, recorded: Recorded) -> None:
        event = recorded.event
        if isinstance(event, ApprovalAsked):
            waiting = self._question(event.approval)
            if waiting is not None:
                self.audience.tell_those_with(SEES_APPROVALS, "approval", approvals.ApprovalAsked(approval=waiting))
        elif isinstance(event, ApprovalAnswered):
            told = approvals.ApprovalAnswered(
                id=event.approval,
                key=recorded.session,
                turn=recorded.turn,
                call_id=event.call_id,
                answer=event.answer,
                by=event.by,
                grant=event.grant,
                note=event.note,
            )
            self.audience.tell_those_with(SEES_APPROVALS, "approval", told)

    async def _recall(self, recorded: Recorded) -> None:
        """A turn that began while nobody was connected."""
        try:
            events = await self._store.read(SessionKey.parse(recorded.session), turn=recorded.turn)
        except OstiaryError as error:
            log.warning("the beginning of turn %s is not known: %s", recorded.turn, error)
            events = ()
        self._narration.recall(recorded.turn, (each for each in events if each.seq < recorded.seq))

    def _note_change(self, recorded: Recorded) -> None:
        match recorded.event:
            case TurnStarted():
                is_running = True
            case TurnEnded() | TurnSuspended():
                is_running = False
            case SettingChanged() | Noted() | Branched() | Imported() | Reset():
                is_running = self._is_running(recorded.session)
            case _:
                return
        change = SessionChanged(
            key=recorded.session,
            change="reset" if isinstance(recorded.event, Reset) else "updated",
            title="",
            updated_at=recorded.at,
            running=is_running,
        )
        self.session_changed(change)

    async def _spread_news(self) -> None:
        """Titles are looked up here, so that no chat waits for it."""
        while True:
            await self._is_news.wait()
            self._is_news = anyio.Event()
            news, self._news = self._news, {}
            for change in news.values():
                try:
                    record = await self._store.session(SessionKey.parse(change.key)) if change.change != "deleted" else None
                except OstiaryError as error:
                    log.warning("the title of a session is not known: %s", error)
                    record = None
                if record is None and change.change != "deleted":
                    continue
                if record is not None and record.ephemeral:
                    continue
                if record is not None and not change.title:
                    change.title = record.title
                self.audience.tell_everybody("sessions", change)
