"""One request to one judged address. Importing this module imports the HTTP library; `agent` does so on the first request."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import ClientError
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from ostiary.adapters.egress.addresses import read_address
from ostiary.adapters.egress.errors import EgressFailed
from ostiary.adapters.egress.judge import Judge
from ostiary.adapters.egress.limits import FetchLimits
from ostiary.adapters.egress.transport import failed, joined
from ostiary.adapters.egress.unpacking import Unpacking, accepted_codings
from ostiary.adapters.egress.url import Url
from ostiary.contracts.errors import EgressRefused

_LONGEST_LINE = 8190


class Hop:
    """An answer whose head has arrived. `headers` has lower-case names."""

    def __init__(self, raw: aiohttp.ClientResponse, url: Url, limits: FetchLimits) -> None:
        self.status = raw.status
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in raw.headers.items()}
        self._raw = raw
        self._origin = url.origin
        self._limits = limits

    async def body(self) -> tuple[bytes, bool]:
        """The unpacked body, and whether it was cut. Raises EgressFailed."""
        unpacking = Unpacking(self._raw.headers.get("Content-Encoding", ""), self._origin)
        most = self._limits.response_bytes
        body = bytearray()
        arrived = 0
        while chunk := await self._chunk():
            arrived += len(chunk)
            for piece in unpacking.feed(chunk):
                body += piece
                if len(body) > most:
                    break
            if len(body) > most or arrived > most:
                return self._too_long(body)
        unpacking.finish()
        return bytes(body), False

    def _too_long(self, body: bytearray) -> tuple[bytes, bool]:
        if not self._limits.cuts:
            raise EgressFailed(f"{self._origin} sent more than {self._limits.response_bytes:,} bytes.", failure="too_large")
        return bytes(body[: self._limits.response_bytes]), True

    async def _chunk(self) -> bytes:
        try:
            return await self._raw.content.readany()
        except (ClientError, OSError) as error:
            raise failed(self._origin, error, self._limits) from None


@asynccontextmanager
async def hop(
    method: str,
    url: Url,
    addresses: tuple[str, ...],
    body: bytes,
    *,
    judge: Judge,
    headers: Mapping[str, str],
    secret_headers: Mapping[str, str],
    limits: FetchLimits,
    tls: ssl.SSLContext | None,
) -> AsyncIterator[Hop]:
    """Connects to one of `addresses` and to nothing else, whatever the name means by now; TLS checks the name. Cookies, netrc
    and proxies of the environment play no part, and the connection is never used again.

    Raises EgressRefused and EgressFailed."""
    connector = aiohttp.TCPConnector(
        resolver=_Pinned(url.host, addresses),
        use_dns_cache=False,
        force_close=True,
        limit=1,
        socket_factory=lambda info: _socket(info, url, judge),
    )
    timeout = aiohttp.ClientTimeout(
        total=None, connect=limits.connect_seconds, sock_connect=limits.connect_seconds, sock_read=limits.idle_seconds
    )
    async with aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        skip_auto_headers=("Content-Type", "User-Agent", "Accept"),
        timeout=timeout,
        max_headers=limits.headers,
        max_line_size=_LONGEST_LINE,
        max_field_size=_LONGEST_LINE,
    ) as session:
        sent = {"Accept-Encoding": accepted_codings(), **joined(headers, secret_headers)}
        try:
            raw = await session.request(
                method,
                _same(url),
                data=body or None,
                headers=sent,
                allow_redirects=False,
                ssl=tls if tls is not None else True,
            )
        except (ClientError, OSError) as error:
            raise failed(url.origin, error, limits) from None
        try:
            yield Hop(raw, url, limits)
        finally:
            raw.close()


class _Pinned(AbstractResolver):
    """Knows one name, and for it the addresses that were judged."""

    def __init__(self, host: str, addresses: tuple[str, ...]) -> None:
        self._host = host
        self._addresses = addresses

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC) -> list[ResolveResult]:
        if host != self._host:
            raise EgressRefused("The HTTP library asked for another name than the one that was judged.")
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:
        """Nothing is held."""


def _socket(info: aiohttp.AddrInfoType, url: Url, judge: Judge) -> socket.socket:
    """The last door: whatever led here, the address that is about to be connected to is judged once more."""
    family, kind, protocol, _, place = info
    address = read_address(str(place[0]))
    if address is None:
        raise EgressRefused(f"{url.host} leads to an address that cannot be judged.")
    reason = judge.refusal_of_address(address, url.host, url.port)
    if reason:
        raise EgressRefused(reason)
    return socket.socket(family, kind, protocol)


def _same(url: Url) -> URL:
    made = URL(str(url), encoded=True)
    # Two parsers that disagree about an address are how requests end up elsewhere.
    if (made.scheme, made.raw_host, made.port, made.raw_path_qs) != (url.scheme, url.host, url.port, url.target):
        raise EgressRefused("The address can be read in more than one way.")
    return made
