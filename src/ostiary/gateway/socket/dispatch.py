"""From a text frame to a response: decoded, allowed, checked, done once, answered."""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio

from ostiary.contracts.errors import OstiaryError
from ostiary.gateway.errors import ApiError
from ostiary.gateway.methods.services import Call, Services
from ostiary.gateway.protocol.errors import MethodError, from_api, from_error
from ostiary.gateway.protocol.frames import Request, answer, decode, encode, refusal
from ostiary.gateway.protocol.registry import Method
from ostiary.gateway.socket.connection import Connection
from ostiary.gateway.socket.dedupe import Once
from ostiary.gateway.socket.hub import Hub

log = logging.getLogger("ostiary.socket")

# Known to the protocol, served by parts that this gateway does not have.
_ABSENT = frozenset({"poll", "channels.login", "channels.logout", "channels.start", "channels.stop"})
_ABSENT_GROUPS = ("skills.", "cron.", "node.")


class Dispatch:
    """`take` never waits and never raises: whatever a client sends gets a response, or ends its own connection."""

    def __init__(self, methods: Mapping[str, Method], services: Services, hub: Hub, once: Once) -> None:
        self._methods = {name: method for name, method in methods.items() if _has(services, method)}
        self._absent = _ABSENT | (methods.keys() - self._methods.keys())
        self._services = services
        self._hub = hub
        self._once = once

    def offered(self, connection: Connection) -> list[str]:
        """The methods this caller may use."""
        return [name for name, method in self._methods.items() if method.may_be_called_with(connection.caller.scopes)]

    def take(self, connection: Connection, text: str | bytes) -> None:
        request_id = ""
        try:
            frame = self._read(connection, text)
            request_id = frame.id
            self._serve(connection, frame)
        except MethodError as error:
            if error.code == "BAD_FRAME" and not request_id:
                request_id = str((error.details or {}).get("id", ""))
                error.details = None
            connection.outgoing.frame(refusal(request_id, error))
        except OstiaryError as error:
            connection.outgoing.frame(refusal(request_id, from_error(error)))
        except Exception:
            # The boundary: a bug ends its own request and tells the caller nothing of the inside.
            log.exception("a request failed")
            connection.outgoing.frame(refusal(request_id, _inside()))

    def _read(self, connection: Connection, text: str | bytes) -> Request:
        try:
            return decode(text)
        except MethodError:
            connection.bad_frames += 1
            if connection.bad_frames >= self._hub.limits.bad_frames:
                connection.close(1008, "too many frames that are none")
            raise

    def _serve(self, connection: Connection, frame: Request) -> None:
        method = self._methods.get(frame.method)
        if method is None:
            raise self._unknown(frame.method)
        if not method.may_be_called_with(connection.caller.scopes):
            raise MethodError("FORBIDDEN", f"{method.name} needs the scope {method.scope}.", details={"scope": method.scope})
        if frame.id in connection.in_flight:
            raise MethodError("BAD_FRAME", "A request with this id is at work.")
        params = method.read(frame.params)
        call = Call(params=params, caller=connection.caller, connection=connection, hub=self._hub, services=self._services)
        if method.is_immediate:
            self._answer(connection, frame.id, encode(method.handler(call)))
            return
        if len(connection.in_flight) >= self._hub.limits.in_flight:
            raise MethodError("BUSY", "Too many requests at once on this socket.", retry_after_ms=1000)
        scope = connection.in_flight[frame.id] = anyio.CancelScope()
        self._hub.group.start_soon(self._run, connection, frame.id, method, call, scope)

    async def _run(self, connection: Connection, request: str, method: Method, call: Call[Any], scope: anyio.CancelScope) -> None:
        try:
            with scope:
                payload = await self._result(method, call)
                self._answer(connection, request, payload)
                if method.follow is not None:
                    self._answer(connection, request, encode(await method.follow(call, payload)))
        except MethodError as error:
            connection.outgoing.frame(refusal(request, error))
        except ApiError as error:
            connection.outgoing.frame(refusal(request, from_api(error)))
        except OstiaryError as error:
            connection.outgoing.frame(refusal(request, from_error(error)))
        except TimeoutError:
            late = MethodError("UNAVAILABLE", f"{method.name} took too long.", retry_after_ms=5000)
            connection.outgoing.frame(refusal(request, late))
        except Exception:
            # The boundary: a bug ends its own request and tells the caller nothing of the inside.
            log.exception("%s failed", method.name)
            connection.outgoing.frame(refusal(request, _inside()))
        finally:
            connection.in_flight.pop(request, None)

    async def _result(self, method: Method, call: Call[Any]) -> bytes:
        if not method.has_effect:
            with anyio.fail_after(method.seconds):
                return encode(await method.handler(call))
        # Who hangs up half-way through an act must find it done, or not begun, when it asks again.
        with anyio.fail_after(method.seconds, shield=True):
            params: Any = call.params
            if not params.idempotency_key or not method.keeps_result:
                return await _encoded(method, call)
            asked = method.name.encode() + b"\0" + encode(params)
            return await self._once.do(call.caller.id, params.idempotency_key, asked, partial(_encoded, method, call))

    def _answer(self, connection: Connection, request: str, payload: bytes) -> None:
        if len(payload) > self._hub.limits.max_response:
            raise MethodError("TOO_LARGE", "The answer is too large for one frame.", hint="Ask for less at once.")
        connection.outgoing.frame(answer(request, payload))

    def _unknown(self, name: str) -> MethodError:
        if name == "connect":
            return MethodError("CONFLICT", "This socket is connected already.")
        if name in self._absent or name.startswith(_ABSENT_GROUPS):
            return MethodError("UNAVAILABLE", f"This gateway does not serve {name[:80]}.")
        return MethodError("UNKNOWN_METHOD", f"There is no method {name[:80]!r}.", hint="hello-ok lists the methods there are.")


def _has(services: Services, method: Method) -> bool:
    return not method.needs or getattr(services, method.needs) is not None


async def _encoded(method: Method, call: Call[Any]) -> bytes:
    result = method.handler(call)
    return encode(await result if hasattr(result, "__await__") else result)


def _inside() -> MethodError:
    return MethodError("INTERNAL", "The gateway failed to answer; its log says why.")
