"""The connections themselves. Importing this module imports the HTTP library; `client` does so on the first request."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Mapping

import aiohttp
from aiohttp import ClientError
from yarl import URL

from ostiary.adapters.egress.errors import EgressFailed, Failure
from ostiary.adapters.egress.limits import FetchLimits, Limits
from ostiary.adapters.egress.origin import Origin
from ostiary.adapters.egress.redact import redact
from ostiary.contracts.errors import EgressRefused

_LARGE_BODY = 512 * 1024
_POOL_SIZE = 512
_KNOWN = 256


class Transport:
    """One pool of connections. It sends where it is told: judging the address is the profile's work, done before."""

    def __init__(self, proxy: str | None) -> None:
        self._proxy = proxy
        self._timeouts: dict[Limits, aiohttp.ClientTimeout] = {}
        self._urls: dict[str, URL] = {}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=_POOL_SIZE, ttl_dns_cache=60),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            skip_auto_headers=("Content-Type",),
            headers={"User-Agent": "ostiary", "Accept-Encoding": "identity"},
        )

    async def close(self) -> None:
        await self._session.close()

    async def send(
        self,
        method: str,
        url: str,
        origin: Origin,
        body: bytes,
        *,
        headers: Mapping[str, str],
        secret_headers: Mapping[str, str],
        limits: Limits,
    ) -> Response:
        """Raises EgressFailed, or EgressRefused for a redirect. The caller calls `leave` on what it gets."""
        # aiohttp warns about raw bytes above a megabyte: it would write them in one go.
        data = None if method == "GET" else io.BytesIO(body) if len(body) > _LARGE_BODY else body
        try:
            raw = await self._session.request(
                method,
                self._url(url, origin),
                data=data,
                headers=joined(headers, secret_headers),
                timeout=self._timeout(limits),
                allow_redirects=False,
                proxy=self._proxy,
            )
        except (ClientError, OSError) as error:
            raise failed(origin, error, limits) from None
        response = Response(raw, origin, limits, _secrets(secret_headers))
        try:
            response.refuse_unwanted()
        except BaseException:
            raw.close()
            raise
        return response

    def _url(self, text: str, origin: Origin) -> URL:
        known = self._urls.get(text)
        if known is None:
            known = URL(text, encoded=True)
            # Two parsers that disagree about an address are how requests end up elsewhere.
            if (known.scheme, known.host, known.port) != (origin.scheme, origin.host, origin.port):
                raise EgressRefused(f"The address leads away from {origin}.")
            if len(self._urls) < _KNOWN:
                self._urls[text] = known
        return known

    def _timeout(self, limits: Limits) -> aiohttp.ClientTimeout:
        known = self._timeouts.get(limits)
        if known is None:
            known = aiohttp.ClientTimeout(
                total=limits.total_seconds, connect=limits.connect_seconds, sock_read=limits.idle_seconds, ceil_threshold=60
            )
            if len(self._timeouts) < _KNOWN:
                self._timeouts[limits] = known
        return known


class Response:
    """What came back. `headers` has lower-case names."""

    __slots__ = ("_limits", "_origin", "_raw", "_read", "_secrets", "status")

    def __init__(self, raw: aiohttp.ClientResponse, origin: Origin, limits: Limits, secrets: tuple[str, ...]) -> None:
        self.status = raw.status
        self._raw = raw
        self._origin = origin
        self._limits = limits
        self._secrets = secrets
        self._read = 0

    @property
    def headers(self) -> Mapping[str, str]:
        return {name.lower(): value for name, value in self._raw.headers.items()}

    @property
    def origin(self) -> Origin:
        return self._origin

    async def read(self) -> bytes:
        """The next bytes as they arrive, empty at the end. Raises EgressFailed: timeout, cut, too_large."""
        try:
            chunk = await self._raw.content.readany()
        except (ClientError, OSError) as error:
            raise failed(self._origin, error, self._limits) from None
        self._read += len(chunk)
        if self._read > self._limits.response_bytes:
            raise EgressFailed(f"{self._origin} sent more than {self._limits.response_bytes:,} bytes.", failure="too_large")
        return chunk

    async def chunks(self) -> AsyncIterator[bytes]:
        while chunk := await self.read():
            yield chunk

    async def body(self, at_most: int = 8 * 1024 * 1024) -> bytes:
        """The whole body. Raises EgressFailed(too_large) beyond `at_most`."""
        pieces = bytearray()
        while chunk := await self.read():
            pieces += chunk
            if len(pieces) > at_most:
                raise EgressFailed(f"{self._origin} sent more than {at_most:,} bytes.", failure="too_large")
        return bytes(pieces)

    async def error_text(self) -> str:
        """The beginning of the body for an error message: bounded, printable, secrets taken out. Never raises EgressFailed."""
        pieces = bytearray()
        try:
            while len(pieces) < self._limits.error_bytes and (chunk := await self.read()):
                pieces += chunk
        except EgressFailed:
            # An error page that breaks off is still worth showing as far as it came.
            pass
        return self.redacted(pieces[: self._limits.error_bytes].decode("utf-8", "replace"))

    def redacted(self, text: str) -> str:
        return redact(text, self._secrets)

    @property
    def at_end(self) -> bool:
        return self._raw.content.at_eof()

    def refuse_unwanted(self) -> None:
        if 300 <= self.status < 400:
            target = self.redacted(self._raw.headers.get("Location", "")[:200])
            raise EgressRefused(
                f"{self._origin} answered with a redirect to {target or 'nowhere'}, and redirects are not followed.",
                hint="Configure the final address.",
            )
        encoding = self._raw.headers.get("Content-Encoding", "identity")
        if encoding.lower() != "identity":
            raise EgressFailed(f"{self._origin} sent a compressed answer that was not asked for.", failure="protocol")

    def leave(self) -> None:
        if self._raw.content.at_eof():
            self._raw.release()
        else:
            self._raw.close()


def joined(headers: Mapping[str, str], secret_headers: Mapping[str, str]) -> dict[str, str]:
    """Raises EgressRefused if a value could end its line."""
    sent = {**headers, **secret_headers}
    for name, value in sent.items():
        # The value stays out of the sentence: it may be the secret.
        if not value.isascii() or not value.isprintable():
            raise EgressRefused(f"The value of the header {name!r} holds a character that cannot be sent.")
    return sent


def _secrets(secret_headers: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(value.removeprefix("Bearer ") for value in secret_headers.values())


def failed(origin: object, error: Exception, limits: Limits | FetchLimits) -> EgressFailed:
    """The library's error as ours. Its own text stays out where it could quote what was sent."""
    failure: Failure
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        failure, text = "timeout", f"{origin} could not be reached within {limits.connect_seconds:g} s."
    elif isinstance(error, aiohttp.SocketTimeoutError):
        failure, text = "timeout", f"{origin} was silent for {limits.idle_seconds:g} s."
    elif isinstance(error, TimeoutError):
        failure, text = "timeout", f"{origin} took longer than {limits.total_seconds:g} s."
    elif isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError):
        failure, text = "certificate", f"The certificate of {origin} could not be trusted."
    elif isinstance(error, aiohttp.ClientConnectorError):
        failure, text = "connect", f"{origin} could not be reached: {error.os_error.strerror or 'no connection'}."
    elif isinstance(error, aiohttp.ClientPayloadError | aiohttp.ServerDisconnectedError | aiohttp.ClientOSError | OSError):
        failure, text = "cut", f"The connection to {origin} broke off."
    else:
        failure, text = "protocol", f"{origin} does not speak proper HTTP ({type(error).__name__})."
    return EgressFailed(text, failure=failure)
