"""The profile for addresses that the assistant chose: resolve, judge, pin, connect, and the same again for every redirect."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING

import anyio

from ostiary.adapters.egress.errors import EgressFailed
from ostiary.adapters.egress.judge import Judge
from ostiary.adapters.egress.limits import FetchLimits
from ostiary.adapters.egress.resolver import Resolve, judged_addresses
from ostiary.adapters.egress.url import Url, follow, parse_url
from ostiary.contracts.errors import EgressRefused
from ostiary.contracts.records import dataclass

if TYPE_CHECKING:
    import ssl

_NO_HEADERS: Mapping[str, str] = {}
_DEFAULT_LIMITS = FetchLimits()
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_KEEP_METHOD = frozenset({307, 308})
_CREDENTIALS = frozenset({"authorization", "cookie", "proxy-authorization"})
_METHODS = frozenset({"GET", "HEAD", "POST"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """`url` is where the answer came from, `redirects` what was asked before it. `headers` has lower-case names. `body` is
    unpacked; `truncated` tells that it was cut at the limit."""

    status: int
    url: str
    host: str
    headers: Mapping[str, str]
    body: bytes
    redirects: tuple[str, ...] = ()
    truncated: bool = False

    @property
    def reason(self) -> str:
        """The status in words, of the standard: what the server says about itself stays out."""
        try:
            return HTTPStatus(self.status).phrase
        except ValueError:
            return "unknown status"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    method: str
    url: Url
    headers: Mapping[str, str]
    secret_headers: Mapping[str, str]
    body: bytes


class AgentProfile:
    """Requests under one set of rules. Keeps no connection, no cookie and no answer."""

    def __init__(self, judge: Judge, resolve: Resolve, *, tls: ssl.SSLContext | None = None) -> None:
        self.judge = judge
        self._resolve = resolve
        self._tls = tls

    def check(self, url: str) -> Url:
        """What can be known of a URL without asking anybody. Raises EgressRefused."""
        parsed = parse_url(url)
        self.judge.check_url(parsed)
        return parsed

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] = _NO_HEADERS,
        secret_headers: Mapping[str, str] = _NO_HEADERS,
        body: bytes = b"",
        limits: FetchLimits = _DEFAULT_LIMITS,
    ) -> Fetched:
        """Any HTTP status is an answer, not an error. Raises EgressRefused (against the rules; never try again) and EgressFailed.

        `secret_headers`, and credentials among `headers`, go to the origin of `url` alone."""
        if method not in _METHODS:
            raise EgressRefused(f"The method {method[:20]!r} is not used here.")
        request = _Request(method=method, url=self.check(url), headers=headers, secret_headers=secret_headers, body=body)
        try:
            with anyio.fail_after(limits.total_seconds):
                return await self._follow(request, limits)
        except TimeoutError:
            raise EgressFailed(f"{request.url.origin} took longer than {limits.total_seconds:g} s.", failure="timeout") from None

    async def _follow(self, request: _Request, limits: FetchLimits) -> Fetched:
        from ostiary.adapters.egress.hop import hop

        before: list[str] = []
        while True:
            url = request.url
            addresses = await judged_addresses(url.host, url.port, self.judge, self._resolve, limits.name_seconds)
            async with hop(
                request.method,
                url,
                addresses,
                request.body,
                judge=self.judge,
                headers=request.headers,
                secret_headers=request.secret_headers,
                limits=limits,
                tls=self._tls,
            ) as answer:
                location = answer.headers.get("location", "")
                if answer.status not in _REDIRECTS or not location:
                    content, truncated = await answer.body()
                    return Fetched(
                        status=answer.status,
                        url=str(url),
                        host=url.host,
                        headers=answer.headers,
                        body=content,
                        redirects=tuple(before),
                        truncated=truncated,
                    )
                if len(before) >= limits.redirects:
                    raise EgressRefused(f"{request.url.origin} redirected more than {limits.redirects} times.")
                before.append(str(url))
                request = self._next(request, answer.status, location)

    def _next(self, request: _Request, status: int, location: str) -> _Request:
        url = follow(request.url, location)
        self.judge.check_url(url)
        if request.url.scheme == "https" and url.scheme == "http":
            raise EgressRefused(f"{request.url.host} redirected from https to http.")
        keeps = status in _KEEP_METHOD or request.method == "HEAD"
        method, body = (request.method, request.body) if keeps else ("GET", b"")
        headers, secret_headers = request.headers, request.secret_headers
        if url.origin != request.url.origin:
            if body:
                raise EgressRefused(f"{request.url.host} wanted the request's contents sent on to {url.host}.")
            headers = {name: value for name, value in headers.items() if name.lower() not in _CREDENTIALS}
            secret_headers = _NO_HEADERS
        if not body:
            headers = {name: value for name, value in headers.items() if name.lower() != "content-type"}
        return _Request(method=method, url=url, headers=headers, secret_headers=secret_headers, body=body)
