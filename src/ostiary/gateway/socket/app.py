"""The ASGI application for sockets: who are you, then requests until one side goes."""

import secrets
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio

from ostiary.contracts.errors import OstiaryError
from ostiary.gateway.asgi import Receive, Scope, Send
from ostiary.gateway.errors import ApiError
from ostiary.gateway.methods import all_methods
from ostiary.gateway.methods.approvals import brief, question_of, waiting
from ostiary.gateway.methods.control import when_changed
from ostiary.gateway.methods.services import Services
from ostiary.gateway.methods.system import health_of
from ostiary.gateway.protocol import VERSION, frames
from ostiary.gateway.protocol.connect import (
    Challenge,
    Connect,
    Features,
    Granted,
    HelloOk,
    Limits,
    Server,
    Snapshot,
)
from ostiary.gateway.protocol.errors import MethodError, from_api, from_error
from ostiary.gateway.protocol.events import EVENTS
from ostiary.gateway.protocol.registry import Method
from ostiary.gateway.protocol.shape import Done
from ostiary.gateway.socket.callers import Admitted, Identify, Revocations, never_revoked
from ostiary.gateway.socket.connection import Connection
from ostiary.gateway.socket.dedupe import Memory, Once
from ostiary.gateway.socket.dispatch import Dispatch
from ostiary.gateway.socket.hub import SEES_APPROVALS, Hub, Watch
from ostiary.gateway.socket.limits import SocketLimits
from ostiary.gateway.socket.line import Line, LineGone, line_of, refuse
from ostiary.gateway.socket.outgoing import Outgoing
from ostiary.gateway.socket.presence import PresenceTable

_CONNECT = Method("connect", Connect, HelloOk, "read", lambda call: Done())
_CLOSE_OF = {"PROTOCOL_MISMATCH": 1002, "INTERNAL": 1011, "BUSY": 1013, "UNAVAILABLE": 1013}


class Socket:
    """Call it for every `websocket` scope whose place the gate has checked, inside `async with socket.running()`.

    `watch` opens a watcher on everything the engine shows. `memory` keeps what was done under which idempotency key.
    `saw` is told now and then which callers are still here.
    """

    def __init__(
        self,
        services: Services,
        *,
        identify: Identify,
        watch: Watch,
        memory: Memory,
        revocations: Revocations = never_revoked,
        saw: Callable[[Any], None] = lambda caller: None,
        limits: SocketLimits | None = None,
    ) -> None:
        self._services = services
        self._identify = identify
        self._limits = limits or SocketLimits()
        clock = services.clock
        self.hub = Hub(
            store=services.store,
            watch=watch,
            clock=clock,
            health=lambda: health_of(services),
            is_running=self._is_running,
            presence=PresenceTable(now=clock.now, version=services.version, platform=sys.platform),
            revocations=revocations,
            saw=saw,
            limits=self._limits,
            question=lambda approval: brief(found) if (found := question_of(services.approvals, approval)) is not None else None,
            house=partial(when_changed, services.control) if services.control is not None else None,
        )
        self.dispatch = Dispatch(all_methods(), services, self.hub, Once(memory, clock.now))
        self._open = 0
        self._connecting = 0
        self._is_running_now = False

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Socket"]:
        async with self.hub.running():
            self._is_running_now = True
            try:
                yield self
            finally:
                self._is_running_now = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        if self._open >= self._limits.sockets or self._connecting >= self._limits.connecting or not self._is_running_now:
            await refuse(receive, send, 503, "Too many sockets are open.")
            return
        self._open += 1
        try:
            await send({"type": "websocket.accept"})
            await self._live(scope, receive, line_of(scope, send))
        except (LineGone, OSError):
            pass
        finally:
            self._open -= 1

    async def _live(self, scope: Scope, receive: Receive, line: Line) -> None:
        self._connecting += 1
        try:
            connection = await self._connect(scope, receive, line)
        finally:
            self._connecting -= 1
        if connection is None:
            return
        line.on_shutdown = lambda: self.hub.goodbye(connection)
        try:
            with connection.reading:
                await self._read(connection, receive)
        finally:
            line.on_shutdown = None
            connection.let_go()
            with anyio.move_on_after(self._limits.close_seconds, shield=True):
                if connection.closing is not None:
                    await connection.outgoing.flushed()
            connection.outgoing.end()
            self.hub.leave(connection)
        if connection.closing is not None:
            with anyio.move_on_after(self._limits.close_seconds, shield=True):
                await line.close(*connection.closing)

    async def _read(self, connection: Connection, receive: Receive) -> None:
        take = self.dispatch.take
        while connection.closing is None:
            event = await receive()
            if event["type"] == "websocket.disconnect":
                return
            text = event.get("text")
            if text is None:
                connection.close(1003, "text frames only")
                return
            take(connection, text)

    async def _connect(self, scope: Scope, receive: Receive, line: Line) -> Connection | None:
        """The connection, joined and greeted; None if it is over."""
        nonce = secrets.token_urlsafe(24)
        challenge = Challenge(nonce=nonce, ts=int(self._services.clock.now() * 1000))
        request, revoked = "", self.hub.revoked
        with anyio.move_on_after(self._limits.connect_seconds) as timer:
            await line.write(frames.unnumbered_event("connect.challenge", frames.encode(challenge)))
            event = await receive()
            if event["type"] == "websocket.disconnect":
                return None
            try:
                frame = _first(event.get("text"))
                request = frame.id
                said: Connect = _CONNECT.read(frame.params)
                _check_version(said)
                admitted = await self._identify(scope, said, nonce)
            except MethodError as error:
                await _turn_away(line, request, error)
                return None
            except ApiError as error:
                await _turn_away(line, request, from_api(error))
                return None
            except OstiaryError as error:
                await _turn_away(line, request, from_error(error))
                return None
            if not self._is_running_now:
                raise LineGone
            return self._welcome(line, request, said, admitted, revoked)
        if timer.cancelled_caught:
            await line.close(1008, "connect did not come in time")
        return None

    def _welcome(self, line: Line, request: str, said: Connect, admitted: Admitted, revoked: int) -> Connection:
        def outgoing(overflow: Callable[[], None]) -> Outgoing:
            return Outgoing(line, limit=self._limits.max_buffered, start=self._start, overflow=overflow)

        connection = Connection(secrets.token_hex(8), admitted.caller, said.client, outgoing)
        self.hub.presence.arrived(connection.instance, said.client, admitted.caller.scopes)
        hello = self._hello(connection, admitted)
        connection.outgoing.frame(frames.answer(request, frames.encode(hello)))
        self.hub.join(connection, revoked)
        return connection

    def _hello(self, connection: Connection, admitted: Admitted) -> HelloOk:
        health = self.hub.health()
        return HelloOk(
            protocol=VERSION,
            server=Server(version=self._services.version, conn_id=connection.id),
            features=Features(methods=self.dispatch.offered(connection), events=list(EVENTS)),
            snapshot=Snapshot(
                presence=self.hub.presence.list(),
                health=health,
                state_version=self.hub.state_version,
                uptime_ms=health.uptime_ms,
                approvals=waiting(self._services) if SEES_APPROVALS & connection.caller.scopes else [],
            ),
            policy=Limits(
                max_payload=self._limits.max_payload,
                max_buffered_bytes=self._limits.max_buffered,
                tick_interval_ms=int(self._limits.tick_seconds * 1000),
            ),
            auth=Granted(scopes=sorted(admitted.caller.scopes), device_token=admitted.device_token),
        )

    def _start(self, write: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self.hub.is_running:
            self.hub.group.start_soon(write)

    def _is_running(self, session: str) -> bool:
        desk = self._services.sessions
        return desk is not None and (found := desk.activity().get(session)) is not None and found.running


def _first(text: str | None) -> frames.Request:
    """Raises MethodError BAD_FRAME unless it is a `connect` request."""
    if text is None:
        raise MethodError("BAD_FRAME", "Frames are text.")
    frame = frames.decode(text)
    if frame.method != "connect":
        raise MethodError("BAD_FRAME", "The first request must be connect.")
    return frame


def _check_version(said: Connect) -> None:
    if not said.min_protocol <= VERSION <= said.max_protocol:
        raise MethodError(
            "PROTOCOL_MISMATCH",
            f"This gateway speaks protocol {VERSION}.",
            hint="Update whichever of the two is older.",
            details={"supported": [VERSION]},
        )


async def _turn_away(line: Line, request: str, error: MethodError) -> None:
    if error.code == "BAD_FRAME":
        request, error.details = request or str((error.details or {}).get("id", "")), None
    await line.write(frames.refusal(request, error))
    await line.close(_CLOSE_OF.get(error.code, 1008), error.code)
