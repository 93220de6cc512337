import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from ostiary.gateway.protocol.frames import event_head
from ostiary.gateway.socket.line import LineGone
from ostiary.gateway.socket.outgoing import Outgoing


class SlowLine:
    """Takes a frame when told to."""

    def __init__(self) -> None:
        self.on_shutdown: Callable[[], None] | None = None
        self.sent: list[Any] = []
        self.takes_now = False
        self.is_gone = False
        self.may_take = anyio.Event()

    def try_write(self, frame: bytes) -> bool:
        if self.takes_now:
            self.sent.append(json.loads(frame))
        return self.takes_now

    async def write(self, frame: bytes) -> None:
        await self.may_take.wait()
        if self.is_gone:
            raise LineGone
        self.sent.append(json.loads(frame))

    async def close(self, code: int, reason: str) -> None: ...


class Writers:
    def __init__(self) -> None:
        self.begun: list[Callable[[], Awaitable[None]]] = []

    def __call__(self, write: Callable[[], Awaitable[None]]) -> None:
        self.begun.append(write)


def made(limit: int = 1000) -> tuple[Outgoing, SlowLine, Writers, list[str]]:
    line, writers, told = SlowLine(), Writers(), list[str]()
    outgoing = Outgoing(line, limit=limit, start=writers, overflow=lambda: told.append("too slow"))  # type: ignore[arg-type]
    return outgoing, line, writers, told


def chat(text: str) -> bytes:
    return event_head("chat", json.dumps({"text": text}).encode())


async def test_a_line_that_takes_frames_gets_them_without_a_writer() -> None:
    outgoing, line, writers, _ = made()
    line.takes_now = True
    outgoing.event(chat("a"))
    outgoing.event(chat("b"))
    assert [frame["seq"] for frame in line.sent] == [1, 2]
    assert (writers.begun, outgoing.size) == ([], 0)


async def test_what_waits_is_sent_in_order_by_one_writer() -> None:
    outgoing, line, writers, _ = made()
    outgoing.event(chat("a"))
    outgoing.frame(b'{"type":"res"}')
    line.takes_now = True
    outgoing.event(chat("b"))
    line.may_take.set()
    assert len(writers.begun) == 1
    await writers.begun[0]()
    assert [frame.get("seq", "res") for frame in line.sent] == [1, "res", 2]
    assert outgoing.size == 0


async def test_beyond_the_bound_deltas_are_skipped_and_leave_no_gap() -> None:
    outgoing, line, writers, told = made(limit=200)
    for number in range(50):
        outgoing.event(chat(f"delta {number}"), is_delta=True)
    assert outgoing.size <= 200 + len(chat("delta 49"))
    outgoing.event(chat("answered"))
    line.may_take.set()
    await writers.begun[0]()
    assert told == []
    assert outgoing.skipped > 40
    assert [frame["seq"] for frame in line.sent] == list(range(1, len(line.sent) + 1))
    assert line.sent[-1]["payload"]["text"] == "answered"


async def test_a_client_that_takes_not_even_answers_is_given_up_once() -> None:
    outgoing, _, _, told = made(limit=200)
    for number in range(100):
        outgoing.event(chat(f"answer {number}"))
    assert told == ["too slow"]
    assert outgoing.size == 0


async def test_one_large_answer_to_a_client_that_keeps_up_is_no_overflow() -> None:
    outgoing, line, writers, told = made(limit=200)
    outgoing.frame(b'{"payload":"%b"}' % (b"x" * 5000))
    line.may_take.set()
    await writers.begun[0]()
    assert (told, outgoing.size, len(line.sent)) == ([], 0, 1)


async def test_a_line_that_is_gone_keeps_nothing() -> None:
    outgoing, line, writers, _ = made()
    outgoing.event(chat("a"))
    line.is_gone = True
    line.may_take.set()
    await writers.begun[0]()
    outgoing.event(chat("b"))
    assert outgoing.size == 0


async def test_deltas_dropped_while_one_is_being_written_are_not_counted_twice() -> None:
    outgoing, line, writers, _ = made(limit=100)
    for number in range(10):
        outgoing.event(chat(f"delta {number}"), is_delta=True)
    async with anyio.create_task_group() as group:
        group.start_soon(writers.begun[0])
        await anyio.wait_all_tasks_blocked()
        outgoing.event(chat("answered"))
        line.may_take.set()
    assert outgoing.size == 0
