"""A vault's process within the test's: the real server, a real unix socket, a store of its own behind it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from uvicorn.server import ServerState

from ostiary.adapters.search import open_search
from ostiary.adapters.store.remote import Answering, RemoteVault, open_remote_vault
from ostiary.adapters.store.remote.calls import PATH
from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.contracts.clock import Clock
from ostiary.contracts.search import Embedder, Search
from ostiary.gateway.app import Door
from ostiary.gateway.asgi import App, Receive, Scope, Send, read_body
from ostiary.gateway.auth import Gate
from ostiary.gateway.limits import Limits
from ostiary.gateway.server import _Heads

TOKEN = "the-token-of-the-vault"
KEY = bytes(range(32))
_LIMITS = Limits(body_bytes=200_000_000)


def door(store: SqliteStore, search: Search, embedder: Embedder | None = None) -> App:
    answering = Answering(store, search, embedder)

    async def rpc(scope: Scope, receive: Receive, send: Send) -> None:
        answer = await answering.answer(await read_body(scope, receive, _LIMITS))
        headers = [(b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    return Door(Gate(lambda: TOKEN), pages={PATH: {"POST": rpc}})


class Listener:
    """The server's own protocol on a socket, without the rest of the server: it starts and ends at once."""

    def __init__(self, app: App, path: str) -> None:
        self.url = f"unix:{path}"
        self._path = path
        self._config = uvicorn.Config(app, http=_Heads, ws="none", lifespan="off", log_config=None, access_log=False)
        self._config.load()
        self._state = ServerState()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.get_running_loop().create_unix_server(self._connected, self._path)

    def stop(self) -> None:
        """Nobody gets an answer any more."""
        if self._server is not None:
            self._server.close()
        self.drop_all()
        Path(self._path).unlink(missing_ok=True)

    def drop_all(self) -> None:
        for connection in list(self._state.connections):
            connection.transport.abort()  # type: ignore[union-attr]

    def _connected(self) -> asyncio.Protocol:
        return _Heads(config=self._config, server_state=self._state, app_state={})

    async def settled(self) -> None:
        while self._state.tasks:
            await asyncio.wait(self._state.tasks)


@asynccontextmanager
async def listening(app: App, path: Path) -> AsyncIterator[Listener]:
    listener = Listener(app, str(path))
    await listener.start()
    try:
        yield listener
    finally:
        listener.stop()
        await listener.settled()


@asynccontextmanager
async def opened_store(folder: Path, clock: Clock) -> AsyncIterator[tuple[SqliteStore, Search]]:
    async with (
        open_store(folder / "store.db", KEY, clock=clock) as store,
        open_search(folder / "search.db", KEY, store=store, embedder=None, clock=clock) as search,
    ):
        yield store, search


@asynccontextmanager
async def open_served(folder: Path, clock: Clock) -> AsyncIterator[RemoteVault]:
    async with (
        opened_store(folder, clock) as (store, search),
        listening(door(store, search), folder / "vault.sock") as listener,
        open_remote_vault(listener.url, lambda: TOKEN, clock=clock) as vault,
    ):
        yield vault
