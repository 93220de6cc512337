"""The life of a command whatever its fence is, on a tree that only says what it is told."""

import os
import signal
from collections.abc import AsyncIterator, Callable

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from ostiary.adapters.sandbox import running as module
from ostiary.adapters.sandbox.ends import Ends
from ostiary.adapters.sandbox.running import NeverBegan, Outcome, Running
from ostiary.adapters.sandbox.waits import awaiting
from ostiary.contracts.errors import SandboxUnavailable, ToolError
from ostiary.contracts.sandbox import SandboxLimits

LIMITS = SandboxLimits(seconds=20.0)


class Tree:
    """Ends when it is killed, unless it is deaf."""

    root = None

    def __init__(self, ends: Ends) -> None:
        self.ends = ends
        self.settle: Callable[[], bool] | None = None
        self.heard: list[str] = []
        self.is_deaf = False
        self.over: Callable[[Outcome], None] = lambda how: None

    def follow(self, over: Callable[[Outcome], None]) -> None:
        self.over = over

    def terminate(self) -> None:
        self.heard.append("terminate")

    def kill(self) -> None:
        self.heard.append("kill")
        if not self.is_deaf:
            self.over((None, signal.SIGKILL))

    def close(self) -> None:
        self.heard.append("close")
        self.ends.close()


class Pipes:
    """The command's own ends."""

    def __init__(self) -> None:
        reader, self.output = os.pipe()
        self.input, writer = os.pipe()
        self.tree = Tree(Ends(reader=reader, writer=writer))

    def start(self, *, stdin: bytes = b"", interactive: bool = True, limits: SandboxLimits = LIMITS) -> Running:
        return Running(self.tree, limits, stdin=stdin, interactive=interactive, on_output=None)


@pytest.fixture
async def pipes() -> AsyncIterator[Pipes]:
    made = Pipes()
    yield made
    os.close(made.output)
    os.close(made.input)


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GRACE", "_LAST", "_SETTLE_AFTER"):
        monkeypatch.setattr(module, name, 0.01)


async def test_what_was_said_just_before_the_end_is_kept(pipes: Pipes) -> None:
    process = pipes.start()
    os.write(pipes.output, b"last words")
    pipes.tree.over((0, None))
    assert (await process.wait()).output == b"last words"
    assert pipes.tree.heard == ["close"]


async def test_a_command_that_is_over_before_it_is_followed_is_over(pipes: Pipes) -> None:
    pipes.tree.follow = lambda over: over((3, None))  # type: ignore[method-assign]
    assert (await pipes.start().wait()).code == 3


async def test_being_cancelled_twice_ends_it_for_certain(pipes: Pipes) -> None:
    began = anyio.Event()

    async def run() -> None:
        async with Running(pipes.tree, LIMITS, stdin=b"", interactive=True, on_output=None) as process:
            began.set()
            await process.wait()

    with anyio.CancelScope() as outer:
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await began.wait()
            group.cancel_scope.cancel()
            outer.cancel()
    assert pipes.tree.heard == ["terminate", "kill", "close"]


async def test_one_that_does_not_end_when_it_is_killed_is_given_up_and_said(pipes: Pipes) -> None:
    pipes.tree.is_deaf = True
    process = pipes.start()
    with anyio.fail_after(5):
        await process.finish()
    with pytest.raises(SandboxUnavailable, match="did not end"):
        await process.wait()
    assert pipes.tree.heard == ["terminate", "kill", "close"]


@pytest.mark.parametrize("work", [lambda: False, lambda: 1 // 0])
async def test_what_cannot_be_bounded_is_ended(work: Callable[[], bool], pipes: Pipes) -> None:
    pipes.tree.settle = work
    process = pipes.start()
    with anyio.fail_after(5):
        done = await process.wait()
    assert (done.signal, done.output) == (signal.SIGKILL, b"\n[ended: its memory could not be bounded]\n")


async def test_one_that_never_began_says_why(pipes: Pipes) -> None:
    process = pipes.start()
    pipes.tree.over(NeverBegan("chdir: No such file or directory"))
    with pytest.raises(ToolError):
        await process.wait()


async def test_long_input_is_given_as_it_is_taken_and_then_its_end(pipes: Pipes) -> None:
    given = os.urandom(300_000)
    process = pipes.start(stdin=given, interactive=False)
    taken = b""
    with anyio.fail_after(5):
        while piece := await anyio.to_thread.run_sync(os.read, pipes.input, 65536):
            taken += piece
    assert taken == given
    pipes.tree.over((0, None))
    await process.finish()


async def test_writers_wait_for_each_other(pipes: Pipes) -> None:
    process = pipes.start(stdin=b"a" * 100_000)
    taken = b""
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for letter in (b"b", b"c"):
                group.start_soon(process.write, letter * 100_000)
                await anyio.lowlevel.checkpoint()
            while len(taken) < 300_000:
                taken += await anyio.to_thread.run_sync(os.read, pipes.input, 65536)
    assert taken == b"a" * 100_000 + b"b" * 100_000 + b"c" * 100_000
    await process.finish()


async def test_a_writer_is_told_when_the_command_ends_before_it_took_all(pipes: Pipes) -> None:
    process = pipes.start()
    told = []

    async def write() -> None:
        with pytest.raises(ToolError):
            await process.write(b"x" * 300_000)
        told.append(True)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(write)
            await anyio.lowlevel.checkpoint()
            pipes.tree.over((0, None))
    assert told == [True]


async def test_an_end_that_is_awaited_is_told_and_errors_of_the_caller_arrive_as_they_are(pipes: Pipes) -> None:
    ended = anyio.Event()

    async def gone() -> tuple[int | None, int | None]:
        await ended.wait()
        return (4, None)

    async def fail() -> None:
        async with awaiting() as until:
            pipes.tree.follow = lambda over: until(gone, over)  # type: ignore[method-assign]
            pipes.tree.terminate = ended.set  # type: ignore[method-assign]
            async with Running(pipes.tree, LIMITS, stdin=b"", interactive=True, on_output=None):
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert pipes.tree.heard == ["close"]
