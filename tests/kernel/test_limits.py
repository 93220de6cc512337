"""Too much of anything ends the command, not the machine."""

from dataclasses import replace

import anyio
import anyio.lowlevel
import pytest

from tests.kernel.fence import SMALL, Fence, alive

MEGABYTE = 1024**2


async def test_a_fork_bomb_stops_at_its_limit(fence: Fence) -> None:
    bomb = """
count = 0
try:
    while True:
        if os.fork() == 0:
            import time; time.sleep(60); os._exit(0)
        count += 1
except OSError as error:
    print(count, type(error).__name__)
"""
    count, reason = (await fence.python(bomb)).split()
    assert reason == "BlockingIOError"
    assert 0 < int(count) <= SMALL.processes


async def test_after_a_fork_bomb_the_next_command_runs(fence: Fence) -> None:
    await fence.run("/bin/sh", "-c", "b() { b | b & }; b; sleep 60", limits=replace(SMALL, seconds=1.0))
    assert await fence.shell("echo ok") == "ok"


@pytest.mark.parametrize("letters", [10, 20_000, 100_000])
async def test_a_command_may_be_long(letters: int, fence: Fence) -> None:
    words = [f"{number}{'x' * letters}" for number in range(10)]
    done = await fence.run("/bin/echo", *words)
    assert done.output.decode().split() == words


async def test_memory_of_one_process_has_an_end(fence: Fence) -> None:
    hog = "held = []\nwhile True:\n    held.append(bytearray(16 * 1024 * 1024))"
    done = await fence.run("/usr/bin/python3", "-c", hog)
    assert done.signal == 9
    assert not done.timed_out


async def test_memory_of_many_processes_together_has_an_end(fence: Fence) -> None:
    hogs = """
import os, time
for _ in range(12):
    if os.fork() == 0:
        held = bytearray(b'x') * (48 * 1024 * 1024); time.sleep(15); os._exit(0)
ended = [os.wait()[1] for _ in range(12)]
print('all lived' if not any(ended) else 'stopped')
"""
    done = await fence.run("/usr/bin/python3", "-c", hogs)
    assert b"all lived" not in done.output


async def test_memory_that_belongs_to_no_process_has_an_end(fence: Fence) -> None:
    hoard = """
held = []
for _ in range(40):
    fd = os.memfd_create('x'); os.write(fd, bytes(12 * 1024 * 1024)); held.append(fd)
print('all kept')
"""
    assert "all kept" not in await fence.python(hoard)


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm", "/var/tmp"])
async def test_temporary_files_have_an_end(place: str, fence: Fence) -> None:
    fill = f"for i in 1 2 3 4; do head -c 4000000 /dev/zero > {place}/$i || echo full; done"
    assert "full" in await fence.shell(fill)


async def test_a_file_has_an_end(fence: Fence) -> None:
    await fence.shell("head -c 100000000 /dev/zero > big")
    assert (fence.workspace / "big").stat().st_size <= SMALL.file_bytes


async def test_writing_without_end_is_stopped(fence: Fence) -> None:
    limits = replace(SMALL, file_bytes=MEGABYTE)
    done = await fence.run("/bin/sh", "-c", "while :; do head -c 1000000 /dev/zero > big; sync big; done", limits=limits)
    assert not done.timed_out
    assert done.output.endswith(b"[ended: it wrote more than it may]\n")


async def test_descriptors_have_an_end(fence: Fence) -> None:
    assert "Too many open files" in await fence.python("held = [open('/dev/null') for _ in range(5000)]")


async def test_output_without_end_keeps_its_beginning_and_counts_the_rest(fence: Fence) -> None:
    limits = replace(SMALL, seconds=1.0, output_bytes=4096)
    done = await fence.run("/bin/sh", "-c", "echo first; exec yes", limits=limits)
    assert done.timed_out
    assert done.output.startswith(b"first\ny\n")
    assert len(done.output) < 5000
    assert done.left_out > 4096


async def test_one_endless_line_is_kept_within_bounds(fence: Fence) -> None:
    limits = replace(SMALL, output_bytes=4096)
    done = await fence.run("/bin/sh", "-c", "head -c 50000000 /dev/zero | tr '\\0' x; echo end", limits=limits)
    assert done.output.endswith(b"xend\n")
    assert done.left_out == 50_000_004 - 4096


async def test_others_go_on_while_output_floods(fence: Fence) -> None:
    turns = 0
    async with anyio.create_task_group() as group:

        async def flood() -> None:
            await fence.run("/usr/bin/yes", limits=replace(SMALL, seconds=1.0))
            group.cancel_scope.cancel()

        group.start_soon(flood)
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1
    assert turns > 100


async def test_nothing_of_all_this_is_left(fence: Fence) -> None:
    marker = f"ostiary-left-{fence.workspace.parent.name}"
    text = f"for i in 1 2 3; do sh -c 'sleep 60; : {marker}' & done; exec sleep 60"
    await fence.run("/bin/sh", "-c", text, limits=replace(SMALL, seconds=0.5))
    assert alive(marker) == []


async def test_when_memory_is_short_the_command_goes_first(fence: Fence) -> None:
    assert await fence.shell("cat /proc/self/oom_score_adj") == "1000"
