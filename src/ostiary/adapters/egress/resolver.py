"""From a name to addresses that were all judged. What is connected to afterwards is these addresses, never the name again."""

import socket
from collections.abc import Awaitable, Callable

import anyio
import anyio.to_thread

from ostiary.adapters.egress.addresses import IpAddress, read_address
from ostiary.adapters.egress.errors import EgressFailed
from ostiary.adapters.egress.judge import Judge
from ostiary.contracts.errors import EgressRefused

Resolve = Callable[[str], Awaitable[tuple[str, ...]]]
"""Every address of a name. Raises OSError if there is none."""

_LOOKUPS = 16
_MOST_ADDRESSES = 32


class SystemResolver:
    """Asks as every program of this machine does, at most so many at once: a name server that is silent holds its thread."""

    def __init__(self) -> None:
        self._places = anyio.CapacityLimiter(_LOOKUPS)

    async def __call__(self, host: str) -> tuple[str, ...]:
        return await anyio.to_thread.run_sync(_look_up, host, abandon_on_cancel=True, limiter=self._places)


def _look_up(host: str) -> tuple[str, ...]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


async def judged_addresses(host: str, port: int, judge: Judge, resolve: Resolve, seconds: float) -> tuple[str, ...]:
    """All addresses of a host, each of which passed: one that does not spoils the rest, for an honest name has no such one.

    Raises EgressRefused, and EgressFailed if the name leads nowhere or takes too long."""
    reason = judge.refusal_of_host(host, port)
    if reason:
        raise EgressRefused(reason)
    given = read_address(host)
    found = (host,) if given is not None else await _found(host, resolve, seconds)
    for text in found:
        reason = judge.refusal_of_address(_read(text, host), host, port)
        if reason:
            raise EgressRefused(reason)
    # As they were given: in a network that only speaks IPv6, a translated address is the way to an IPv4 host.
    return tuple(dict.fromkeys(found))


def _read(text: str, host: str) -> IpAddress:
    address = read_address(text)
    if address is None:
        raise EgressRefused(f"{host} leads to an address that cannot be judged.")
    return address


async def _found(host: str, resolve: Resolve, seconds: float) -> tuple[str, ...]:
    try:
        with anyio.fail_after(seconds):
            found = await resolve(host)
    except TimeoutError:
        raise EgressFailed(f"The name {host} could not be looked up within {seconds:g} s.", failure="name") from None
    except (OSError, UnicodeError):
        raise EgressFailed(f"There is no host {host}.", failure="name") from None
    if not found:
        raise EgressFailed(f"There is no host {host}.", failure="name")
    if len(found) > _MOST_ADDRESSES:
        raise EgressRefused(f"{host} has more than {_MOST_ADDRESSES} addresses.")
    return found
