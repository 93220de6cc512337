"""The pages that sign a browser in and out. They are open to all and do their own checking."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from ostiary.gateway.asgi import App, Receive, Scope, Send, header, read_body, respond
from ostiary.gateway.auth.admission import shown
from ostiary.gateway.auth.cookies import cookie_of, set_cookie
from ostiary.gateway.auth.gate import Gate
from ostiary.gateway.auth.headers import security_headers
from ostiary.gateway.auth.place import client_address
from ostiary.gateway.errors import ApiError
from ostiary.gateway.limits import Limits

T = TypeVar("T")

_LIMITS = Limits(body_bytes=4096, body_seconds=10.0)


class _Code(msgspec.Struct, forbid_unknown_fields=True):
    code: str


class _Password(msgspec.Struct, forbid_unknown_fields=True):
    password: str


def auth_pages(gate: Gate) -> Mapping[str, Mapping[str, App]]:
    """Path, method, page; to be mounted under the base path, after `check_place` and without `identify`."""
    pages = _Pages(gate)
    return {
        "/auth/session": {"GET": pages.who, "POST": pages.by_code},
        "/auth/password": {"POST": pages.by_password},
        "/auth/logout": {"POST": pages.logout},
    }


class _Pages:
    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def who(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Whether this browser is signed in, and how it could be. A cookie in use is renewed."""
        gate = self._gate
        try:
            caller = gate.identify(scope)
        except ApiError as error:
            if error.status != 401:
                raise
            nobody = {"signedIn": False, "mode": gate.rules().mode}
            await self._answer(scope, send, 200, nobody, cookie="" if cookie_of(scope) else None)
            return
        told: dict[str, object] = {
            "signedIn": True,
            "mode": gate.rules().mode,
            "scopes": sorted(caller.scopes),
            "kind": caller.kind,
        }
        await self._answer(scope, send, 200, told, cookie=cookie_of(scope) if caller.kind == "browser" else None)

    async def by_code(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A one-time code becomes a session."""
        code = (await _body(scope, receive, _Code)).code
        address = client_address(scope, self._gate.rules())
        if not code or not await self._gate.desk.take_link(code):
            raise self._wrong(address, "The link was used already or has expired; make a new one: ostiary gateway link")
        await self._sign_in(scope, send)

    async def by_password(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = (await _body(scope, receive, _Password)).password
        if self._gate.rules().mode != "password":
            raise ApiError(404, "This gateway has no password; use a link: ostiary gateway link", code="no_password")
        self._gate.owner_secret.check(scope, self._gate.rules(), password=given)
        await self._sign_in(scope, send)

    async def logout(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The session ends, with every socket it opened."""
        caller = self._gate.identify(scope)
        if caller.kind != "browser":
            raise ApiError(400, "Only a signed-in browser can sign out.", code="not_a_browser")
        await self._gate.desk.revoke(caller.device, caller)
        await self._answer(scope, send, 204, None, cookie="")

    async def _sign_in(self, scope: Scope, send: Send) -> None:
        """Always a new session: a cookie that was there before is never made to count."""
        name = _browser(header(scope, b"user-agent"))
        secret = await self._gate.desk.sign_in_browser(
            shown(name, 64), shown(header(scope, b"sec-ch-ua-platform").strip('"'), 64)
        )
        await self._answer(scope, send, 204, None, cookie=secret)

    def _wrong(self, address: str, message: str) -> ApiError:
        wait = self._gate.failures.count(address)
        if wait:
            return ApiError(429, "Too many wrong tries; wait before the next.", code="too_many_failures", retry_after=wait)
        return ApiError(401, message, code="invalid_code")

    async def _answer(self, scope: Scope, send: Send, status: int, body: object, *, cookie: str | None) -> None:
        """`cookie` None: leave it as it is; empty: take it back."""
        rules = self._gate.rules()
        headers = [*security_headers()]
        if cookie is not None:
            headers.append(set_cookie(cookie, scope, rules))
        if status != 204:
            await respond(send, status, body, [pair for pair in headers if pair[0] != b"x-content-type-options"])
            return
        start = {"type": "http.response.start", "status": 204, "headers": [(b"cache-control", b"no-store"), *headers]}
        await send(start)
        await send({"type": "http.response.body", "body": b""})


async def _body(scope: Scope, receive: Receive, shape: type[T]) -> T:
    if header(scope, b"content-type").partition(";")[0].strip().lower() != "application/json":
        raise ApiError(400, "Send JSON as application/json.", code="bad_input")
    try:
        return msgspec.json.decode(await read_body(scope, receive, _LIMITS), type=shape)
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeError) as error:
        # The message names the field, never its value.
        raise ApiError(400, f"The body is not what was expected: {error}", code="bad_input") from None


def _browser(user_agent: str) -> str:
    """A name a person recognises in a list; it decides nothing."""
    names = ("Edg", "OPR", "Firefox", "Chrome", "Safari", "curl")
    systems = ("Android", "iPhone", "iPad", "Windows", "Mac OS X", "CrOS", "Linux")
    name = next((each for each in names if each in user_agent), "Browser")
    system = next((each for each in systems if each in user_agent), "")
    plain = {"Edg": "Edge", "OPR": "Opera", "Mac OS X": "macOS", "CrOS": "ChromeOS"}
    return f"{plain.get(name, name)} on {plain.get(system, system)}" if system else plain.get(name, name)
