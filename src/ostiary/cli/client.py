"""Talking to a running gateway with the standard library alone: it is imported at every `ostiary agent`."""

import contextlib
import json
import os
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ostiary.contracts.errors import BadInput, NotAllowed, OstiaryError, StoreUnavailable

# Longer than the gateway's own limit for a turn, so that its answer is heard.
_TURN_SECONDS = 700.0
_SHORT_SECONDS = 10.0


class Piece(NamedTuple):
    """Something that came over the stream. `restart`: the text so far is void. `end` carries the last chunk's own fields.

    `asked`: the turn waits for a person, and `fields` is what there is to answer; `answered`: `text` waits no more."""

    kind: Literal["text", "thinking", "tool", "asked", "answered", "restart", "usage", "end"]
    text: str = ""
    fields: dict[str, Any] = {}  # noqa: RUF012 - never changed


class Gateway:
    """A gateway that answers at `url`; under TLS it must show the very `certificate` that its run file names."""

    def __init__(self, url: str, token: str, certificate: str = "") -> None:
        self.url = url
        self._token = token
        self._certificate = certificate
        host, _, port = url.partition("://")[2].rpartition(":")
        self._host, self._port = host.strip("[]"), int(port)

    def get(self, path: str) -> Any:
        """Raises OstiaryError."""
        return self._json("GET", path, None)

    def post(self, path: str, body: object) -> Any:
        """Raises OstiaryError."""
        return self._json("POST", path, body)

    def ask(self, body: dict[str, Any], headers: dict[str, str], *, key: str = "") -> Any:
        """One whole answer. Raises OstiaryError."""
        return self._json("POST", "/v1/chat/completions", body, {**headers, **_keyed(key)}, seconds=_TURN_SECONDS)

    def stream(self, body: dict[str, Any], headers: dict[str, str], *, key: str = "") -> Iterator[Piece]:
        """An answer as it is written; closing the iterator hangs up. Raises OstiaryError, also in mid-answer."""
        body = {**body, "stream": True, "stream_options": {"include_usage": True}}
        with self._open("POST", "/v1/chat/completions", body, {**headers, **_keyed(key)}, _TURN_SECONDS) as response:
            for line in _lines(response):
                if line.startswith(b"data: ") and line != b"data: [DONE]":
                    yield from _pieces(json.loads(line[6:]))

    def _json(
        self, method: str, path: str, body: object, headers: dict[str, str] | None = None, *, seconds: float = _SHORT_SECONDS
    ) -> Any:
        with self._open(method, path, body, headers or {}, seconds) as response:
            try:
                return json.loads(response.read())
            except (OSError, HTTPException, ValueError) as error:
                raise gone() from error

    @property
    def authorization(self) -> dict[str, str]:
        """The header that every request must bear."""
        return {"Authorization": f"Bearer {self._token}"}

    def connection(self, seconds: float) -> HTTPConnection:
        """A new one, for requests of one's own; it connects with the first."""
        if not self._certificate:
            return HTTPConnection(self._host, self._port, timeout=seconds)
        import ssl
        from http.client import HTTPSConnection

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(self._certificate)
        return HTTPSConnection(self._host, self._port, timeout=seconds, context=context)

    @contextlib.contextmanager
    def _open(self, method: str, path: str, body: object, headers: dict[str, str], seconds: float) -> Iterator[HTTPResponse]:
        connection = self.connection(seconds)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {**headers, **self.authorization})
            response = connection.getresponse()
            if response.status != 200:
                raise refusal(response.status, response.read(65_536))
        except (OSError, HTTPException) as error:
            connection.close()
            raise gone() from error
        except BaseException:
            # Ctrl-C too: whoever hangs up must be seen to.
            connection.close()
            raise
        try:
            yield response
        finally:
            connection.close()


def find_gateway(home: Path) -> Gateway | None:
    """The gateway that holds this state directory, if one runs for everybody."""
    try:
        found = json.loads((home / "run" / "gateway.json").read_bytes())
        pid = int(found["pid"])
        os.kill(pid, 0)
        if found.get("private") and pid != os.getpid():
            return None
        return Gateway(str(found["url"]), str(found["token"]), str(found.get("certificate", "")))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def gone() -> OstiaryError:
    return StoreUnavailable("the gateway went away", hint="See `ostiary logs`, and start it again with `ostiary up`.")


def refusal(status: int, body: bytes) -> OstiaryError:
    """The gateway's own sentence as an error of the right class."""
    try:
        message = str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        message = f"the gateway answered {status}"
    if status in (401, 403):
        return NotAllowed(message)
    return BadInput(message) if 400 <= status < 500 else OstiaryError(message)


def _lines(response: HTTPResponse) -> Iterator[bytes]:
    try:
        for line in response:
            yield line.rstrip(b"\r\n")
    except (OSError, HTTPException) as error:
        raise gone() from error


def _pieces(chunk: dict[str, Any]) -> Iterator[Piece]:
    if "error" in chunk:
        raise OstiaryError(str(chunk["error"].get("message", "the turn failed")))
    ours = chunk.get("ostiary") or {}
    if ours.get("restarted"):
        yield Piece("restart")
        return
    if ours.get("tool"):
        yield Piece("tool", ours["tool"])
    if ours.get("approval"):
        yield Piece("asked", ours["approval"]["id"], ours["approval"])
    if ours.get("answered"):
        yield Piece("answered", ours["answered"], ours)
    if chunk.get("usage"):
        yield Piece("usage", fields=chunk["usage"])
    for choice in chunk.get("choices", ()):
        delta = choice["delta"]
        if delta.get("reasoning_content"):
            yield Piece("thinking", delta["reasoning_content"])
        if delta.get("content"):
            yield Piece("text", delta["content"])
        if choice.get("finish_reason"):
            yield Piece("end", choice["finish_reason"], {**ours, "model": chunk.get("model", "")})


def _keyed(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key} if key else {}
