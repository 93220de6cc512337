"""The recording sandbox keeps the port's promises without running anything."""

import anyio
import pytest

from ostiary.contracts.errors import SandboxUnavailable, ToolError
from ostiary.contracts.sandbox import Command, Exit, Sandbox, SandboxProfile
from ostiary.kit.sandbox import RecordingSandbox

TRUE = Command(argv=("true",))
PROFILE = SandboxProfile(mounts=(), workdir="/tmp")


async def test_it_writes_down_what_it_was_asked_and_answers_as_told() -> None:
    recorder = RecordingSandbox(lambda command, _: Exit(code=3, output=" ".join(command.argv).encode()))
    sandbox: Sandbox = recorder
    heard: list[bytes] = []
    done = await sandbox.run(TRUE, PROFILE, on_output=heard.append)
    assert (done.code, done.output, heard) == (3, b"true", [b"true"])
    assert recorder.runs == [(TRUE, PROFILE)]


async def test_it_refuses_like_a_machine_without_a_fence() -> None:
    recorder = RecordingSandbox(unavailable="no fence here")
    with pytest.raises(SandboxUnavailable, match="no fence"):
        await recorder.run(TRUE, PROFILE)
    with pytest.raises(SandboxUnavailable):
        await recorder.probe()
    with pytest.raises(SandboxUnavailable):
        async with recorder.start(TRUE, PROFILE):
            pass
    assert recorder.runs == []


async def test_a_process_is_in_the_tests_hand() -> None:
    recorder = RecordingSandbox()
    async with recorder.start(TRUE, PROFILE) as process:
        (held,) = recorder.processes
        held.say(b"hello")
        await process.write(b"input")
        assert process.output(2) == (b"llo", 5)
        held.finish(Exit(code=0))
        with anyio.fail_after(5):
            assert (await process.wait()).code == 0
        with pytest.raises(ToolError):
            await process.write(b"more")
    assert held.written == b"input"


async def test_a_process_ends_with_its_context() -> None:
    recorder = RecordingSandbox()
    async with recorder.start(TRUE, PROFILE) as process:
        pass
    assert recorder.processes[0].is_over
    assert (await process.wait()).signal == 15
