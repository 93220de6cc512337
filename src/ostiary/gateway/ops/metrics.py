"""`/metrics`: the figures, gathered when somebody asks."""

import asyncio
from collections.abc import Callable, Mapping

from ostiary.contracts.records import dataclass
from ostiary.gateway.asgi import Receive, Scope, Send
from ostiary.gateway.auth import caller_of, require
from ostiary.gateway.ops import process
from ostiary.gateway.ops.exposition import CONTENT_TYPE, Counter, Gauge, Histogram, exposed
from ostiary.gateway.ops.process import LoopLag
from ostiary.gateway.ops.tally import Tally

_STATUS = {
    "running": ("ostiary_turns_running", "Turns at work now."),
    "queued": ("ostiary_queue_depth", "Messages that wait for their turn."),
    "waiting": ("ostiary_turns_waiting", "Turns that wait for somebody."),
    "sessions": ("ostiary_sessions_in_memory", "Sessions in memory."),
    "outbox": ("ostiary_outbox_pending", "Replies that are not sent yet."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """`status` is the engine's, `people` counts open sockets and clients seen lately, `connections` those to the store."""

    tally: Tally
    lag: LoopLag
    status: Callable[[], Mapping[str, object]]
    people: Callable[[], tuple[int, int]]
    connections: Callable[[], int]
    version: str
    started_at: float

    def families(self) -> list[Counter | Histogram | Gauge]:
        status, (sockets, presence) = self.status(), self.people()
        engine = [Gauge(*_STATUS[name], float(str(status[name]))) for name in _STATUS if name in status]
        return [
            Gauge("ostiary_build_info", "The version that runs.", 1, labels=(("version", self.version),)),
            *self.tally.families(),
            *engine,
            Gauge("ostiary_sockets", "Open sockets.", sockets),
            Gauge("ostiary_presence", "Clients that were heard of in the last minutes.", presence),
            Gauge("ostiary_store_connections", "Open connections to the store.", self.connections()),
            Gauge("ostiary_event_loop_lag_seconds", "The longest delay of the last minute.", self.lag.seconds),
            Gauge("ostiary_tasks", "Tasks of the event loop.", len(asyncio.all_tasks())),
            Gauge("process_resident_memory_bytes", "Memory in use.", process.resident_bytes()),
            Gauge("process_cpu_seconds_total", "CPU time used.", process.cpu_seconds(), kind="counter"),
            Gauge("process_open_fds", "Open files.", process.open_files()),
            Gauge("process_threads", "Threads.", process.threads()),
            Gauge("process_start_time_seconds", "When it was started, UTC.", self.started_at),
        ]

    async def page(self, scope: Scope, receive: Receive, send: Send) -> None:
        """For who may read. Raises ApiError 401, 403."""
        require(caller_of(scope), "read")
        content = exposed(self.families())
        headers = [
            (b"content-type", CONTENT_TYPE),
            (b"content-length", str(len(content)).encode()),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})
