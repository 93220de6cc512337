from pathlib import Path

import anyio
import pytest
from tests.unit.adapters.tools.shell.support import MAIN, FakeProcess, House, open_house

from ostiary.adapters.tools.shell import ExecRules
from ostiary.adapters.tools.shell.processes import news_of
from ostiary.contracts.errors import ToolError
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.tool import Effect, ToolResult

OTHER = SessionKey("main", "other")
SOON = ExecRules(access="rw", background_seconds=0.01)


async def serves(process: FakeProcess) -> int | None:
    """Writes a file, and ends when it is told something."""
    process.print(b"ready\n")
    (process.directory / "log.txt").write_text("began\n")
    await process.told.wait()
    process.print(b"bye\n")
    return 0


async def background(house: House, session: SessionKey = MAIN) -> str:
    result = await house.exec.call({"command": "serve"}, house.context(session))
    return str(result.details["id"])


async def act(house: House, action: str, name: str = "", session: SessionKey = MAIN, **more: object) -> ToolResult:
    return await house.process.call({"action": action, "id": name, **more}, house.context(session))


def changes(result: ToolResult) -> list[dict[str, object]]:
    found = result.details["changes"]
    assert isinstance(found, list)
    return found


async def test_a_process_is_listed_polled_and_written_to(tmp_path: Path) -> None:
    async with open_house(tmp_path, serves, rules=SOON) as house:
        name = await background(house)
        assert (await act(house, "list")).text == "proc_1 running, begun 0 s ago: 'serve'"
        assert (await act(house, "poll", name)).text == "[still running in the background: id proc_1]"
        house.sandbox.processes[0].print(b"more\n")
        assert (await act(house, "poll", name)).text == "more\n[still running in the background: id proc_1]"
        ended = await act(house, "write", name, data="stop\n")
    assert house.sandbox.processes[0].given == [b"stop\n"]
    assert ended.text == "bye\n[exit 0, 0.2 s]\n[files added log.txt]"
    assert (ended.writes, house.documents.text("log.txt")) == ((), "began\n")


async def test_its_files_are_kept_and_its_end_is_told_before_anybody_looks(tmp_path: Path) -> None:
    async with open_house(tmp_path, serves, rules=SOON) as house:
        name = await background(house)
        house.sandbox.processes[0].told.set()
        await house.processes.of(MAIN)[0].done.wait()
        await anyio.wait_all_tasks_blocked()
        assert house.ends == ["proc_1"]
        assert (await act(house, "list")).text.startswith("proc_1 exit 0")
        assert house.documents.text("log.txt") == "began\n"
        assert [(change["path"], change["change"]) for change in changes(await act(house, "poll", name))] == [
            ("log.txt", "added")
        ]
        with pytest.raises(ToolError, match="no process 'proc_1'"):
            await act(house, "poll", name)


async def test_killing_keeps_what_it_had_written(tmp_path: Path) -> None:
    async with open_house(tmp_path, serves, rules=SOON) as house:
        result = await act(house, "kill", await background(house))
        assert (result.details["signal"], house.documents.text("log.txt"), house.processes.of(MAIN)) == (15, "began\n", ())


async def test_only_its_own_conversation_sees_a_process(tmp_path: Path) -> None:
    async with open_house(tmp_path, serves, rules=SOON) as house:
        name = await background(house)
        assert (await act(house, "list", session=OTHER)).text == "[no processes]"
        for action in ("poll", "write", "kill"):
            with pytest.raises(ToolError, match="no process"):
                await act(house, action, name, session=OTHER, data="x")
        assert house.sandbox.processes[0].given == []


async def test_a_process_of_an_earlier_house_is_explained(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        with pytest.raises(ToolError, match="when the house was restarted"):
            await act(house, "poll", "proc_7")


async def test_two_processes_and_a_command_do_not_wait_for_each_other(tmp_path: Path) -> None:
    async with open_house(tmp_path, serves, rules=SOON) as house:
        names = [await background(house), await background(house), await background(house)]
        assert names == ["proc_1", "proc_2", "proc_3"]
        assert len({run[1].mounts[0].source for run in house.sandbox.runs}) == 1


@pytest.mark.parametrize(("per_session", "in_all", "reason"), [(2, 9, "has 2 processes"), (9, 2, "2 processes are running in")])
async def test_there_are_only_so_many(tmp_path: Path, per_session: int, in_all: int, reason: str) -> None:
    async with open_house(tmp_path, serves, rules=SOON, per_session=per_session, in_all=in_all) as house:
        await background(house)
        await background(house)
        with pytest.raises(ToolError, match=reason):
            await background(house)


async def test_a_session_or_the_whole_house_can_be_stopped(tmp_path: Path) -> None:
    async with open_house(tmp_path, serves, rules=SOON) as house:
        await background(house)
        await background(house, OTHER)
        await background(house, OTHER)
        assert await house.processes.end_session(OTHER) == 2
        assert len(house.processes.of(MAIN)) == 1
        assert await house.processes.end_all() == 1
        assert (house.sandbox.ended, house.processes.of(MAIN)) == (3, ())
        assert await house.processes.end_all() == 0


async def test_the_end_of_the_house_is_the_end_of_its_processes(tmp_path: Path) -> None:
    async with open_house(tmp_path, serves, rules=SOON) as house:
        await background(house)
    assert (house.sandbox.ended, house.documents.text("log.txt")) == (1, "began\n")


async def test_a_listener_that_breaks_does_not_lose_the_process(tmp_path: Path) -> None:
    def breaks(run: object) -> None:
        raise RuntimeError("listener")

    async with open_house(tmp_path, serves, rules=SOON) as house:
        house.processes.on_exit = breaks
        name = await background(house)
        assert (await act(house, "kill", name)).details["signal"] == 15


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"action": "restart"}, "must be one of"),
        ({}, "string"),
        ({"action": "poll"}, "no process"),
        ({"action": "poll", "id": 3}, "string"),
        ({"action": "list", "all": True}, "all is not an argument"),
        ({"action": "write", "id": "proc_1"}, "data must be"),
        ({"action": "write", "id": "proc_1", "data": "x" * 70_000}, "data must be"),
    ],
)
async def test_wrong_arguments_are_refused(tmp_path: Path, arguments: dict[str, object], reason: str) -> None:
    async with open_house(tmp_path, serves, rules=SOON) as house:
        await background(house)
        with pytest.raises(ToolError, match=reason):
            await house.process.call(arguments, house.context())


def test_looking_and_ending_are_harmless_and_writing_is_not() -> None:
    from ostiary.adapters.tools.shell.process import SPEC

    assert [SPEC.effects_of({"action": action}) for action in ("list", "poll", "kill")] == [frozenset({Effect.READ})] * 3
    assert SPEC.effects_of({"action": "write"}) == frozenset({Effect.EXECUTE})


async def test_a_character_printed_in_two_halves_is_read_whole(tmp_path: Path) -> None:
    async with open_house(tmp_path, serves, rules=SOON) as house:
        name = await background(house)
        process = house.sandbox.processes[0]
        process.print(b"caf\xc3")
        assert (await act(house, "poll", name)).text.startswith("caf\n[still")
        process.print(b"\xa9\n")
        assert (await act(house, "poll", name)).text.startswith("é\n[still")
        process.print(b"half \xe2\x82")
        process.told.set()
        await house.processes.of(MAIN)[0].done.wait()
        ended = await act(house, "poll", name)
    assert ended.text.startswith("half \ufffdbye\n[exit 0")


async def test_output_that_was_not_kept_is_told_by_its_size() -> None:
    class Lossy(FakeProcess):
        def output(self, after: int = 0) -> tuple[bytes, int]:
            return b"the end", 1_000_000

    assert news_of(Lossy(Path()), 100) == ("[… 999,893 bytes left out …]\nthe end".encode(), 1_000_000)


async def test_writing_to_what_takes_no_input_says_what_does(tmp_path: Path) -> None:
    async with open_house(tmp_path, serves, rules=SOON) as house:
        name = await background(house)
        house.sandbox.processes[0].is_deaf = True
        with pytest.raises(ToolError, match="only what exec starts with background or pty does"):
            await act(house, "write", name, data="x")


async def test_the_answer_to_what_is_written_is_waited_for_whatever_was_printed_before(tmp_path: Path) -> None:
    async def answers(process: FakeProcess) -> int | None:
        process.print(b">>> ")
        await process.told.wait()
        for _ in range(50):
            await anyio.lowlevel.checkpoint()
        process.print(b"42\n>>> ")
        await anyio.sleep_forever()

    async with open_house(tmp_path, answers, rules=SOON) as house:
        name = await background(house)
        house.sandbox.processes[0].print(b"late ")
        assert (await act(house, "write", name, data="6*7\n")).text.startswith("late 42\n>>> ")


async def test_ending_a_process_is_no_error(tmp_path: Path) -> None:
    async with open_house(tmp_path, serves, rules=SOON) as house:
        ended = await act(house, "kill", await background(house))
    assert (ended.is_error, "[ended by signal 15" in ended.text) == (False, True)
