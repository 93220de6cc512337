import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from tests.conformance.tools.documents import MemoryDocuments
from tests.unit.adapters.tools.shell.support import MAIN, OWN, FakeProcess, open_house

from ostiary.adapters.tools.shell import ExecRules
from ostiary.adapters.tools.shell.exec import MAX_COMMAND
from ostiary.adapters.tools.shell.exec import SPEC as EXEC
from ostiary.adapters.tools.shell.process import SPEC as PROCESS
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import ToolError
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.contracts.sandbox import Mount, SandboxLimits
from ostiary.contracts.store import Put
from ostiary.contracts.tool import ToolSpec

SOON = ExecRules(access="rw", background_seconds=0.01)


async def writes(process: FakeProcess) -> int | None:
    (process.directory / "a.md").write_text("two\n")
    (process.directory / "new.md").write_text("new\n")
    process.print(b"hello\n")
    return 0


async def fails(process: FakeProcess) -> int | None:
    process.print(b"\x1b[31mno such thing\x1b[0m\r\n")
    return 3


async def prints_for_long(process: FakeProcess) -> int | None:
    process.print(b"begin " + b"x" * 50_000 + b" end")
    return 0


async def stays(process: FakeProcess) -> int | None:
    process.print(b"serving\n")
    await process.stopped.wait()
    return None


async def test_what_it_prints_and_changes_comes_back(tmp_path: Path) -> None:
    async with open_house(tmp_path, writes) as house:
        result = await house.exec.call({"command": "make it"}, house.context())
    assert result.text == "hello\n[exit 0, 0.2 s]\n[files changed a.md, added new.md]"
    assert (result.is_error, result.details["code"]) == (False, 0)
    assert [(write.path, write.expect_version) for write in result.writes if isinstance(write, Put)] == [
        ("a.md", 1),
        ("new.md", 0),
    ]
    changes = result.details["changes"]
    assert isinstance(changes, list)
    assert changes[0]["diff"].endswith("-one\n+two\n")


async def test_the_command_runs_in_the_shell_on_the_lease_without_any_environment(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.exec.call({"command": "ls -l", "timeout": 7, "pty": True}, house.context())
    (command, profile) = house.sandbox.runs[0]
    assert (command.argv, dict(command.env), command.pty) == (("/bin/sh", "-c", "ls -l"), {}, True)
    directory = str(tmp_path / "workspaces" / "agent-main" / "1" / "files")
    assert profile.mounts == (Mount(source=directory, target="/workspace", writable=True),)
    assert (profile.workdir, profile.network, profile.proxy_socket) == ("/workspace", "none", "")
    assert profile.limits == replace(SandboxLimits(), seconds=7.0)


async def test_with_read_access_the_documents_are_mounted_read_only(tmp_path: Path) -> None:
    async with open_house(tmp_path, rules=ExecRules(access="ro")) as house:
        await house.exec.call({"command": "ls"}, house.context())
    mounts = house.sandbox.runs[0][1].mounts
    assert [(mount.target, mount.writable) for mount in mounts] == [("/workspace", True), ("/agent", False)]


@pytest.mark.parametrize(("cwd", "folder"), [("src", "src"), ("/workspace/src", "src"), ("./src/", "src")])
async def test_another_folder_is_entered_by_the_shell(tmp_path: Path, cwd: str, folder: str) -> None:
    async with open_house(tmp_path) as house:
        await house.exec.call({"command": "ls $0", "cwd": cwd}, house.context())
    assert house.sandbox.runs[0][0].argv == (
        "/bin/sh",
        "-c",
        'exec </dev/null; cd -- "$0" && exec /bin/sh -c "$1"',
        f"/workspace/{folder}",
        "ls $0",
    )


async def test_a_failing_command_is_an_error_without_terminal_tricks(tmp_path: Path) -> None:
    async with open_house(tmp_path, fails) as house:
        result = await house.exec.call({"command": "x"}, house.context())
    assert (result.is_error, result.text) == (True, "no such thing\n[exit 3, 0.2 s]")


async def test_a_long_output_keeps_head_and_tail(tmp_path: Path) -> None:
    async with open_house(tmp_path, prints_for_long) as house:
        result = await house.exec.call({"command": "x"}, house.context())
    assert len(result.text.encode()) <= 8192
    assert (result.text[:6], " end\n[exit 0" in result.text, "bytes left out" in result.text) == ("begin ", True, True)


async def test_no_output_is_said(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        assert (await house.exec.call({"command": "true"}, house.context())).text == "[no output]\n[exit 0, 0.2 s]"


async def test_the_result_carries_the_label_of_context_and_files(tmp_path: Path) -> None:
    web = MemoryDocuments().put("_workspace", "page.html", "x", label=Label(trust=Trust.UNTRUSTED, sources=("web",)))
    async with open_house(tmp_path, documents=web) as house:
        result = await house.exec.call({"command": "cat page.html"}, house.context())
    assert result.label == Label(trust=Trust.UNTRUSTED, sources=("me", "web"), private=True)


async def test_a_clean_command_on_own_files_stays_trusted(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        result = await house.exec.call({"command": "ls"}, house.context())
    assert result.label == Label(trust=Trust.OWNER, sources=("me",), private=True)


async def test_a_command_with_a_network_gives_untrusted_text_and_files(tmp_path: Path) -> None:
    async with open_house(tmp_path, writes, rules=ExecRules(access="rw", way_out=lambda role: f"/run/{role}.sock")) as house:
        result = await house.exec.call({"command": "curl x", "network": True}, house.context())
    profile = house.sandbox.runs[0][1]
    assert (profile.network, profile.proxy_socket) == ("proxy", "/run/owner.sock")
    assert (result.label or OWN).trust is Trust.UNTRUSTED
    assert {write.label.trust for write in result.writes if isinstance(write, Put) and write.label} == {Trust.UNTRUSTED}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "command must be a string"),
        ({"command": ""}, "1 to"),
        ({"command": "  "}, "1 to"),
        ({"command": "a\x00b"}, "NUL"),
        ({"command": "x" * (MAX_COMMAND + 1)}, "1 to"),
        ({"command": "\ud800"}, "half a character"),
        ({"command": ["ls"]}, "string"),
        ({"command": "ls", "approved": True}, "approved is not an argument"),
        ({"command": "ls", "env": {"LD_PRELOAD": "x"}}, "env is not an argument"),
        ({"command": "ls", "cwd": "../x"}, "leaves"),
        ({"command": "ls", "cwd": "/etc"}, "relative"),
        ({"command": "ls", "cwd": "/workspace/../etc"}, "leaves"),
        ({"command": "ls", "timeout": 0}, "whole number"),
        ({"command": "ls", "timeout": 10**9}, "whole number"),
        ({"command": "ls", "timeout": True}, "whole number"),
        ({"command": "ls", "background": "yes"}, "true or false"),
        ({"command": "ls", "network": True}, "no network"),
    ],
)
async def test_wrong_arguments_run_nothing(tmp_path: Path, arguments: dict[str, object], reason: str) -> None:
    async with open_house(tmp_path) as house:
        with pytest.raises(ToolError, match=reason):
            await house.exec.call(arguments, house.context())
    assert house.sandbox.runs == []


async def test_without_a_fence_nothing_is_laid_out_and_the_reason_is_told(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        house.sandbox.missing = "bubblewrap is not installed."
        with pytest.raises(ToolError, match="No command was run: bubblewrap is not installed") as told:
            await house.exec.call({"command": "ls"}, house.context())
    assert (told.value.hint, (tmp_path / "workspaces").exists()) == ("apt install it", False)


async def test_a_command_that_takes_long_goes_on_in_the_background(tmp_path: Path) -> None:
    async with open_house(tmp_path, stays, rules=SOON) as house:
        result = await house.exec.call({"command": "serve"}, house.context())
        assert result.text == "serving\n[still running in the background: id proc_1]"
        assert [run.id for run in house.processes.of(MAIN)] == ["proc_1"]


async def test_a_command_asked_for_in_the_background_that_ends_at_once_is_told_at_once(tmp_path: Path) -> None:
    async with open_house(tmp_path, fails) as house:
        result = await house.exec.call({"command": "serve", "background": True}, house.context())
        assert (result.details["code"], house.processes.of(MAIN), house.ends) == (3, (), [])


async def test_who_watches_sees_what_it_prints(tmp_path: Path) -> None:
    async with open_house(tmp_path, stays, rules=ExecRules(access="rw", background_seconds=0.7)) as house:
        await house.exec.call({"command": "serve"}, house.context())
    assert house.reports == ["serving\n"]


async def test_a_turn_that_is_stopped_ends_its_command_and_keeps_nothing(tmp_path: Path) -> None:
    async with open_house(tmp_path, stays, rules=ExecRules(access="rw", background_seconds=0)) as house:
        async with anyio.create_task_group() as group:
            group.start_soon(house.exec.call, {"command": "serve"}, house.context())
            await anyio.wait_all_tasks_blocked()
            while not house.sandbox.processes:
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        assert (house.sandbox.ended, house.processes.of(MAIN)) == (1, ())


async def test_when_the_house_is_closed_no_command_starts(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        pass
    with pytest.raises(ToolError, match="closing"):
        await house.exec.call({"command": "ls"}, house.context())


def scripts() -> MemoryDocuments:
    documents = MemoryDocuments().put("_workspace", "run.py", "print(1)").put("_workspace", "lib/x.py", "y = 1")
    return documents.put("_workspace", "notes.md", "n").put("_workspace", "src/deep/z.txt", "z")


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        ("cat notes.md", "notes.md"),
        ("cat ./notes.md", "notes.md"),
        ("cat /workspace/notes.md", "notes.md"),
        ("wc -l <notes.md", "notes.md"),
        ("ls; cat 'notes.md'", "notes.md"),
        ("python3 run.py", "run.py"),
        ("python3 run.py", "lib/x.py"),
        ("python3 -m lib.x", "lib/x.py"),
        ("./run.py", "run.py"),
        ("make", "notes.md"),
        ("sh -c 'python3 run.py'", "run.py"),
        ("env A=B python3 run.py", "run.py"),
        ("ls src", "src/deep/z.txt"),
        ("cat *", "notes.md"),
        ("rspec", "lib/x.py"),
        ("ls && some-runner", "lib/x.py"),
        ("A=b ls", "lib/x.py"),
        ("git status", "lib/x.py"),
    ],
)
async def test_an_approval_ends_when_a_file_it_names_changes(tmp_path: Path, command: str, changed: str) -> None:
    async with open_house(tmp_path, documents=scripts()) as house:
        before = await house.exec.bind({"command": command}, house.context())
        assert before == await house.exec.bind({"command": command}, house.context())
        house.documents.put("_workspace", changed, "other")
        assert before != await house.exec.bind({"command": command}, house.context())


async def test_an_approval_holds_while_other_files_change(tmp_path: Path) -> None:
    async with open_house(tmp_path, documents=scripts()) as house:
        before = await house.exec.bind({"command": "cat notes.md"}, house.context())
        house.documents.put("_workspace", "run.py", "other")
        assert before == await house.exec.bind({"command": "cat notes.md"}, house.context())


@pytest.mark.parametrize("change", [{"cwd": "src"}, {"network": True}])
async def test_an_approval_is_bound_to_folder_and_fence(tmp_path: Path, change: dict[str, object]) -> None:
    async with open_house(tmp_path, documents=scripts(), rules=ExecRules(access="rw", way_out=lambda role: "/p")) as house:
        plain = await house.exec.bind({"command": "ls"}, house.context())
        assert plain != await house.exec.bind({"command": "ls", **change}, house.context())


async def test_every_session_has_its_own_agents_files_in_the_binding(tmp_path: Path) -> None:
    documents = scripts().put("_workspace", "agents/helper/notes.md", "theirs")
    async with open_house(tmp_path, documents=documents) as house:
        mine = await house.exec.bind({"command": "cat notes.md"}, house.context())
        theirs = await house.exec.bind({"command": "cat notes.md"}, house.context(SessionKey("helper", "main")))
    assert mine["file:notes.md"] != theirs["file:notes.md"]


@pytest.mark.parametrize("spec", [EXEC, PROCESS], ids=["exec", "process"])
def test_their_schemas_are_closed_and_terse(spec: ToolSpec) -> None:
    schema = spec.schema.parameters
    assert (schema["additionalProperties"], len(spec.schema.description) <= 100, len(json.dumps(schema)) <= 400) == (
        False,
        True,
        True,
    )


@pytest.mark.parametrize(
    "junk", [None, True, -1, 1.5, 10**30, "\x00", "../..", [], {}, {"a": 1}], ids=lambda junk: repr(junk)[:20]
)
async def test_junk_in_any_argument_is_a_result_or_a_tool_error(tmp_path: Path, junk: object) -> None:
    async with open_house(tmp_path) as house:
        for name in EXEC.schema.parameters["properties"]:  # type: ignore[attr-defined]
            with suppress(ToolError):
                assert (await house.exec.call({"command": "ls", name: junk}, house.context())).text


async def test_a_command_goes_out_by_the_rules_of_whoever_asked(tmp_path: Path) -> None:
    rules = ExecRules(access="rw", way_out=lambda role: {"owner": "/run/o", "guest": "/run/g"}.get(role, ""))
    async with open_house(tmp_path, rules=rules) as house:
        guest = replace(house.context(), principal=Principal(user=UserId(channel="x", stable_id="2"), role="guest"))
        stranger = replace(guest, principal=Principal(user=UserId(channel="x", stable_id="3"), role="stranger"))
        for context in (house.context(), guest):
            await house.exec.call({"command": "true", "network": True}, context)
        with pytest.raises(ToolError, match="no network"):
            await house.exec.call({"command": "true", "network": True}, stranger)
    assert [profile.proxy_socket for _, profile in house.sandbox.runs] == ["/run/o", "/run/g"]


@pytest.mark.parametrize(
    ("more", "line"),
    [({}, "exec </dev/null; cat"), ({"background": True}, "cat"), ({"pty": True}, "cat")],
)
async def test_only_what_was_started_to_be_talked_to_has_an_input(tmp_path: Path, more: dict[str, object], line: str) -> None:
    async with open_house(tmp_path) as house:
        await house.exec.call({"command": "cat", **more}, house.context())
    assert house.sandbox.runs[0][0].argv[-1] == line
