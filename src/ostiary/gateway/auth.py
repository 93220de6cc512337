"""Who may come in by HTTP: the bearer of the token, from this machine, not on behalf of a web page elsewhere."""

import hmac
from collections import deque
from collections.abc import Callable

from ostiary.gateway.asgi import Scope, header
from ostiary.gateway.errors import ApiError
from ostiary.gateway.limits import Limits

# What broken scripts and templates send in place of a token.
_NEVER = frozenset({"", "undefined", "null", "none", "nil", "false"})
_LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})


class Gate:
    """Raises ApiError unless the request may proceed. The right token always passes; wrong ones are slowed down together.

    `run_token` is this run's own, for the owner's command line on this machine (see run_file); empty: there is none.
    """

    def __init__(self, token: Callable[[], str], limits: Limits, monotonic: Callable[[], float], run_token: str = "") -> None:
        self._token = token
        self._run_token = run_token
        self._limits = limits
        self._monotonic = monotonic
        self._failures: deque[float] = deque(maxlen=limits.failed_logins)

    def check_place(self, scope: Scope) -> None:
        """A name that merely resolves to loopback (DNS rebinding) or a page of another origin is not this machine."""
        host = header(scope, b"host")
        if not is_loopback_host(host):
            raise ApiError(403, "The Host header must name loopback, for example 127.0.0.1.", code="bad_host")
        origin = header(scope, b"origin")
        if origin and origin != f"{scope['scheme']}://{host}":
            raise ApiError(403, "Pages of another origin may not call this gateway.", code="bad_origin")

    def check_token(self, scope: Scope) -> None:
        """Compared in constant time. The token is never looked for in the URL."""
        scheme, _, given = header(scope, b"authorization").partition(" ")
        given = given.strip()
        known = [_same(given, self._token()), _same(given, self._run_token)]
        if scheme.lower() == "bearer" and any(known):
            return
        self._count_failure()
        raise ApiError(401, "Send the gateway's token as 'Authorization: Bearer <token>'.", code="invalid_api_key")

    def _count_failure(self) -> None:
        now = self._monotonic()
        recent = self._failures
        if len(recent) == recent.maxlen and now - recent[0] < self._limits.failed_login_window:
            wait = max(1, int(self._limits.failed_login_window - (now - recent[0])))
            raise ApiError(429, "Too many wrong tokens; wait before the next try.", code="too_many_failures", retry_after=wait)
        recent.append(now)


def is_loopback_host(host: str) -> bool:
    """Of a Host header: a loopback name or address, with or without a port."""
    name, colon, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    if colon and not (port.isascii() and port.isdigit()):
        return False
    return (name if colon else host).lower() in _LOOPBACK_HOSTS


def _same(given: str, expected: str) -> bool:
    same = hmac.compare_digest(given.encode(), expected.encode())
    return same and not _is_blank(given) and not _is_blank(expected)


def _is_blank(token: str) -> bool:
    return token.strip().lower() in _NEVER
