"""What every sandbox promises about the life of a command, whatever fence it has."""

import anyio
import pytest

from ostiary.contracts.errors import ToolError
from tests.conformance.sandbox.place import Place
from tests.kernel.fence import alive, more


async def test_it_proves_itself(place: Place) -> None:
    await place.sandbox.probe()
    assert place.sandbox.name in {"bubblewrap", "docker", "seatbelt", "host"}


async def test_code_output_and_errors_come_back(place: Place) -> None:
    done = await place.sandbox.run(place.command("echo out; echo err >&2; exit 7"), place.profile())
    assert (done.code, done.signal, done.timed_out, done.left_out) == (7, None, False, 0)
    assert sorted(done.output.split()) == [b"err", b"out"]
    assert 0 < done.seconds < 60


async def test_a_signal_is_told_from_a_code(place: Place) -> None:
    done = await place.sandbox.run(place.command("kill -USR1 $$"), place.profile())
    assert (done.code, done.signal) == (None, 10)


async def test_it_works_in_its_directory(place: Place) -> None:
    (place.folder / "given").write_text("given")
    done = await place.sandbox.run(place.command("cat given; mkdir made; echo x > made/file"), place.profile())
    assert done.output == b"given"
    assert (place.folder / "made" / "file").read_text() == "x\n"


async def test_it_reads_what_it_is_given_and_then_its_end(place: Place) -> None:
    given = b"line\n" * 50_000
    done = await place.sandbox.run(place.command("wc -c; echo end", stdin=given), place.profile())
    assert done.output.split() == [b"250000", b"end"]


async def test_without_input_there_is_none(place: Place) -> None:
    done = await place.sandbox.run(place.command("cat; echo end"), place.profile(seconds=10))
    assert done.output == b"end\n"


async def test_input_nobody_reads_does_no_harm(place: Place) -> None:
    done = await place.sandbox.run(place.command("exec true", stdin=b"x" * 500_000), place.profile())
    assert done.code == 0


async def test_the_environment_is_its_own(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTIARY_CANARY", "host")
    done = await place.sandbox.run(place.command("echo $GIVEN; env", env={"GIVEN": "a value"}), place.profile())
    assert done.output.startswith(b"a value\n")
    assert b"OSTIARY_CANARY" not in done.output


@pytest.mark.parametrize("name", ["LD_PRELOAD", "BASH_ENV", "PATH", "GIT_SSH_COMMAND", "PYTHONPATH", "NODE_OPTIONS", "a=b", ""])
async def test_variables_that_choose_code_are_refused(name: str, place: Place) -> None:
    with pytest.raises(ToolError):
        await place.sandbox.run(place.command("true", env={name: "x"}), place.profile())


async def test_progress_is_told_as_it_comes(place: Place) -> None:
    heard: list[bytes] = []
    done = await place.sandbox.run(place.command("echo one; echo two"), place.profile(), on_output=heard.append)
    assert b"".join(heard) == done.output == b"one\ntwo\n"


async def test_a_listener_that_breaks_does_no_harm(place: Place) -> None:
    def breaks(data: bytes) -> None:
        raise ValueError

    done = await place.sandbox.run(place.command("echo one; echo two"), place.profile(), on_output=breaks)
    assert done.output == b"one\ntwo\n"


async def test_output_is_capped_with_head_tail_and_count(place: Place) -> None:
    text = "echo first; yes | head -c 100000; echo last"
    done = await place.sandbox.run(place.command(text), place.profile(output_bytes=1000))
    assert done.output.startswith(b"first\n")
    assert done.output.endswith(b"last\n")
    assert done.left_out == 100_011 - 1000


async def test_time_is_limited_for_the_whole_tree(place: Place) -> None:
    text = "trap '' TERM; sh -c 'trap \"\" TERM; sleep 61' & setsid sh -c 'sleep 61' & echo begun; while :; do sleep 1; done"
    done = await place.sandbox.run(place.command(text), place.profile(seconds=0.6))
    assert done.timed_out
    assert (done.code, done.signal) == (None, 9)
    assert done.output == b"begun\n"


async def test_cancelling_ends_it(place: Place) -> None:
    begun = anyio.Event()
    marker = f"ostiary-{place.folder.name}-{place.sandbox.name}"
    async with anyio.create_task_group() as group:

        async def run() -> None:
            command = place.command(f"echo begun; sleep 61; : {marker}")
            await place.sandbox.run(command, place.profile(), on_output=lambda _: begun.set())

        group.start_soon(run)
        with anyio.fail_after(20):
            await begun.wait()
        group.cancel_scope.cancel()
    assert alive(marker) == []


async def test_a_started_one_can_be_talked_to_and_ended(place: Place) -> None:
    async with place.sandbox.start(place.command("while read word; do echo got $word; done"), place.profile()) as process:
        await process.write(b"one\n")
        first, offset = await more(process, 0)
        await process.write(b"two\n")
        second, _ = await more(process, offset)
        with anyio.fail_after(20):
            await process.end()
        done = await process.wait()
        with pytest.raises(ToolError):
            await process.write(b"three\n")
    assert (first, second) == (b"got one\n", b"got two\n")
    assert done.signal in (9, 15)


async def test_a_terminal_is_one(place: Place) -> None:
    done = await place.sandbox.run(place.command("test -t 0 && test -t 1 && echo terminal; stty size", pty=True), place.profile())
    assert done.output.split() == [b"terminal", b"24", b"80"]


async def test_what_does_not_exist_is_said(place: Place) -> None:
    done = await place.sandbox.run(place.command("exec nothing-of-this-name"), place.profile())
    assert done.code == 127


async def test_several_run_side_by_side(place: Place) -> None:
    said: list[bytes] = []

    async def run(number: int) -> None:
        said.append((await place.sandbox.run(place.command(f"echo {number}"), place.profile())).output)

    async with anyio.create_task_group() as group:
        for number in range(5):
            group.start_soon(run, number)
    assert sorted(said) == [f"{number}\n".encode() for number in range(5)]
