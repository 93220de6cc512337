"""File tools and commands of one conversation at the same time: nobody sees stale files, nobody loses any."""

from pathlib import Path

import anyio
import pytest
from tests.unit.adapters.tools.shell.support import MAIN, FakeProcess, House, open_house

from ostiary.adapters.tools.read import Read
from ostiary.adapters.tools.shell import ExecRules
from ostiary.adapters.tools.write import Write
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import ToolError
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.workspace import Access
from ostiary.kit.clock import ManualClock

SOON = ExecRules(access="rw", background_seconds=0.01)
NEVER = ExecRules(access="rw", background_seconds=0)


async def writes_then_waits(process: FakeProcess) -> int | None:
    (process.directory / "log.txt").write_text("first line\n")
    await process.told.wait()
    return 0


async def read(house: House, path: str) -> str:
    return (await Read(house.files).call({"path": path}, house.context())).text


async def test_a_file_tool_waits_for_the_command_and_for_its_result(tmp_path: Path) -> None:
    seen: list[str] = []
    async with open_house(tmp_path, writes_then_waits, rules=NEVER) as house, anyio.create_task_group() as group:

        async def run() -> None:
            result = await house.exec.call({"command": "x"}, house.context())
            seen.append("captured")
            house.documents.commit(result.writes)

        async def look() -> None:
            seen.append(await read(house, "log.txt"))

        group.start_soon(run)
        while not house.sandbox.processes:
            await anyio.wait_all_tasks_blocked()
        group.start_soon(look)
        await anyio.wait_all_tasks_blocked()
        assert seen == []
        house.sandbox.processes[0].told.set()
    assert seen == ["captured", "first line"]


async def test_a_command_that_takes_too_long_makes_file_tools_give_up(tmp_path: Path) -> None:
    async with (
        open_house(tmp_path, writes_then_waits, rules=NEVER, settled_seconds=0.05) as house,
        anyio.create_task_group() as group,
    ):
        group.start_soon(house.exec.call, {"command": "x"}, house.context())
        while not house.sandbox.processes:
            await anyio.wait_all_tasks_blocked()
        with pytest.raises(ToolError, match="still at work"):
            await read(house, "a.md")
        house.sandbox.processes[0].told.set()


async def test_other_conversations_do_not_wait(tmp_path: Path) -> None:
    async with open_house(tmp_path, writes_then_waits, rules=NEVER) as house, anyio.create_task_group() as group:
        group.start_soon(house.exec.call, {"command": "x"}, house.context())
        while not house.sandbox.processes:
            await anyio.wait_all_tasks_blocked()
        other = house.context(SessionKey("main", "other"))
        assert (await Read(house.files).call({"path": "a.md"}, other)).text == "one"
        house.sandbox.processes[0].told.set()


@pytest.mark.parametrize("access", ["none", "ro"])
async def test_nobody_waits_for_a_command_that_cannot_change_files(tmp_path: Path, access: Access) -> None:
    rules = ExecRules(access=access, background_seconds=0)
    async with open_house(tmp_path, writes_then_waits, rules=rules) as house, anyio.create_task_group() as group:
        group.start_soon(house.exec.call, {"command": "x"}, house.context())
        while not house.sandbox.processes:
            await anyio.wait_all_tasks_blocked()
        assert await read(house, "a.md") == "one"
        house.sandbox.processes[0].told.set()


async def test_a_file_tool_sees_what_a_background_process_has_written_so_far(tmp_path: Path) -> None:
    async with open_house(tmp_path, writes_then_waits, rules=SOON) as house:
        await house.exec.call({"command": "x"}, house.context())
        assert await read(house, "log.txt") == "first line"
        (house.sandbox.processes[0].directory / "log.txt").write_text("second line\n")
        assert await read(house, "log.txt") == "second line"
        (version,) = await house.documents.list("_workspace", pattern="log.txt")
        assert (version.version, version.author, version.turn) == (2, "api:me", "turn_1")


async def test_a_background_process_gets_what_a_file_tool_writes(tmp_path: Path) -> None:
    async with open_house(tmp_path, writes_then_waits, rules=SOON) as house:
        await house.exec.call({"command": "x"}, house.context())
        written = await Write(house.files, ManualClock()).call({"path": "a.md", "content": "two\n"}, house.context())
        house.documents.commit(written.writes)
        place = house.sandbox.processes[0].directory / "a.md"
        while place.read_text() != "two\n":  # noqa: ASYNC110 - a directory tells nobody
            await anyio.sleep(0.005)
        assert house.documents.text("a.md") == "two\n"


async def test_what_a_background_process_did_is_kept_when_the_turn_ends(tmp_path: Path) -> None:
    async with open_house(tmp_path, writes_then_waits, rules=SOON) as house:
        await house.exec.call({"command": "x"}, house.context())
        house.is_busy = False
        while house.documents.text("log.txt") is None:  # noqa: ASYNC110 - documents tell nobody
            await anyio.sleep(0.005)
        (house.sandbox.processes[0].directory / "log.txt").write_text("after the turn\n")
        house.sandbox.processes[0].told.set()
        await house.processes.of(MAIN)[0].done.wait()
    assert house.documents.text("log.txt") == "after the turn\n"


async def test_a_command_beside_a_background_process_works_on_the_same_files(tmp_path: Path) -> None:
    async with open_house(tmp_path, writes_then_waits, rules=SOON) as house:
        await house.exec.call({"command": "serve"}, house.context())

        async def looks(process: FakeProcess) -> int | None:
            process.print((process.directory / "log.txt").read_bytes())
            (process.directory / "made.txt").write_text("made\n")
            return 0

        house.sandbox.deed = looks
        result = await house.exec.call({"command": "look"}, house.context())
        house.documents.commit(result.writes)
        assert "first line" in result.text
        assert [write.path for write in result.writes] == ["made.txt"]  # type: ignore[union-attr]
        assert house.documents.text("log.txt") == "first line\n"


async def test_output_is_labelled_with_what_was_brought_to_the_process_later(tmp_path: Path) -> None:
    web = Label(trust=Trust.UNTRUSTED, sources=("web",))
    async with open_house(tmp_path, writes_then_waits, rules=SOON) as house:
        first = await house.exec.call({"command": "x"}, house.context())
        house.documents.put("_workspace", "page.html", "from the web", label=web)
        place = house.sandbox.processes[0].directory / "page.html"
        while not place.exists():  # noqa: ASYNC110 - a directory tells nobody
            await anyio.sleep(0.005)
        second = await house.process.call({"action": "poll", "id": first.details["id"]}, house.context())
    assert first.label == Label(trust=Trust.OWNER, sources=("me",), private=True)
    assert second.label == Label(trust=Trust.UNTRUSTED, sources=("me", "web"), private=True)


async def test_an_interrupted_command_is_told_of_by_the_next(tmp_path: Path) -> None:
    async with open_house(tmp_path, writes_then_waits, rules=NEVER) as house:
        with anyio.move_on_after(0.1):
            await house.exec.call({"command": "x"}, house.context())

        async def nothing(process: FakeProcess) -> int | None:
            return 0

        house.sandbox.deed = nothing
        result = await house.exec.call({"command": "y"}, house.context())
        kept = [version.path for version in await house.documents.list("_workspace", pattern="log.conflict-*")]
    assert len(kept) == 1
    assert f"[from an earlier command, kept aside: log.txt as {kept[0]} (its command was interrupted)]" in result.text
