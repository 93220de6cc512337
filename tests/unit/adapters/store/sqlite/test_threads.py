import threading
from collections.abc import Callable, Sequence

import anyio
import pytest

from ostiary.adapters.store.sqlite.threads import Job, Threads
from ostiary.contracts.errors import Busy, StoreUnavailable


class Bench:
    """A hand whose work can be held up, and that counts the hands made and closed."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.begun = threading.Event()
        self.closed = threading.Event()
        self.batches: list[int] = []
        self.hands = 0

    def hire(self) -> "Bench":
        self.hands += 1
        return self

    def work(self, jobs: Sequence[Job]) -> None:
        self.begun.set()
        assert self.gate.wait(5)
        self.batches.append(len(jobs))
        for job in jobs:
            job.result = job.call(self)

    def close(self) -> None:
        self.closed.set()

    def threads(
        self, *, size: int = 1, batch: int = 100, idle: float = 30, room: int = 100, patience: float = 5, gathering: float = 0.001
    ) -> Threads:
        return Threads(
            self.hire,
            name="bench",
            size=size,
            batch=batch,
            idle=idle,
            room=room,
            room_bytes=1000,
            patience=patience,
            gathering=gathering,
        )


async def happened(event: threading.Event) -> None:
    assert await anyio.to_thread.run_sync(event.wait, 5)


def answer(number: int) -> Callable[[object], int]:
    return lambda _: number


async def test_no_thread_exists_before_there_is_work() -> None:
    bench = Bench()
    threads = bench.threads()
    assert threads.alive == 0
    assert await threads.run(answer(7)) == 7
    assert threads.alive == 1
    await threads.close()


async def test_jobs_that_wait_are_taken_together() -> None:
    bench = Bench()
    threads = bench.threads()
    bench.gate.clear()
    async with anyio.create_task_group() as group:
        group.start_soon(threads.run, answer(1))
        await happened(bench.begun)
        for number in range(5):
            group.start_soon(threads.run, answer(number))
        await anyio.wait_all_tasks_blocked()
        bench.gate.set()
    assert bench.batches == [1, 5]
    await threads.close()


async def gathered(bench: Bench, threads: Threads, number: int) -> None:
    """A batch of one, then one of `number`."""
    bench.gate.clear()
    async with anyio.create_task_group() as group:
        group.start_soon(threads.run, answer(1))
        await happened(bench.begun)
        for each in range(number):
            group.start_soon(threads.run, answer(each))
        await anyio.wait_all_tasks_blocked()
        bench.gate.set()


async def test_those_who_were_answered_together_are_waited_for_together() -> None:
    bench = Bench()
    threads = bench.threads(gathering=5)
    await gathered(bench, threads, 3)
    bench.begun.clear()
    async with anyio.create_task_group() as group:
        group.start_soon(threads.run, answer(1))
        group.start_soon(threads.run, answer(2))
        await anyio.wait_all_tasks_blocked()
        assert not bench.begun.is_set()
        group.start_soon(threads.run, answer(3))
    assert bench.batches == [1, 3, 3]
    await threads.close()


async def test_one_who_comes_back_alone_is_not_kept_waiting_for_the_others() -> None:
    bench = Bench()
    threads = bench.threads(gathering=0.001)
    await gathered(bench, threads, 3)
    assert await threads.run(answer(7)) == 7
    assert await threads.run(answer(8)) == 8
    assert bench.batches == [1, 3, 1, 1]
    await threads.close()


async def test_closing_does_not_wait_for_those_who_may_come_back() -> None:
    bench = Bench()
    threads = bench.threads(gathering=60)
    await gathered(bench, threads, 3)
    async with anyio.create_task_group() as group:
        group.start_soon(threads.run, answer(1))
        await anyio.wait_all_tasks_blocked()
        group.start_soon(threads.close)
    assert bench.batches == [1, 3, 1]


async def test_a_caller_is_told_busy_when_no_room_comes_in_time() -> None:
    bench = Bench()
    threads = bench.threads(room=1, patience=0.01)
    bench.gate.clear()
    async with anyio.create_task_group() as group:
        group.start_soon(threads.run, answer(1))
        await happened(bench.begun)
        with pytest.raises(Busy):
            await threads.run(answer(2))
        bench.gate.set()
    assert bench.batches == [1]
    await threads.close()


async def test_a_caller_that_waits_for_room_gets_in_when_there_is_some() -> None:
    bench = Bench()
    threads = bench.threads(room=1)
    bench.gate.clear()
    answers: list[int] = []

    async def ask(number: int) -> None:
        answers.append(await threads.run(answer(number)))

    async with anyio.create_task_group() as group:
        group.start_soon(ask, 1)
        await happened(bench.begun)
        group.start_soon(ask, 2)
        group.start_soon(ask, 3)
        await anyio.wait_all_tasks_blocked()
        bench.gate.set()
    assert sorted(answers) == [1, 2, 3]
    assert bench.batches == [1, 1, 1]
    await threads.close()


async def test_room_is_also_counted_in_bytes_but_one_heavy_job_always_fits() -> None:
    bench = Bench()
    threads = bench.threads(patience=0.01)
    bench.gate.clear()
    async with anyio.create_task_group() as group:
        group.start_soon(threads.run, answer(1), 5000)
        await happened(bench.begun)
        with pytest.raises(Busy):
            await threads.run(answer(2), 1)
        bench.gate.set()
    await threads.close()


async def test_an_idle_thread_ends_and_the_next_job_starts_another() -> None:
    bench = Bench()
    threads = bench.threads(idle=0.01)
    assert await threads.run(answer(1)) == 1
    await happened(bench.closed)
    assert threads.alive == 0
    assert await threads.run(answer(2)) == 2
    assert bench.hands == 2
    await threads.close()


async def test_a_hand_that_cannot_be_hired_fails_those_who_wait_and_is_tried_again() -> None:
    bench = Bench()
    troubles = [StoreUnavailable("gone")]

    def hire() -> Bench:
        for trouble in troubles:
            raise trouble
        return bench

    threads = Threads(hire, name="bench", size=1, batch=1, idle=30)
    with pytest.raises(StoreUnavailable, match="gone"):
        await threads.run(answer(1))
    troubles.clear()
    assert await threads.run(answer(1)) == 1
    await threads.close()


async def test_a_hand_that_breaks_is_replaced_and_its_jobs_are_told() -> None:
    bench = Bench()
    threads = bench.threads()

    def break_down(_: object) -> int:
        raise ValueError("a bug")

    with pytest.raises(StoreUnavailable, match="a bug"):
        await threads.run(break_down)
    assert bench.closed.is_set()
    assert await threads.run(answer(1)) == 1
    assert bench.hands == 2
    await threads.close()


async def test_closing_finishes_what_was_given_and_refuses_what_comes_after() -> None:
    bench = Bench()
    threads = bench.threads()
    bench.gate.clear()
    answers: list[int] = []

    async def ask(number: int) -> None:
        answers.append(await threads.run(answer(number)))

    async with anyio.create_task_group() as group:
        group.start_soon(ask, 1)
        await happened(bench.begun)
        group.start_soon(ask, 2)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(threads.close)
        await anyio.wait_all_tasks_blocked()
        bench.gate.set()
    assert answers == [1, 2]
    assert bench.closed.is_set()
    with pytest.raises(StoreUnavailable, match="closed"):
        await threads.run(answer(3))


async def test_a_caller_that_must_know_is_not_cancelled_before_it_does() -> None:
    bench = Bench()
    threads = bench.threads()
    bench.gate.clear()
    answers: list[int] = []

    async def ask(certain: bool) -> None:
        answers.append(await threads.run(answer(int(certain)), certain=certain))

    async with anyio.create_task_group() as group:
        group.start_soon(ask, True)
        group.start_soon(ask, False)
        await happened(bench.begun)
        group.cancel_scope.cancel()
        bench.gate.set()
    assert answers == [1]
    await threads.close()


async def test_several_threads_work_side_by_side_up_to_their_number() -> None:
    bench = Bench()
    threads = bench.threads(size=2, batch=1)
    bench.gate.clear()
    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(threads.run, answer(number))
        await anyio.wait_all_tasks_blocked()
        assert threads.alive == 2
        bench.gate.set()
    await threads.close()
    assert threads.alive == 0
