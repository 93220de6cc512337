"""Where a connection comes from and which address it means to have called. No header makes it more local than it is."""

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from ostiary.gateway.asgi import Scope, header
from ostiary.gateway.auth.rules import AccessRules
from ostiary.gateway.errors import ApiError

Ip = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
_TAILNETS: tuple[Network, ...] = (IPv4Network("100.64.0.0/10"), IPv6Network("fd7a:115c:a1e0::/48"))
_PROXY_MARKS = frozenset(
    {b"forwarded", b"via", b"x-real-ip", b"x-client-ip", b"x-cluster-client-ip", b"true-client-ip", b"client-ip", b"cdn-loop"}
)
_PROXY_FAMILIES = (b"x-forwarded", b"x-original-", b"x-envoy-", b"cf-", b"fastly-", b"fly-", b"tailscale-", b"x-amzn-")
_WEB_SCHEMES = {"ws": "http", "wss": "https"}
_FORWARDED_HOPS = 32
_LONGEST_ADDRESS = 64


def check_place(scope: Scope, rules: AccessRules) -> None:
    """A name that merely resolves to us (DNS rebinding) or a page of another origin is not for us. Raises ApiError."""
    host = header(scope, b"host")
    if not is_our_host(host, scope, rules):
        raise ApiError(403, "The Host header must name this gateway, for example 127.0.0.1.", code="bad_host")
    origin = header(scope, b"origin")
    if origin and origin != own_origin(scope, rules):
        raise ApiError(403, "Pages of another origin may not call this gateway.", code="bad_origin")


def is_our_host(host: str, scope: Scope, rules: AccessRules) -> bool:
    """Loopback, the very address that was connected to, or a name the owner configured."""
    name = host_name(host)
    if name is None:
        return False
    if name in _LOOPBACK_HOSTS or name.strip("[]") in rules.hosts:
        return True
    address = _ip(name)
    return address is not None and address == _server(scope)


def is_loopback_host(host: str) -> bool:
    """Of a Host header: a loopback name or address, with or without a port."""
    return host_name(host) in _LOOPBACK_HOSTS


def host_name(host: str) -> str | None:
    """In lower case and without the port; None if it is no Host header at all."""
    name, colon, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    if colon and not (port.isascii() and port.isdigit()):
        return None
    name = (name if colon else host).lower()
    return name if name and name.isascii() and (":" not in name or name.startswith("[")) else None


def own_origin(scope: Scope, rules: AccessRules) -> str:
    """As a browser writes it of our own pages."""
    scheme = _WEB_SCHEMES.get(scope["scheme"], scope["scheme"])
    if _is_trusted(peer(scope), rules):
        told = header(scope, b"x-forwarded-proto").lower()
        scheme = told if told in ("http", "https") else scheme
    return f"{scheme}://{header(scope, b'host')}"


def is_secure(scope: Scope, rules: AccessRules) -> bool:
    """Whether the browser speaks TLS, to us or to a proxy we trust."""
    return own_origin(scope, rules).startswith("https:")


def is_local(scope: Scope) -> bool:
    """Really from this machine, through no proxy that says so. No proof of who it is: others' programs run here, too."""
    near = peer(scope)
    if near is None or any(_marks_a_proxy(name) for name, _ in scope["headers"]):
        return False
    try:
        host = header(scope, b"host")
    except ApiError:
        return False
    if near.is_loopback:
        return is_loopback_host(host)
    own = _server(scope)
    return (
        near == own and _ip(host_name(host) or "") == own and any(near in net for net in _TAILNETS if net.version == near.version)
    )


def client_address(scope: Scope, rules: AccessRules) -> str:
    """Whom failures are counted against. IPv6 counts by network: whoever has one address of it has them all."""
    near = peer(scope)
    if _is_trusted(near, rules):
        near = _behind_proxies(scope, rules) or near
    if near is None:
        return ""
    return str(IPv6Network((near, 64), strict=False)) if near.version == 6 and not near.is_loopback else str(near)


def peer(scope: Scope) -> Ip | None:
    """The other end of the connection itself; None if it has no address."""
    client = scope.get("client")
    return _ip(client[0]) if client else None


def _server(scope: Scope) -> Ip | None:
    server = scope.get("server")
    return _ip(server[0]) if server else None


def _behind_proxies(scope: Scope, rules: AccessRules) -> Ip | None:
    """The nearest address that is no proxy of ours. What stands left of it is anybody's invention."""
    said = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for").decode("latin-1")
    for hop in reversed(said.split(",")[-_FORWARDED_HOPS:]):
        address = _ip(hop.strip())
        if address is None:
            return None
        if not _is_trusted(address, rules):
            return address
    return None


def _marks_a_proxy(name: bytes) -> bool:
    name = name.lower().replace(b"_", b"-")
    return name in _PROXY_MARKS or name.startswith(_PROXY_FAMILIES)


def _is_trusted(address: Ip | None, rules: AccessRules) -> bool:
    if address is None or not rules.trusted_proxies:
        return False
    return any(address in network for network in _networks(rules.trusted_proxies) if network.version == address.version)


@lru_cache(maxsize=16)
def _networks(texts: tuple[str, ...]) -> tuple[Network, ...]:
    """What is not an address or a network is trusted by nobody."""
    found: list[Network] = []
    for text in texts:
        try:
            found.append(ip_network(text.strip(), strict=False))
        except ValueError:
            continue
    return tuple(found)


def _ip(text: str) -> Ip | None:
    """An IPv4 address in IPv6 clothes is the IPv4 address."""
    return _parsed(text) if len(text) <= _LONGEST_ADDRESS else None


@lru_cache(maxsize=256)
def _parsed(text: str) -> Ip | None:
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return (address.ipv4_mapped if isinstance(address, IPv6Address) else None) or address
