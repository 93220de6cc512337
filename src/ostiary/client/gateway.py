"""The connection as programs use it: it comes back by itself, asks again what was not answered, and follows what it followed."""

import math
import ssl
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, overload
from uuid import uuid4

import anyio
import msgspec

from ostiary.client.chat import Piece, converse
from ostiary.client.device import DeviceKey
from ostiary.client.errors import CallRefused, Unreachable
from ostiary.client.link import Identity, decode, encode, open_link
from ostiary.contracts.records import dataclass

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

T = TypeVar("T")

GAP = "gap"
_BACKLOG = 1000
_FIRST_WAIT = 0.25
_LONGEST_WAIT = 10.0
# What coming back does not mend.
_FINAL = frozenset({"UNAUTHORIZED", "FORBIDDEN", "NOT_PAIRED", "PROTOCOL_MISMATCH", "INVALID_PARAMS"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """`name` is `gap` when something was missed: ask again for what you show."""

    name: str
    payload: Mapping[str, Any]
    seq: int = 0


class _Pending:
    """A request that is not answered yet, as it is sent again after a lost connection."""

    def __init__(self, frame: str) -> None:
        self.frame = frame
        self.answers: list[Mapping[str, Any]] = []
        self.arrived = anyio.Event()


class _Listener:
    """A bounded queue; when it is full it is emptied and a gap stands in its place."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self._queue: deque[Event] = deque()
        self._arrived = anyio.Event()

    def put(self, event: Event) -> None:
        if event.name != GAP and self._names and event.name not in self._names:
            return
        if len(self._queue) >= _BACKLOG:
            self._queue.clear()
            self._queue.append(Event(name=GAP, payload={}))
        self._queue.append(event)
        self._arrived.set()

    async def get(self) -> Event:
        while not self._queue:
            self._arrived = anyio.Event()
            await self._arrived.wait()
        return self._queue.popleft()


class Gateway:
    """Made by `connect`. `hello` is what the gateway said last when it was connected to."""

    def __init__(self, url: str, who: Identity, tls: ssl.SSLContext | None) -> None:
        self.url = url
        self.hello: Mapping[str, Any] = {}
        self._who = who
        self._tls = tls
        self._link: ClientConnection | None = None
        self._pending: dict[str, _Pending] = {}
        self._listeners: set[_Listener] = set()
        self._followed: dict[str, str] = {}
        self._seq = 0
        self._next = 0
        self._broken: Exception | None = None

    @overload
    async def call(self, method: str, params: object = None, *, seconds: float = 60.0) -> Any: ...

    @overload
    async def call(self, method: str, params: object, result: type[T], *, seconds: float = 60.0) -> T: ...

    async def call(self, method: str, params: object = None, result: Any = Any, *, seconds: float = 60.0) -> Any:
        """One call, its payload as plain data or as `result`. A lost connection is waited for and the call made again,
        which an idempotency key makes safe. Raises CallRefused, Unreachable when `seconds` are over."""
        with self._asking(method, params) as pending:
            payload = await self._nth(pending, 0, method, seconds)
        return payload if result is Any else msgspec.convert(payload, result)

    async def run(self, message: str, *, key: str = "", seconds: float = 660.0) -> Mapping[str, Any]:
        """One message to the agent, and how its run ended. Raises as `call`."""
        params = {"message": message, "idempotencyKey": uuid4().hex, "timeoutMs": int(seconds * 1000)}
        with self._asking("agent", {**params, "key": key} if key else params) as pending:
            await self._nth(pending, 0, "agent", 60.0)
            return await self._nth(pending, 1, "agent", seconds + 10.0)

    @contextmanager
    def _asking(self, method: str, params: object) -> Iterator[_Pending]:
        self._next += 1
        request = f"r{self._next}"
        body = {"type": "req", "id": request, "method": method, "params": {} if params is None else params}
        pending = self._pending[request] = _Pending(encode(body).decode())
        try:
            yield pending
        finally:
            del self._pending[request]

    async def _nth(self, pending: _Pending, index: int, method: str, seconds: float) -> Mapping[str, Any]:
        """The payload of a request's first or second response."""
        try:
            with anyio.fail_after(seconds):
                if index == 0:
                    await self._send(pending.frame)
                while len(pending.answers) <= index:
                    self._check()
                    if pending.answers and not pending.answers[-1]["ok"]:
                        break
                    await pending.arrived.wait()
        except TimeoutError:
            raise Unreachable(f"{method} was not answered within {seconds:g} s") from None
        frame = pending.answers[min(index, len(pending.answers) - 1)]
        if not frame["ok"]:
            raise CallRefused(frame["error"])
        payload: Mapping[str, Any] = frame["payload"]
        return payload

    async def events(self, *names: str) -> AsyncIterator[Event]:
        """Events from now on, of these names or all; `gap` when some were missed. Who reads too slowly gets a gap."""
        with self.listening(*names) as listener:
            while True:
                yield await listener.get()

    @contextmanager
    def listening(self, *names: str) -> Iterator[_Listener]:
        listener = _Listener(frozenset(names))
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    async def follow(self, *keys: str, verbose: str = "on") -> None:
        """Hear the `chat` events of these sessions, also after a reconnect. Raises as `call`."""
        await self.call("sessions.subscribe", {"keys": list(keys), "verbose": verbose})
        self._followed.update(dict.fromkeys(keys, verbose))

    async def unfollow(self, *keys: str) -> None:
        for key in keys:
            self._followed.pop(key, None)
        await self.call("sessions.unsubscribe", {"keys": list(keys)})

    def chat(self, key: str, text: str, **more: Any) -> AsyncIterator[Piece]:
        """Say something and get the answer as it is written. `more` goes to chat.send. Raises as `call`."""
        return converse(self, key, text, more)

    async def answer(self, approval: str, allow: bool, **more: Any) -> Mapping[str, Any]:
        """Answer what waits for a person; `more` may be pattern and seconds for a wider yes, note. Raises as `call`."""
        params = {"id": approval, "allow": allow, "idempotencyKey": uuid4().hex, **more}
        done: Mapping[str, Any] = await self.call("approvals.answer", params)
        return done

    async def _open(self) -> None:
        link, self.hello = await open_link(self.url, self._who, self._tls)
        was_connected, self._seq = self._seq > 0 or bool(self._followed), 0
        self._link = link
        for verbose in sorted(set(self._followed.values())):
            keys = [key for key, wanted in self._followed.items() if wanted == verbose]
            params = {"keys": keys, "verbose": verbose}
            await self._send(encode({"type": "req", "id": "follow", "method": "sessions.subscribe", "params": params}).decode())
        for pending in list(self._pending.values()):
            # It is answered from the beginning.
            pending.answers.clear()
            await self._send(pending.frame)
        if was_connected:
            self._tell(Event(name=GAP, payload={}))

    async def _stay(self) -> None:
        """Read, and come back when the connection is lost, until cancelled or turned away for good."""
        wait = _FIRST_WAIT
        while True:
            if self._link is not None:
                wait = _FIRST_WAIT
                await self._read(self._link)
                self._link = None
            await anyio.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT)
            try:
                await self._open()
            except Unreachable:
                continue
            except CallRefused as error:
                if error.code in _FINAL:
                    self._break(error)
                    return
                wait = max(wait, error.retry_after)

    async def _read(self, link: "ClientConnection") -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            while True:
                self._take(decode(await link.recv()))
        except ConnectionClosed:
            return

    def _take(self, frame: Mapping[str, Any]) -> None:
        if frame["type"] == "res":
            pending = self._pending.get(frame["id"])
            if pending is not None:
                pending.answers.append(frame)
                pending.arrived.set()
                pending.arrived = anyio.Event()
            return
        seq = int(frame.get("seq", 0))
        if seq != self._seq + 1:
            self._tell(Event(name=GAP, payload={}))
        self._seq = seq
        self._tell(Event(name=frame["event"], payload=frame["payload"], seq=seq))

    def _tell(self, event: Event) -> None:
        for listener in self._listeners:
            listener.put(event)

    async def _send(self, frame: str) -> None:
        from websockets.exceptions import ConnectionClosed

        self._check()
        if self._link is not None:
            try:
                await self._link.send(frame)
            except ConnectionClosed:
                # It is sent again when the connection is back.
                return

    def _break(self, error: Exception) -> None:
        self._broken = error
        for pending in self._pending.values():
            pending.arrived.set()

    def _check(self) -> None:
        if self._broken is not None:
            raise self._broken


@asynccontextmanager
async def connect(
    url: str,
    *,
    token: str = "",
    password: str = "",
    device: DeviceKey | None = None,
    device_token: str = "",
    scopes: list[str] | None = None,
    client_id: str = "ostiary-python",
    display_name: str = "",
    mode: str = "cli",
    tls: ssl.SSLContext | None = None,
    patience: float = 0.0,
) -> AsyncIterator[Gateway]:
    """A gateway that is connected now, and again whenever the connection is lost. `patience` is how long the first
    connection may take to come about. Raises Unreachable, CallRefused."""
    who = Identity(
        token=token,
        password=password,
        device=device,
        device_token=device_token,
        scopes=scopes,
        client_id=client_id,
        display_name=display_name,
        mode=mode,
        instance_id="" if mode == "cli" else uuid4().hex,
    )
    gateway = Gateway(url, who, tls)
    await _first(gateway, patience)
    async with anyio.create_task_group() as group:
        group.start_soon(gateway._stay)
        try:
            yield gateway
        finally:
            group.cancel_scope.cancel()
            link = gateway._link
            if link is not None:
                with anyio.move_on_after(2, shield=True):
                    await link.close()


async def _first(gateway: Gateway, patience: float) -> None:
    until = anyio.current_time() + (patience if math.isfinite(patience) else 0.0)
    while True:
        try:
            await gateway._open()
            return
        except Unreachable:
            if anyio.current_time() >= until:
                raise
            await anyio.sleep(_FIRST_WAIT)
