"""The gate: every request and every socket passes it before anything else looks at them."""

import time
from collections.abc import AsyncIterator, Callable

from ostiary.gateway.asgi import Scope, header
from ostiary.gateway.auth import place
from ostiary.gateway.auth.admission import Admission
from ostiary.gateway.auth.callers import Caller, Connect, NeedsPairing, Refused, narrowed, of_device, owner
from ostiary.gateway.auth.cookies import cookie_of
from ostiary.gateway.auth.desk import DEVICE_TOKEN, DeviceDesk
from ostiary.gateway.auth.failures import FailureBudget
from ostiary.gateway.auth.housekeeping import Housekeeping
from ostiary.gateway.auth.noting import Noted, unnoted
from ostiary.gateway.auth.owner_secret import OwnerSecret
from ostiary.gateway.auth.ports import Books
from ostiary.gateway.auth.rules import AccessRules, FailureRules
from ostiary.gateway.auth.secret import digest, same_digest
from ostiary.gateway.errors import ApiError
from ostiary.gateway.limits import Limits

_CALLER = "ostiary.caller"
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_PAGES = frozenset({"", "same-origin", "none"})


class Gate:
    """`token` and `password` are asked at each try: a new one counts at once. `run_token` is this run's own, for the owner's
    command line (see run_file). Without `books` there are no devices and no browsers, only the owner's own secrets.
    """

    def __init__(
        self,
        token: Callable[[], str],
        limits: Limits | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        run_token: str = "",
        *,
        password: Callable[[], str] = lambda: "",
        rules: Callable[[], AccessRules] = AccessRules,
        failure_rules: Callable[[], FailureRules] | None = None,
        books: Books | None = None,
        now: Callable[[], float] = time.time,
        noted: Noted = unnoted,
    ) -> None:
        limits = limits or Limits()
        self.rules = rules
        self.now = now
        self._noted = noted
        self.failures = FailureBudget(
            failure_rules or (lambda: _from_limits(limits)),
            monotonic,
            lambda address: noted("login.failed", address, "gateway", "refused"),
        )
        self.owner_secret = OwnerSecret(
            token=token, password=password, run_token=run_token, mode=lambda: rules().mode, failures=self.failures
        )
        self.books = books
        self.housekeeping = Housekeeping(books, now=now, rules=rules, secret=self.owner_secret.current)
        self.desk = DeviceDesk(books, now=now, rules=rules, on_change=self.housekeeping.wake, noted=noted)
        self._admission = Admission(
            books, owner_secret=self.owner_secret, failures=self.failures, rules=rules, now=now, saw=self._let_in, noted=noted
        )

    def check_place(self, scope: Scope) -> None:
        """Host and Origin. Raises ApiError 403."""
        place.check_place(scope, self.rules())

    def identify(self, scope: Scope) -> Caller:
        """Who calls by HTTP; also kept in the scope, for `caller_of`. Secrets are never looked for in the URL.

        Raises ApiError 401, 403 (a cookie from a page that is not ours) or 429, StoreError."""
        caller = self._by_bearer(scope) if header(scope, b"authorization") else self._by_cookie(scope)
        if caller is None:
            raise ApiError(401, "Send the gateway's token as 'Authorization: Bearer <token>'.", code="invalid_api_key")
        self._let_in(caller)
        scope[_CALLER] = caller
        return caller

    async def identify_socket(self, scope: Scope, connect: Connect, nonce: str) -> Caller | NeedsPairing | Refused:
        """Who opens a socket. `nonce` is the challenge this very connection was sent; empty: none was. Raises StoreError."""
        try:
            self.check_place(scope)
            if connect.device is not None or connect.device_token:
                return await self._admission.admit(scope, connect, nonce)
            caller = self._socket_owner(scope, connect)
        except ApiError as error:
            return _refused(error)
        if caller is None:
            return Refused(code="UNAUTHORIZED", message="Say who you are: auth.token, auth.password or a device.")
        caller = narrowed(caller, connect.scopes)
        if not caller.scopes:
            return Refused(code="FORBIDDEN", message="None of the scopes asked for may be had.")
        self._let_in(caller)
        return caller

    def address(self, scope: Scope) -> str:
        """Whom `failures` are counted against."""
        return place.client_address(scope, self.rules())

    def saw(self, caller: Caller) -> None:
        """A socket's caller did something: a browser's session lives on while it is used."""
        self.housekeeping.saw(caller)

    def _let_in(self, caller: Caller) -> None:
        self.housekeeping.saw(caller)
        self.came_in(caller.id, caller.kind)

    def came_in(self, who: str, kind: str) -> None:
        """Note a login; also of those who are let in by a proof of their own, such as webhooks."""
        self._noted("login", who, kind, "ok")

    def watch_revocations(self) -> AsyncIterator[str]:
        """Ids of callers that may not stay, within a second of their revocation, by whichever process. Raises StoreError."""
        return self.housekeeping.watch()

    async def keep_books(self) -> None:
        """Write down who was seen and sweep what has expired, until cancelled."""
        await self.housekeeping.run()

    def _socket_owner(self, scope: Scope, connect: Connect) -> Caller | None:
        """What `connect` says goes before the handshake's headers; what is wrong is not mended by another that is right."""
        if connect.token or connect.password:
            kind = self.owner_secret.check(scope, self.rules(), token=connect.token, password=connect.password)
            return owner(kind)
        if header(scope, b"authorization"):
            return owner(self.owner_secret.check(scope, self.rules(), bearer=_bearer(scope)))
        return self._by_cookie(scope)

    def _by_bearer(self, scope: Scope) -> Caller:
        given = _bearer(scope)
        device = self._device(given)
        return device or owner(self.owner_secret.check(scope, self.rules(), bearer=given))

    def _by_cookie(self, scope: Scope) -> Caller | None:
        """A cookie is sent by the browser, not by the page: only a page of ours may use it, and change things knowingly."""
        given = cookie_of(scope)
        if not given or self.books is None:
            return None
        hashed = digest(given)
        found = self.books.reads.devices.by_secret(hashed, self.now())
        if found is None or not same_digest(found[1], hashed) or found[0].kind != "browser":
            # The same stale cookie comes with every request of a page, and is one wrong try.
            wait = self.failures.count(self.address(scope), hashed)
            if wait:
                raise _too_many(wait)
            return None
        self._check_own_page(scope)
        return owner("browser", device=found[0].id)

    def _check_own_page(self, scope: Scope) -> None:
        if header(scope, b"sec-fetch-site") not in _OWN_PAGES:
            raise ApiError(403, "Only pages of this gateway may use its sign-in.", code="bad_origin")
        is_socket = scope["type"] == "websocket"
        if not is_socket and scope["method"] in _SAFE_METHODS:
            return
        if header(scope, b"origin") != place.own_origin(scope, self.rules()):
            raise ApiError(403, "A browser must say its Origin here.", code="bad_origin")
        if not is_socket and header(scope, b"x-ostiary") != "1":
            raise ApiError(403, "Send the header 'X-Ostiary: 1'.", code="csrf")

    def _device(self, given: str) -> Caller | None:
        if self.books is None or not given.startswith(DEVICE_TOKEN):
            return None
        hashed = digest(given)
        found = self.books.reads.devices.by_secret(hashed, self.now())
        if found is None or not same_digest(found[1], hashed) or found[0].kind != "operator":
            return None
        return of_device(found[0].id, found[0].scopes)


def caller_of(scope: Scope) -> Caller:
    """Whom `Gate.identify` found. A page that was never guarded fails here, closed."""
    caller = scope.get(_CALLER)
    if not isinstance(caller, Caller):
        raise ApiError(401, "Nobody has been let in here.", code="invalid_api_key")
    return caller


def require(caller: Caller, scope: str) -> None:
    """Raises ApiError 403 unless the caller has the scope."""
    if scope not in caller.scopes:
        raise ApiError(403, f"This needs the scope {scope}.", code="missing_scope")


def _refused(error: ApiError) -> Refused:
    match error.status:
        case 429:
            return Refused(code="BUSY", message=error.message, retry_after=error.retry_after)
        case 403:
            return Refused(code="FORBIDDEN", message=error.message)
        case 400:
            return Refused(code="INVALID_PARAMS", message=error.message)
        case _:
            return Refused(code="UNAUTHORIZED", message=error.message)


def _bearer(scope: Scope) -> str:
    scheme, _, given = header(scope, b"authorization").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


def _too_many(wait: int) -> ApiError:
    return ApiError(429, "Too many wrong tokens; wait before the next try.", code="too_many_failures", retry_after=wait)


def _from_limits(limits: Limits) -> FailureRules:
    return FailureRules(attempts=limits.failed_logins, window=limits.failed_login_window, lockout=limits.failed_login_window)
