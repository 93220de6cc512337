"""When a run has ended, nothing of it is left: whatever it started, and however it ended."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import anyio
import pytest

from ostiary.contracts.errors import ToolError
from ostiary.contracts.sandbox import Command
from tests.kernel.fence import SMALL, Fence, alive, more

STAY = {
    "in the background": "sh -c 'sleep 60; : {marker}' &",
    "in a session of its own": "setsid sh -c 'sleep 60; : {marker}' &",
    "forked twice": "(setsid sh -c 'sh -c \"sleep 60; : {marker}\" &' &);",
    "deaf to signals": "sh -c 'trap \"\" TERM HUP INT; sleep 60; sleep 60; : {marker}' &",
    "stopped": "sh -c 'kill -STOP $$; : {marker}' &",
}
EACH = pytest.mark.parametrize("way", STAY.values(), ids=STAY.keys())


@EACH
async def test_what_a_command_leaves_behind_ends_with_it(way: str, fence: Fence) -> None:
    marker = uuid4().hex
    said = await fence.shell(f"{way.format(marker=marker)} sleep 0.05; grep -c {marker} /proc/[0-9]*/cmdline | grep -c ':1'")
    assert int(said) > 0
    assert alive(marker) == []


@EACH
async def test_a_time_limit_ends_the_whole_tree(way: str, fence: Fence) -> None:
    marker = uuid4().hex
    text = f"trap '' TERM; {way.format(marker=marker)} while :; do sleep 1; done; : {marker}"
    done = await fence.run("/bin/sh", "-c", text, limits=replace(SMALL, seconds=0.3))
    assert done.timed_out
    assert (done.code, done.signal) == (None, 9)
    assert alive(marker) == []


@EACH
async def test_cancelling_ends_the_whole_tree(way: str, fence: Fence) -> None:
    marker = uuid4().hex
    seen = anyio.Event()
    async with anyio.create_task_group() as group:

        async def run() -> None:
            text = f"{way.format(marker=marker)} echo begun; while :; do sleep 1; done; : {marker}"
            await fence.run("/bin/sh", "-c", text, on_output=lambda _: seen.set())

        group.start_soon(run)
        with anyio.fail_after(10):
            await seen.wait()
        assert alive(marker)
        group.cancel_scope.cancel()
    assert alive(marker) == []


async def test_cancelling_while_it_begins_leaves_nothing(fence: Fence) -> None:
    marker = uuid4().hex
    left = []
    for moment in range(24):
        with anyio.move_on_after(moment / 2000):
            await fence.run("/bin/sh", "-c", f"while :; do sleep 1; done; : {marker}")
        left += alive(marker)
    assert left == []


async def test_a_daemon_is_gone_when_the_end_of_its_parent_is_reported(fence: Fence) -> None:
    marker = uuid4().hex
    daemon = f"""
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.execv('/bin/sh', ['sh', '-c', 'sleep 60; sleep 60; : {marker}'])
os.wait()
os._exit(0)
"""
    left = []
    for _ in range(10):
        await fence.python(daemon)
        left += alive(marker)
    assert left == []


async def test_a_polite_command_may_tidy_up(fence: Fence) -> None:
    text = "trap 'echo tidied; exit 3' TERM; while :; do sleep 0.02; done"
    done = await fence.run("/bin/sh", "-c", text, limits=replace(SMALL, seconds=0.3))
    assert done.timed_out
    assert done.code == 3
    assert b"tidied" in done.output


async def test_a_command_cannot_end_or_stop_the_first_process(fence: Fence) -> None:
    attack = "trap '' TERM INT HUP USR1; for s in KILL STOP TERM INT HUP CHLD USR1; do kill -$s 1; done; echo on"
    assert (await fence.shell(attack)).endswith("on")


async def test_a_command_that_ends_everything_it_can_reach_ends_itself_alone(fence: Fence) -> None:
    await fence.run("/bin/sh", "-c", "kill -KILL -1")
    assert await fence.shell("echo ok") == "ok"


async def test_leaving_the_context_ends_the_process(fence: Fence) -> None:
    marker = uuid4().hex
    async with fence.sandbox.start(
        Command(argv=("/bin/sh", "-c", f"echo begun; sleep 60; : {marker}")), fence.profile
    ) as process:
        await more(process, 0)
        assert alive(marker)
    assert alive(marker) == []
    assert (await process.wait()).signal in (9, 15)


async def test_an_error_of_the_caller_ends_the_process_and_arrives_as_it_is(fence: Fence) -> None:
    marker = uuid4().hex
    with pytest.raises(ZeroDivisionError):
        async with fence.sandbox.start(Command(argv=("/bin/sh", "-c", f"sleep 60; : {marker}")), fence.profile):
            raise ZeroDivisionError
    assert alive(marker) == []


async def test_a_terminal_can_be_typed_into(fence: Fence) -> None:
    async with fence.sandbox.start(Command(argv=("/bin/sh",), pty=True), fence.profile) as process:
        await process.write(b"stty -echo; tty; echo $((6*7)); exit 5\n")
        done = await process.wait()
        with pytest.raises(ToolError):
            await process.write(b"more")
    assert done.code == 5
    assert b"42" in done.output
    assert b"/dev/" in done.output


async def test_a_terminal_has_its_size_from_the_start(fence: Fence) -> None:
    said = {(await fence.run("/bin/stty", "size", pty=True)).output for _ in range(20)}
    assert said == {b"24 80\r\n"}


async def test_output_is_read_from_where_it_was_left(fence: Fence) -> None:
    async with fence.sandbox.start(Command(argv=("/bin/cat",)), fence.profile) as process:
        await process.write(b"one\n")
        first, offset = await more(process, 0)
        await process.write(b"two\n")
        second, _ = await more(process, offset)
    assert (first, second) == (b"one\n", b"two\n")


async def test_nothing_of_one_run_is_seen_by_the_next(fence: Fence) -> None:
    leave = "touch /tmp/a /dev/shm/b; ipcmk -M 100 >/dev/null; sleep 60 & export LEFT=1; cd /tmp; umask 0; ulimit -n 10; echo $$"
    await fence.shell(leave)
    look = "ls -A /tmp /dev/shm | grep -v :; ipcs -m | grep -c 100; ls -d /proc/[0-9]* | wc -l; echo $LEFT; pwd; umask; ulimit -n"
    said = (await fence.shell(look)).split()
    assert said[0] == "0"
    assert int(said[1]) <= 6
    assert said[2:] == ["/workspace", "0022", "1024"]


async def test_two_runs_at_once_do_not_see_each_other(fence: Fence) -> None:
    first = Command(argv=("/bin/sh", "-c", "touch /tmp/first; echo begun; exec sleep 60"))
    async with fence.sandbox.start(first, fence.profile) as process:
        await more(process, 0)
        said = await fence.shell("ls /tmp; cat /proc/[0-9]*/comm")
    assert "first" not in said
    assert "sleep" not in said


GATEWAY = """
import sys
from pathlib import Path
import anyio
from ostiary.adapters.sandbox.bubblewrap import Bubblewrap
from ostiary.contracts.sandbox import Command, Mount, SandboxProfile
async def main(state, workspace, marker, served):
    profile = SandboxProfile(mounts=(Mount(source=workspace, target='/workspace', writable=True),), workdir='/workspace')
    text = f"trap '' TERM; setsid sh -c 'sleep 60; : {marker}' & echo begun; sleep 60; : {marker}"
    sandbox = Bubblewrap(state=Path(state), native=served == 'True')
    await sandbox.run(Command(argv=('/bin/sh', '-c', text)), profile, on_output=lambda data: print(data, flush=True))
anyio.run(main, *sys.argv[1:])
"""


@pytest.mark.parametrize("served", [True, False])
async def test_when_the_gateway_is_killed_nothing_stays(served: bool, tmp_path: Path) -> None:
    marker = uuid4().hex
    (tmp_path / "w").mkdir()
    command = [sys.executable, "-c", GATEWAY, str(tmp_path / "state"), str(tmp_path / "w"), marker, str(served)]
    async with await anyio.open_process(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}) as gateway:
        assert gateway.stdout is not None
        with anyio.fail_after(60):
            assert b"begun" in await gateway.stdout.receive()
        assert len(alive(marker)) > 1
        gateway.kill()
    with anyio.fail_after(20):
        while alive(marker):  # noqa: ASYNC110 - nobody is left to tell
            await anyio.sleep(0.02)
