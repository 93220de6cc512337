"""Which addresses the assistant may cause requests to. Pure: no name is resolved and nothing is opened here.

A request is judged twice: its URL before anything happens, and every address its host has before any is connected to. Both
answers are a reason to refuse; an empty one is a yes. What nobody allowed and is not public is refused.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import field
from functools import lru_cache
from ipaddress import ip_network

from ostiary.adapters.egress.addresses import IpAddress, IpNetwork, kind_of, read_address, unwrapped
from ostiary.adapters.egress.url import Url, parse_authority
from ostiary.contracts.errors import BadInput, EgressRefused
from ostiary.contracts.records import dataclass

# Names that mean this machine or this network wherever they are looked up.
_INSIDE = ("localhost", "*.localhost", "*.local", "*.localdomain", "*.internal", "*.intranet", "*.lan", "*.home.arpa", "metadata")
# Ports of services that are not the web and can be talked into something by an HTTP request (those browsers refuse too).
_NOT_WEB = frozenset(
    {
        *(1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111),
        *(113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540),
        *(548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000),
        *(6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211),
    }
)
# An owner who allows a name or a network cannot mean these; whoever needs one writes down the very address.
_ONLY_BY_ADDRESS = frozenset({"metadata", "link-local", "unspecified", "multicast", "reserved"})
_HOST_GLOB = re.compile(r"[a-z0-9_*]([a-z0-9_*.-]{0,251}[a-z0-9_*])?")


def nobodys(address: IpAddress) -> bool:
    """For those who know no address of this machine."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressRules:
    """What holds for one role. Entries are hosts (`docs.example.com`, `*.example.com`), addresses or networks (`192.168.1.0/24`),
    each with `:port` or without.

    `allow_private` opens what is not public. `blocked` wins over everything. If `allowed` is not None, only what it names is
    reached; an empty one allows nothing; `allowed_too` narrows it further. `control_hosts` and, on this machine, `control_ports`
    are the gateway's own and are never reached, whoever allows them. `is_own` tells this machine's addresses."""

    allow_private: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    allowed: tuple[str, ...] | None = None
    allowed_too: tuple[str, ...] | None = None
    control_hosts: tuple[str, ...] = ()
    control_ports: frozenset[int] = frozenset()
    is_own: Callable[[IpAddress], bool] = field(default=nobodys, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the owner's lists: a `host`, perhaps with stars (then `glob`), or the addresses from `first` to `last` of an
    IP `version` (0: none). `port` 0 is every port."""

    port: int
    host: str = ""
    glob: re.Pattern[str] | None = None
    version: int = 0
    first: int = 0
    last: int = 0

    def names(self, host: str, port: int) -> bool:
        if self.port not in (0, port):
            return False
        return host == self.host if self.glob is None else self.glob.fullmatch(host) is not None

    def holds(self, version: int, number: int, port: int) -> bool:
        return self.version == version and self.first <= number <= self.last and self.port in (0, port)


class Judge:
    """The rules, compiled. Raises BadInput if an entry cannot be understood: a rule that says nothing would open."""

    def __init__(self, rules: EgressRules) -> None:
        self.rules = rules
        self._private = tuple(map(read_entry, rules.allow_private))
        self._blocked = tuple(map(read_entry, rules.blocked))
        given = (rules.allowed, rules.allowed_too)
        self._allowed = tuple(tuple(map(read_entry, each)) for each in given if each is not None)
        self._control = tuple(map(read_entry, rules.control_hosts))
        self._inside = tuple(map(read_entry, _INSIDE))

    def check_url(self, url: Url) -> None:
        """Raises EgressRefused."""
        reason = self.refusal_of_url(url)
        if reason:
            raise EgressRefused(reason)

    def refusal_of_url(self, url: Url) -> str:
        """Before anything is looked up. A host that is an address is judged as one too."""
        return self.refusal_of_host(url.host, url.port)

    def refusal_of_host(self, host: str, port: int) -> str:
        address = read_address(host)
        if address is not None:
            return self.refusal_of_address(address, host, port)
        if _names(self._control, host, port):
            return f"{host} is the gateway itself."
        if _names(self._blocked, host, port):
            return f"{host} is blocked by the owner's rules."
        if not all(_names(each, host, port) or _has_network(each) for each in self._allowed):
            return f"{host} is not among the hosts that the owner's rules allow."
        if _names(self._inside, host, port) and not self._opened_for(host, port):
            return f"{host} is a name inside this network."
        return _port_refusal(host, port) if not _names(self._private, host, port) else ""

    def refusal_of_address(self, address: IpAddress, host: str, port: int) -> str:
        """For every address that the host has, right before it is connected to."""
        address = unwrapped(address)
        is_own = self.rules.is_own(address) or kind_of(address) in ("loopback", "unspecified")
        if is_own and port in self.rules.control_ports:
            return f"{host} is the gateway itself."
        if _names(self._control, host, port) or _holds(self._control, address, port):
            return f"{host} is the gateway itself."
        if _names(self._blocked, host, port) or _holds(self._blocked, address, port):
            return f"{host} is blocked by the owner's rules."
        if not all(_names(each, host, port) or _holds(each, address, port) for each in self._allowed):
            return f"{host} is not among the hosts that the owner's rules allow."
        kind = kind_of(address) or ("this machine's own" if is_own else "")
        if kind and not self._opens(kind, address, host, port):
            return f"{host} is a {kind} address." if host == str(address) else f"{host} leads to a {kind} address."
        return "" if kind else _port_refusal(host, port)

    def _opened_for(self, host: str, port: int) -> bool:
        """A name inside may be looked up if it is allowed itself, or if a network is: its addresses are judged next."""
        return _names(self._private, host, port) or _has_network(self._private)

    def _opens(self, kind: str, address: IpAddress, host: str, port: int) -> bool:
        if kind in _ONLY_BY_ADDRESS:
            return any(entry.first == entry.last for entry in self._private if entry.holds(address.version, int(address), port))
        return _names(self._private, host, port) or _holds(self._private, address, port)


@lru_cache(maxsize=1024)
def read_entry(text: str) -> Entry:
    """Raises BadInput."""
    plain = text.strip().lower()
    try:
        if "/" in plain:
            return _of_network(*_network(plain))
        bare = f"[{plain}]" if plain.count(":") > 1 and not plain.startswith("[") else plain
        if "*" in bare:
            host, _, digits = bare.partition(":")
            port = parse_authority(f"x:{digits}", 0)[1] if digits else 0
        else:
            host, port = parse_authority(bare, 0)
    except (EgressRefused, ValueError):
        raise BadInput(f"{text[:80]!r} is not a host, an address or a network.") from None
    address = read_address(host)
    if address is not None:
        return _of_network(ip_network(address), port)
    host = host.removesuffix(".")
    if not _HOST_GLOB.fullmatch(host):
        raise BadInput(f"{text[:80]!r} is not a host, an address or a network.")
    glob = re.compile(re.escape(host).replace(r"\*", ".*")) if "*" in host else None
    return Entry(host=host, glob=glob, port=port)


def _of_network(network: IpNetwork, port: int) -> Entry:
    return Entry(version=network.version, first=int(network.network_address), last=int(network.broadcast_address), port=port)


def _network(text: str) -> tuple[IpNetwork, int]:
    base, _, rest = text.partition("/")
    bits, _, digits = rest.partition(":")
    port = parse_authority(f"x:{digits}", 0)[1] if digits else 0
    return ip_network(f"{base.strip('[]')}/{bits}"), port


def _names(entries: Iterable[Entry], host: str, port: int) -> bool:
    return any(entry.names(host, port) for entry in entries)


def _holds(entries: Iterable[Entry], address: IpAddress, port: int) -> bool:
    version, number = address.version, int(address)
    return any(entry.holds(version, number, port) for entry in entries)


def _has_network(entries: Iterable[Entry]) -> bool:
    """Then a name is looked up before it can be judged."""
    return any(entry.version for entry in entries)


def _port_refusal(host: str, port: int) -> str:
    return f"Port {port} of {host} is not a port of web pages." if port in _NOT_WEB else ""
