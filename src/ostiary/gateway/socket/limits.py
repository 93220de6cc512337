"""What one socket, and all of them together, may cost. Every number is finite."""

from ostiary.contracts.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketLimits:
    """Bytes and seconds. `sockets` counts all of them, `connecting` those that have not said who they are."""

    max_payload: int = 1024 * 1024
    max_buffered: int = 1024 * 1024
    max_response: int = 8 * 1024 * 1024
    connect_seconds: float = 10.0
    tick_seconds: float = 30.0
    sockets: int = 2000
    connecting: int = 100
    in_flight: int = 64
    bad_frames: int = 20
    subscriptions: int = 200
    delta_seconds: float = 0.05
    close_seconds: float = 2.0
