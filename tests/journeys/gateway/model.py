"""The model at the other end: a strict server in a thread of the test, told what to say and asked what it heard."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal

from ostiary.kit.model_servers import Asked, Failure, ModelServer, OpenAIChatSpeech, Reply, say, serve

WAIT = 20.0


class _Heard(OpenAIChatSpeech):
    """Says when a request has come in, so that nobody has to poll."""

    def __init__(self) -> None:
        super().__init__()
        self.turnstile = threading.Condition()
        self.count = 0

    def check(self, path: str, headers: Mapping[str, str], body: bytes) -> None:
        super().check(path, headers, body)
        with self.turnstile:
            self.count += 1
            self.turnstile.notify_all()


class Model:
    def __init__(self, portal: BlockingPortal, server: ModelServer, heard: _Heard) -> None:
        self._portal = portal
        self._server = server
        self._heard = heard
        self._mark = 0

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def requests(self) -> list[Asked]:
        """Those since the last `begin`."""
        return self._server.requests[self._mark :]

    @property
    def last(self) -> dict[str, Any]:
        return self.requests[-1].body

    @property
    def refused(self) -> list[str]:
        return self._server.refused

    def begin(self, *replies: Reply | Failure | str) -> None:
        """Forget what was heard and what was left to say; from now on answer with these."""
        self._portal.call(self._begin, [say(each) if isinstance(each, str) else each for each in replies])

    def _begin(self, replies: list[Reply | Failure]) -> None:
        self._mark = len(self._server.requests)
        self._heard.count = 0
        self._server._script.clear()
        self._server.refused.clear()
        self._server.script(*replies)

    def wait_asked(self, count: int = 1) -> None:
        with self._heard.turnstile:
            assert self._heard.turnstile.wait_for(lambda: self._heard.count >= count, WAIT), "the model was not asked"

    def gate(self) -> anyio.Event:
        """For `holds`; opened with `release`."""
        return self._portal.call(anyio.Event)

    def release(self, gate: anyio.Event) -> None:
        self._portal.call(gate.set)


@contextmanager
def running() -> Iterator[Model]:
    heard = _Heard()
    with start_blocking_portal("asyncio") as portal, portal.wrap_async_context_manager(serve(heard)) as server:
        yield Model(portal, server, heard)


@contextmanager
def saying(content: bytes, *, status: int = 200, content_type: str = "text/event-stream") -> Iterator[str]:
    """A server that answers everything with the same bytes; gives its base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
