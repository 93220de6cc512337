"""The client: one pooled session per process, and the profile for addresses the owner configured."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ostiary.adapters.egress.agent import AgentProfile
from ostiary.adapters.egress.judge import EgressRules, Judge
from ostiary.adapters.egress.limits import Limits
from ostiary.adapters.egress.origin import Origin
from ostiary.adapters.egress.resolver import Resolve, SystemResolver
from ostiary.contracts.errors import EgressRefused

if TYPE_CHECKING:
    import ssl

    from ostiary.adapters.egress.proxy import ProxyDoor, ProxyLimits
    from ostiary.adapters.egress.transport import Response, Transport

_NO_HEADERS: Mapping[str, str] = {}
_DEFAULT_LIMITS = Limits()
_KNOWN_URLS = 256


class Egress:
    """Open for the life of the process: `async with Egress() as egress`. Leaving closes every pooled connection.

    Proxies named in the environment, cookies and netrc are ignored; compressed answers are refused, so that the size limit
    means what it says. `resolve` and `tls` (which authorities are trusted) are for the profile `agent`.
    """

    def __init__(self, *, proxy: str = "", resolve: Resolve | None = None, tls: ssl.SSLContext | None = None) -> None:
        self._proxy = proxy or None
        self._resolve = resolve or SystemResolver()
        self._tls = tls
        self._transport: Transport | None = None
        self._open = False

    async def __aenter__(self) -> Self:
        self._open = True
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._open = False
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.close()

    def configured(self, base_url: str) -> ConfiguredOrigin:
        """Raises EgressRefused if `base_url` is not a plain http(s) address."""
        return ConfiguredOrigin(self, Origin.parse(base_url))

    def agent(self, rules: EgressRules) -> AgentProfile:
        """For addresses that the assistant chose. Raises BadInput if a rule cannot be understood."""
        return AgentProfile(Judge(rules), self._resolve, tls=self._tls)

    def proxy(
        self,
        rules: EgressRules,
        socket_path: str = "",
        *,
        loopback: bool = False,
        mode: int = 0o600,
        limits: ProxyLimits | None = None,
    ) -> AbstractAsyncContextManager[ProxyDoor]:
        """Lets other processes out by the same rules, at a unix socket of that `mode`, at a port of 127.0.0.1, or both.

        Raises BadInput if a rule cannot be understood; entering raises EgressFailed if it cannot listen."""
        from ostiary.adapters.egress.proxy import ProxyLimits, serve_proxy

        chosen = limits or ProxyLimits()
        return serve_proxy(Judge(rules), self._resolve, socket_path=socket_path, loopback=loopback, mode=mode, limits=chosen)

    def transport(self) -> Transport:
        """The pooled connections, made on first use. Raises EgressRefused unless the egress is open."""
        if self._transport is not None:
            return self._transport
        if not self._open:
            raise EgressRefused("Requests are made only while the egress is open.")
        # The HTTP library is imported by the first request, not by the start of the process.
        from ostiary.adapters.egress.transport import Transport

        self._transport = Transport(self._proxy)
        return self._transport


class ConfiguredOrigin:
    """Requests to one address of the owner's choice. Redirects are refused; nothing is sent anywhere else."""

    def __init__(self, egress: Egress, origin: Origin) -> None:
        self.origin = origin
        self._egress = egress
        self._urls: dict[str, str] = {}

    def post(
        self,
        path: str,
        body: bytes,
        headers: Mapping[str, str] = _NO_HEADERS,
        *,
        secret_headers: Mapping[str, str] = _NO_HEADERS,
        limits: Limits = _DEFAULT_LIMITS,
    ) -> Exchange:
        """`async with` it to send. Entering raises EgressRefused or EgressFailed; any HTTP status is an answer, not an error.

        `secret_headers` go with this request only, and their values are taken out of every error text.
        """
        return Exchange(self, "POST", path, body, headers, secret_headers, limits)

    def get(
        self,
        path: str,
        headers: Mapping[str, str] = _NO_HEADERS,
        *,
        secret_headers: Mapping[str, str] = _NO_HEADERS,
        limits: Limits = _DEFAULT_LIMITS,
    ) -> Exchange:
        """As `post`, without a body."""
        return Exchange(self, "GET", path, b"", headers, secret_headers, limits)

    def url(self, path: str) -> str:
        """The full address of a path. Raises EgressRefused if it leads out of the origin or prefix."""
        known = self._urls.get(path)
        if known is None:
            known = self.origin.url(path)
            if len(self._urls) < _KNOWN_URLS:
                self._urls[path] = known
        return known

    def transport(self) -> Transport:
        return self._egress.transport()


class Exchange:
    """One request and its answer; leaving early closes the connection, leaving after the end returns it to the pool."""

    __slots__ = ("_arguments", "_response")

    def __init__(
        self,
        to: ConfiguredOrigin,
        method: str,
        path: str,
        body: bytes,
        headers: Mapping[str, str],
        secret_headers: Mapping[str, str],
        limits: Limits,
    ) -> None:
        self._arguments = (to, method, path, body, headers, secret_headers, limits)
        self._response: Response | None = None

    async def __aenter__(self) -> Response:
        to, method, path, body, headers, secret_headers, limits = self._arguments
        self._response = await to.transport().send(
            method, to.url(path), to.origin, body, headers=headers, secret_headers=secret_headers, limits=limits
        )
        return self._response

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._response is not None:
            self._response.leave()
