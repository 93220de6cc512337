"""Is an address this machine's own? Interfaces come and go, so it is asked anew each time; the answer costs microseconds."""

import socket

from ostiary.adapters.egress.addresses import IpAddress


def is_own(address: IpAddress) -> bool:
    """Only an address of one of its interfaces can be bound to. Nothing is sent."""
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True
