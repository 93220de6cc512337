"""What kind of place an IP address is. Pure: the lists are those of the IANA registries and of the cloud providers.

The standard library's own idea of "global" differs between Python releases, so an address has to pass both.
"""

from functools import cache, lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network

# Where machines of a cloud ask for their own credentials. The one of Azure lies among public addresses.
_METADATA = (
    "169.254.169.254",
    "169.254.170.2",
    "168.63.129.16",
    "192.0.0.192",
    "100.100.100.200",
    "fd00:ec2::254",
    "fd20:ce::254",
)

# The first that holds an address names it, so the narrower ones come first.
_SPECIAL = (
    ("unspecified", ("0.0.0.0/8", "::/128")),
    ("loopback", ("127.0.0.0/8", "::1/128")),
    ("link-local", ("169.254.0.0/16", "fe80::/10")),
    ("private", ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10")),
    ("shared or tailnet", ("100.64.0.0/10",)),
    ("multicast", ("224.0.0.0/4", "ff00::/8")),
    (
        "reserved",
        (
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "240.0.0.0/4",
            "::/96",
            "64:ff9b:1::/48",
            "100::/64",
            "2001::/23",
            "2001:db8::/32",
            "2002::/16",
            "3fff::/20",
        ),
    ),
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_LOW_32 = 0xFFFF_FFFF


def read_address(text: str) -> IpAddress | None:
    """An address in its one usual spelling, with what is wrapped in IPv6 taken out; None for anything else."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.scope_id:
        return None
    return unwrapped(address)


def unwrapped(address: IpAddress) -> IpAddress:
    """The IPv4 address inside a mapped (::ffff:0:0/96) or translated (64:ff9b::/96) one: that is where packets go."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & _LOW_32)
    return address


@lru_cache(maxsize=4096)
def kind_of(address: IpAddress) -> str:
    """Empty for a public address, else one of metadata, loopback, private, link-local, multicast, reserved and their like."""
    address = unwrapped(address)
    if address in _metadata():
        return "metadata"
    for kind, network in _special(address.version):
        if address in network:
            return kind
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return "reserved"
    return "" if address.is_global and not address.is_multicast else "reserved"


@cache
def _metadata() -> frozenset[IpAddress]:
    return frozenset(ip_address(text) for text in _METADATA)


@cache
def _special(version: int) -> tuple[tuple[str, IpNetwork], ...]:
    listed = ((kind, ip_network(text)) for kind, texts in _SPECIAL for text in texts)
    return tuple((kind, network) for kind, network in listed if network.version == version)
