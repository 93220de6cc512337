"""What a run tells the host, and what the host makes of it."""

import os
import socket
from collections.abc import AsyncIterator

import pytest

from ostiary.adapters.sandbox.ends import Ends
from ostiary.adapters.sandbox.running import NeverBegan, Outcome
from ostiary.adapters.sandbox.served import ServedTree

ENDED = b"X\0\7\1"


class Run:
    """The far side. The credentials of what it says are ours."""

    def __init__(self) -> None:
        status, self.says = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        status.setblocking(False)
        status.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        reader, self.output = os.pipe()
        self.tree = ServedTree(status, Ends(reader=reader, writer=None), pty=False)
        self.heard: list[Outcome] = []


@pytest.fixture
async def run() -> AsyncIterator[Run]:
    made = Run()
    yield made
    made.tree.close()
    made.says.close()
    os.close(made.output)


async def test_one_that_says_that_nothing_is_left_is_over(run: Run) -> None:
    run.says.send(b"R")
    assert await run.tree.begun()
    run.says.send(ENDED)
    run.tree._hear()
    run.tree.follow(run.heard.append)
    assert run.heard == [(7, None)]


async def test_what_it_said_last_is_heard_though_it_did_not_hear_us(run: Run) -> None:
    run.says.send(b"R")
    run.says.send(ENDED)
    run.tree.terminate()
    run.says.close()
    assert await run.tree.begun()
    run.tree._hear()
    run.tree.follow(run.heard.append)
    assert run.heard == [(7, None)]


async def test_one_that_ends_without_a_word_has_not_begun(run: Run) -> None:
    run.says.close()
    assert not await run.tree.begun()


async def test_trouble_is_told_before_the_end_that_follows_it(run: Run) -> None:
    run.says.send(b"R")
    run.says.send(b"E chdir: not there")
    run.says.send(ENDED)
    assert await run.tree.begun()
    for _ in range(2):
        run.tree._hear()
    run.tree.follow(run.heard.append)
    assert [(type(how), str(how)) for how in run.heard] == [(NeverBegan, "chdir: not there")]


async def test_closing_one_that_has_not_begun_keeps_it_from_beginning(run: Run) -> None:
    run.tree._end_now()
    with pytest.raises(BrokenPipeError):
        run.says.send(b"R", socket.MSG_NOSIGNAL)
