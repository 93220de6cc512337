"""One client that has said who it is."""

from collections.abc import Callable

import anyio

from ostiary.gateway.protocol.connect import Client
from ostiary.gateway.socket.callers import Caller
from ostiary.gateway.socket.outgoing import Outgoing


class Connection:
    """`instance` names the client in the presence table. `in_flight` holds the requests at work by their id.

    `bad_frames` counts what could not be read; `wants_results`: events of tools carry results.
    """

    __slots__ = (
        "bad_frames",
        "caller",
        "client",
        "closing",
        "id",
        "in_flight",
        "instance",
        "outgoing",
        "reading",
        "sessions",
        "wants_results",
    )

    def __init__(self, id: str, caller: Caller, client: Client, make_outgoing: Callable[[Callable[[], None]], Outgoing]) -> None:
        self.id = id
        self.caller = caller
        self.client = client
        self.instance = client.instance_id or f"{client.id}#{id}"
        self.in_flight: dict[str, anyio.CancelScope] = {}
        self.sessions: set[str] = set()
        self.wants_results = False
        self.bad_frames = 0
        self.closing: tuple[int, str] | None = None
        self.reading = anyio.CancelScope()
        self.outgoing = make_outgoing(lambda: self.close(1013, "too slow"))

    def close(self, code: int, reason: str) -> None:
        """Ends the connection soon; the first reason counts."""
        if self.closing is None:
            self.closing = (code, reason)
            self.reading.cancel()

    def let_go(self) -> None:
        """Nobody waits for these any more. What has an effect finishes all the same."""
        for scope in list(self.in_flight.values()):
            scope.cancel()
