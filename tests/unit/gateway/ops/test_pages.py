"""Readiness tells strangers which part is missing and nothing else; figures are for who may read."""

from typing import Any

import anyio
import pytest

from ostiary.contracts.errors import StoreUnavailable
from ostiary.gateway.auth import Caller, owner
from ostiary.gateway.auth.callers import of_device
from ostiary.gateway.errors import ApiError
from ostiary.gateway.ops.metrics import Metrics
from ostiary.gateway.ops.process import LoopLag, cpu_seconds, open_files, resident_bytes, threads
from ostiary.gateway.ops.readiness import Readiness
from ostiary.gateway.ops.tally import Tally


class Answer:
    def __init__(self) -> None:
        self.status = 0
        self.body = b""
        self.headers: dict[bytes, bytes] = {}

    async def send(self, event: Any) -> None:
        self.status = event.get("status", self.status)
        self.headers |= dict(event.get("headers", ()))
        self.body += event.get("body", b"")


async def nothing() -> Any:
    return {"type": "http.request"}


class Values:
    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.asked = 0

    async def value(self, space: str, key: str) -> bytes | None:
        self.asked += 1
        if self.fails:
            raise StoreUnavailable("the disk at /srv/house is full")
        return None


class Time:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


def readiness(store: Values, time: Time | None = None, *, has_engine: bool = True) -> Readiness:
    return Readiness(store=store, has_engine=lambda: has_engine, monotonic=(time or Time()).monotonic)


async def test_ready_once_it_serves() -> None:
    ready, before, after = readiness(Values()), Answer(), Answer()
    await ready.page({}, nothing, before.send)
    ready.started()
    await ready.page({}, nothing, after.send)
    assert (before.status, before.body) == (503, b'{"status":"not ready","missing":["serving"]}')
    assert (after.status, after.body) == (200, b'{"status":"ready"}')


async def test_not_ready_while_it_stops() -> None:
    ready = readiness(Values())
    ready.started()
    ready.stopping()
    assert await ready.missing() == ["serving"]


async def test_a_broken_store_or_engine_is_named_without_its_details() -> None:
    ready, answer = readiness(Values(fails=True), has_engine=False), Answer()
    ready.started()
    await ready.page({}, nothing, answer.send)
    assert (answer.status, answer.body) == (503, b'{"status":"not ready","missing":["engine","store"]}')


async def test_strangers_that_ask_often_do_not_wear_the_store_out() -> None:
    store, time = Values(), Time()
    ready = readiness(store, time)
    for _ in range(20):
        await ready.missing()
    time.now += 1.0
    store.fails = True
    assert "store" in await ready.missing()
    assert store.asked == 2


def metrics(**more: Any) -> Metrics:
    given = {"status": lambda: {"running": 2, "queued": 3, "waiting": 0, "sessions": 5, "outbox": 1}, **more}
    return Metrics(
        tally=Tally(),
        lag=LoopLag(monotonic=Time().monotonic, sleep=anyio.sleep),
        people=lambda: (4, 6),
        connections=lambda: 7,
        version="9.9",
        started_at=1.5,
        **given,
    )


async def test_the_figures_of_the_moment_are_on_the_page() -> None:
    answer = Answer()
    await metrics().page({"ostiary.caller": owner("token")}, nothing, answer.send)
    lines = answer.body.decode().splitlines()
    assert answer.headers[b"content-type"] == b"text/plain; version=0.0.4; charset=utf-8"
    for line in (
        'ostiary_build_info{version="9.9"} 1',
        "ostiary_turns_running 2",
        "ostiary_queue_depth 3",
        "ostiary_turns_waiting 0",
        "ostiary_outbox_pending 1",
        "ostiary_sockets 4",
        "ostiary_presence 6",
        "ostiary_store_connections 7",
        "process_start_time_seconds 1.5",
    ):
        assert line in lines


async def test_every_family_is_named_once() -> None:
    answer = Answer()
    await metrics().page({"ostiary.caller": owner("browser", device="b1")}, nothing, answer.send)
    names = [line.split()[2] for line in answer.body.decode().splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("caller", "status"), [(None, 401), (of_device("d1", ["chat"]), 403), (of_device("d1", ["approve"]), 403)]
)
async def test_who_may_not_read_gets_no_figures(caller: Caller | None, status: int) -> None:
    answer = Answer()
    with pytest.raises(ApiError) as refused:
        await metrics().page({"ostiary.caller": caller}, nothing, answer.send)
    assert (refused.value.status, answer.body) == (status, b"")


def test_the_process_knows_its_own_size() -> None:
    assert resident_bytes() > 1_000_000
    assert open_files() >= 3
    assert cpu_seconds() > 0
    assert threads() >= 1


async def test_lag_is_the_longest_delay_of_the_last_minute() -> None:
    time = Time()
    delays = iter([0.0, 0.3, 0.1])
    done = anyio.Event()

    async def late(seconds: float) -> None:
        delay = next(delays, None)
        if delay is None:
            done.set()
            await anyio.sleep_forever()
        time.now += seconds + (delay or 0.0)

    lag = LoopLag(monotonic=time.monotonic, sleep=late)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(lag.measure)
            await done.wait()
            group.cancel_scope.cancel()
    assert round(lag.seconds, 6) == 0.3
