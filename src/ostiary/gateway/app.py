"""The HTTP door: every request passes the gate, then finds its page or does not. Plain ASGI, composed of functions."""

import logging
import time
from collections.abc import Callable, Mapping
from functools import partial

from ostiary.contracts.engine import Engine
from ostiary.contracts.errors import OstiaryError
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.model import ModelCatalogue
from ostiary.contracts.store import Store
from ostiary.core.routing.scopes import api_scope
from ostiary.gateway.asgi import App, ClientGone, Event, Receive, Scope, Send, refuse, respond
from ostiary.gateway.auth import Gate
from ostiary.gateway.errors import ApiError, from_error
from ostiary.gateway.house import House
from ostiary.gateway.limits import Limits
from ostiary.gateway.openai_api.endpoint import NAME, Completions
from ostiary.gateway.openai_api.submission import SessionFor

_log = logging.getLogger(__name__)

Pages = Mapping[str, Mapping[str, App]]


def api_session(agent: str, user: str) -> SessionKey:
    """The conversation that `user` names. Raises BadInput if it is empty."""
    return SessionKey(agent, api_scope(user))


def build_app(
    engine: Engine,
    *,
    token: Callable[[], str],
    run_token: str = "",
    catalogue: ModelCatalogue,
    agents: Callable[[], tuple[str, ...]] = lambda: ("main",),
    session_for: SessionFor = api_session,
    store: Store | None = None,
    facts: Callable[[], Mapping[str, object]] = dict,
    limits: Limits | None = None,
    now: Callable[[], float] = time.time,
    monotonic: Callable[[], float] = time.monotonic,
) -> App:
    """The door onto `engine`. `token` is asked at each request: a new one counts at once. For `run_token` see run_file."""
    limits = limits or Limits()
    house = House(engine=engine, store=store, facts=facts, limits=limits)
    completions = Completions(engine=engine, catalogue=catalogue, agents=agents, session_for=session_for, limits=limits, now=now)
    pages: Pages = {
        "/v1/chat/completions": {"POST": completions},
        "/v1/models": {"GET": partial(_models, catalogue, agents)},
        "/v1/ostiary/status": {"GET": house.status},
        "/v1/ostiary/sessions": {"GET": house.sessions},
        "/v1/ostiary/session": {"GET": house.session},
        "/v1/ostiary/stop": {"POST": house.stop},
    }
    return _Door(pages, Gate(token, limits, monotonic, run_token), limits)


class _Door:
    """Only the exact path `/healthz` is open; everything else needs the token before its path is even looked at."""

    def __init__(self, pages: Pages, gate: Gate, limits: Limits) -> None:
        self._pages = pages
        self._gate = gate
        self._limits = limits
        self._serving = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
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
        except Exception:  # noqa: BLE001
            # The boundary: a bug ends its own request, is written down, and tells the caller nothing of the inside.
            _log.exception("request failed: %s", scope["path"])
            await _refuse(receive, answered, ApiError(500, "The gateway failed to answer; its log says why.", code="internal"))
        finally:
            self._serving -= 1

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._gate.check_place(scope)
        path: str = scope["path"]
        if path == "/healthz" and scope["method"] in ("GET", "HEAD"):
            await respond(send, 200, {"status": "ok"})
            return
        self._gate.check_token(scope)
        if self._serving > self._limits.requests:
            raise ApiError(503, "Too many requests at once.", code="busy", retry_after=1)
        methods = self._pages.get(path)
        if methods is None:
            raise ApiError(404, f"There is nothing at {path[:200]}.", code="not_found")
        page = methods.get(scope["method"])
        if page is None:
            raise ApiError(405, f"Use {' or '.join(methods)} here.", code="method_not_allowed")
        await page(scope, receive, send)


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


async def _models(
    catalogue: ModelCatalogue, agents: Callable[[], tuple[str, ...]], scope: Scope, receive: Receive, send: Send
) -> None:
    """Agents first: talking to one is what this door is for. Then the models a call may name."""
    names = [NAME, *(f"{NAME}/{agent}" for agent in agents())]
    names += [str(facts.ref) for facts in catalogue.choices(agents()[0])]
    rows = [{"id": name, "object": "model", "created": 0, "owned_by": name.partition("/")[0]} for name in dict.fromkeys(names)]
    await respond(send, 200, {"object": "list", "data": rows})
