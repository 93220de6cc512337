"""Where the gateway listens: this machine alone, the local network, or the tailnet."""

import ipaddress
import socket
import struct
import sys
from typing import Literal

from ostiary.contracts.errors import BadInput

Bind = Literal["loopback", "lan", "tailnet", "auto"]

LOOPBACK = "127.0.0.1"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - only when the owner asks for the local network
_TAILNET = ipaddress.ip_network("100.64.0.0/10")
_SIOCGIFADDR = 0x8915


def host_for(bind: Bind) -> str:
    """The address to listen on. Raises BadInput if the tailnet is asked for and there is none."""
    match bind:
        case "loopback":
            return LOOPBACK
        case "lan":
            return EVERYWHERE
        case "tailnet":
            found = tailnet_address()
            if found is None:
                raise BadInput("gateway.bind is tailnet, but this machine has no tailnet address", hint="Run: tailscale up")
            return found
        case "auto":
            return tailnet_address() or LOOPBACK


def tailnet_address() -> str | None:
    return next((address for address in own_addresses() if ipaddress.ip_address(address) in _TAILNET), None)


def own_addresses() -> tuple[str, ...]:
    """The IPv4 addresses of this machine's interfaces; loopback alone where they cannot be read."""
    if not sys.platform.startswith("linux"):
        return (LOOPBACK,)
    import fcntl

    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue
            found.append(socket.inet_ntoa(answer[20:24]))
    return tuple(found) or (LOOPBACK,)
