"""The HTTP under every model server: loopback, a free port, replies from a script, requests kept to be looked at."""

from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol

import msgspec
from aiohttp import web

from ostiary.contracts.records import dataclass
from ostiary.kit.model_servers.script import Failure, Kind, Reply, Scripted

KEY = "sk-kit-0123456789abcdef"


class Refused(Exception):
    """What the provider would not accept, as one of its own refusals."""

    def __init__(self, kind: Kind, words: str, *, status: int = 0) -> None:
        super().__init__(words)
        self.failure = Failure(kind=kind, words=words, status=status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request that passed every check."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


class Speech(Protocol):
    """One provider's wire. A speech remembers the proofs it gave out, so that it can check them when they come back."""

    base_path: str
    content_type: str

    def check(self, path: str, headers: Mapping[str, str], body: bytes) -> None:
        """Raises Refused for what the provider would refuse."""
        ...

    def events(self, reply: Reply) -> list[bytes]:
        """The stream as it goes over the wire; the last events are those that finish it."""
        ...

    def unfinished(self, events: list[bytes]) -> list[bytes]:
        """The same without the end."""
        ...

    def broken(self, garbage: bytes) -> bytes:
        """A malformed event."""
        ...

    def failure(self, failure: Failure) -> tuple[int, bytes]: ...

    def failure_event(self, failure: Failure) -> bytes: ...

    def models(self, path: str, headers: Mapping[str, str]) -> bytes | None:
        """The listing if `path` asks for it. Raises Refused."""
        ...


class ModelServer:
    """`url` is the base URL to configure. `requests` are those that were accepted; `refused` what was not, and why."""

    def __init__(self, speech: Speech) -> None:
        self._speech = speech
        self._script: deque[Scripted] = deque()
        self.url = ""
        self.requests: list[Asked] = []
        self.refused: list[str] = []
        self.connections: set[int] = set()
        """The client's port of every connection that was made."""

    def script(self, *replies: Scripted) -> None:
        """Answer the next requests with these, in order. A request beyond the script is answered with 500."""
        self._script.extend(replies)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        assert request.transport is not None
        self.connections.add(request.transport.get_extra_info("peername")[1])
        speech = self._speech
        try:
            if request.method == "GET":
                listing = speech.models(request.path_qs, headers)
                if listing is None:
                    raise Refused("unknown_model", "There is nothing here.")
                return web.Response(body=listing, content_type="application/json")
            body = await request.read()
            speech.check(request.path_qs, headers, body)
        except Refused as refused:
            self.refused.append(str(refused))
            return self._fail(refused.failure)
        self.requests.append(Asked(path=request.path_qs, headers=headers, body=msgspec.json.decode(body)))
        scripted = self._script.popleft() if self._script else Failure(kind="server", words="The script is over.")
        if isinstance(scripted, Failure):
            return self._fail(scripted)
        return await self._reply(request, scripted)

    def _fail(self, failure: Failure) -> web.Response:
        status, body = self._speech.failure(failure)
        headers = {"Content-Type": "application/json", **failure.headers}
        return web.Response(status=failure.status or status, body=body, headers=headers)

    async def _reply(self, request: web.Request, reply: Reply) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": self._speech.content_type})
        await response.prepare(request)
        sent = 0
        for place, event in enumerate(self._stream(reply)):
            if place in reply.holds:
                await reply.holds[place].wait()
            if reply.cut_after is not None and sent + len(event) >= reply.cut_after:
                await response.write(event[: reply.cut_after - sent])
                if request.transport is not None:
                    request.transport.close()
                return response
            await response.write(event)
            sent += len(event)
        if reply.endless:
            await self._repeat(response, reply)
        await response.write_eof()
        return response

    def _stream(self, reply: Reply) -> list[bytes]:
        events = self._speech.events(reply)
        if reply.unfinished or reply.endless:
            events = self._speech.unfinished(events)
        if reply.malformed is not None:
            events[reply.malformed] = self._speech.broken(reply.garbage)
        if reply.fails is not None:
            events = [events[0], self._speech.failure_event(reply.fails)]
        return events

    async def _repeat(self, response: web.StreamResponse, reply: Reply) -> None:
        """The last piece again and again; ends when writing fails because the client has gone."""
        piece = self._speech.unfinished(self._speech.events(reply))[-1]
        while True:
            await response.write(piece)


@asynccontextmanager
async def serve(speech: Speech) -> AsyncIterator[ModelServer]:
    """A running server on 127.0.0.1; it is gone when the context is left."""
    server = ModelServer(speech)
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=0.05)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        server.url = f"http://127.0.0.1:{port}{speech.base_path}"
        yield server
    finally:
        await runner.cleanup()
