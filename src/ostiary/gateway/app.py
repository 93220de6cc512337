"""The door. One order for every request: is it sent to us (host, origin), is it open to all, who is it, is there room, where to.

Sizes and times of bodies are bounded where they are read. A socket passes the same first step and says who it is itself.
"""

import logging
from collections.abc import Callable, Mapping

import anyio

from ostiary.contracts.errors import OstiaryError
from ostiary.contracts.identity import SessionKey
from ostiary.core.routing.scopes import api_scope
from ostiary.gateway.asgi import App, ClientGone, Event, Receive, Scope, Send, refuse, respond
from ostiary.gateway.auth import Gate
from ostiary.gateway.errors import ApiError, from_error
from ostiary.gateway.limits import Limits

_log = logging.getLogger(__name__)
_LAST_WORDS_SECONDS = 2.0

Pages = Mapping[str, Mapping[str, App]]
"""Path, method, page. A path that ends with `*` stands for all that begin like it."""


def api_session(agent: str, user: str) -> SessionKey:
    """The conversation that `user` names. Raises BadInput if it is empty."""
    return SessionKey(agent, api_scope(user))


async def healthz(scope: Scope, receive: Receive, send: Send) -> None:
    await respond(send, 200, {"status": "ok"})


class Door:
    """`open_pages` are for everybody and check for themselves; `find_open` finds more of those by path (the web app's files,
    webhooks). `pages` are for whom the gate knows. Everything is also reachable below `base`, where a proxy may put us."""

    def __init__(
        self,
        gate: Gate,
        *,
        pages: Pages,
        open_pages: Pages | None = None,
        find_open: Callable[[str], App | None] = lambda path: None,
        socket: App | None = None,
        base: str = "/",
        limits: Limits | None = None,
    ) -> None:
        self._gate = gate
        self._open = _Table({"/healthz": {"GET": healthz, "HEAD": healthz}, **(open_pages or {})})
        self._pages = _Table(pages)
        self._find_open = find_open
        self._socket = socket
        self._base = "/" + base.strip("/")
        self._limits = limits or Limits()
        self._serving = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                await self._http(scope, receive, send)
            case "websocket":
                await self._websocket(scope, receive, send)
            case _:
                return

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._serving += 1
        answered = _Answered(send)
        try:
            await self._serve(scope, receive, answered)
        except ClientGone:
            pass
        except ApiError as error:
            await _refuse(receive, answered, error)
        except OstiaryError as error:
            await _refuse(receive, answered, from_error(error))
        except anyio.get_cancelled_exc_class():
            # The server stops and waits no longer. This is the outermost place of the request: nobody is left to tell.
            with anyio.move_on_after(_LAST_WORDS_SECONDS, shield=True):
                await _refuse(receive, answered, ApiError(503, "The gateway stops.", code="gateway_stopping", retry_after=5))
        except Exception:  # noqa: BLE001
            # The boundary: a bug ends its own request, is written down, and tells the caller nothing of the inside.
            _log.exception("request failed: %s", scope["path"])
            await _refuse(receive, answered, ApiError(500, "The gateway failed to answer; its log says why.", code="internal"))
        finally:
            self._serving -= 1

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._gate.check_place(scope)
        path, method = self._path(scope), scope["method"]
        page = self._open.page(path, method) or self._find_open(scope["path"])
        if page is None:
            self._gate.identify(scope)
            if self._serving > self._limits.requests:
                raise ApiError(503, "Too many requests at once.", code="busy", retry_after=1)
            page = self._pages.page(path, method)
        if page is None:
            raise ApiError(404, f"There is nothing at {path[:200]}.", code="not_found")
        await page(scope, receive, send)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._gate.check_place(scope)
            if self._socket is None or self._path(scope) not in ("/", "/ws"):
                raise ApiError(404, "There is no socket here.", code="not_found")
        except ApiError as error:
            from ostiary.gateway.socket.line import refuse as refuse_socket

            await receive()
            await refuse_socket(receive, send, error.status, error.message)
            return
        await self._socket(scope, receive, send)

    def _path(self, scope: Scope) -> str:
        path: str = scope["path"]
        if self._base != "/" and (path == self._base or path.startswith(self._base + "/")):
            return path[len(self._base) :] or "/"
        return path


class _Table:
    """Exact paths first; no path is normalised, so there is one spelling of each."""

    def __init__(self, pages: Pages) -> None:
        self._exact = {path: methods for path, methods in pages.items() if not path.endswith("*")}
        self._prefixes = tuple((path[:-1], methods) for path, methods in pages.items() if path.endswith("*"))

    def page(self, path: str, method: str) -> App | None:
        """None if there is no such path. Raises ApiError 405."""
        methods = self._exact.get(path)
        if methods is None:
            methods = next((found for prefix, found in self._prefixes if path.startswith(prefix)), None)
        if methods is None:
            return None
        page = methods.get(method)
        if page is None:
            raise ApiError(405, f"Use {' or '.join(methods)} here.", code="method_not_allowed")
        return page


class _Answered:
    """Remembers whether the status went out: an error after that can only cut the answer short."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def __call__(self, event: Event) -> None:
        self.has_begun = True
        await self._send(event)


async def _refuse(receive: Receive, answered: _Answered, error: ApiError) -> None:
    if not answered.has_begun:
        await refuse(receive, answered, error)
