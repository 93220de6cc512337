"""Commands in the real fence on the documents of a real store, side by side with file tools."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from ostiary.adapters.sandbox.bubblewrap import Bubblewrap
from ostiary.adapters.sandbox.ownership import unprivileged_user
from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.adapters.tools.diffs import unified
from ostiary.adapters.tools.files import Files
from ostiary.adapters.tools.read import Read
from ostiary.adapters.tools.shell import Exec, ExecRules, Processes, ProcessTool
from ostiary.adapters.tools.write import Write
from ostiary.adapters.workspace import DocumentWorkspace
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.identity import OWNER, Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.contracts.tool import Tool, ToolContext, ToolResult
from ostiary.kit.clock import CountingIds, ManualClock

OWN = Label(trust=Trust.OWNER, sources=("me",))
CONTEXT = ToolContext(
    principal=Principal(user=UserId(channel="api", stable_id="me"), role=OWNER),
    session=SessionKey("main", "main"),
    turn="turn_1",
    call_key="k",
    label=OWN,
)


class House:
    def __init__(self, store: SqliteStore, tools: Mapping[str, Tool]) -> None:
        self.store = store
        self._tools = tools

    async def call(self, name: str, **arguments: object) -> ToolResult:
        """As a turn does it: the result is committed with what it wrote."""
        result = await self._tools[name].call(arguments, CONTEXT)
        await self.store.commit(result.writes)
        return result

    async def text(self, path: str) -> str | None:
        found = await self.store.documents.get("_workspace", path)
        return None if found is None else found[1].decode()


@asynccontextmanager
async def open_house(root: Path, sandbox: Bubblewrap, access: str = "rw") -> AsyncIterator[House]:
    uid = unprivileged_user()
    async with open_store(root / "store.db", bytes(range(32)), clock=ManualClock()) as store:
        workspace = DocumentWorkspace(
            store.documents,
            root / "workspaces",
            folder_of=lambda agent: "",
            diff=lambda before, after, path, limit: unified(before, after, path, limit=limit),
            commit=store.commit,
            owner=None if uid is None else (uid, uid),
        )
        processes = Processes(workspace, clock=ManualClock(), ids=CountingIds(), mind_seconds=0.02)
        files = Files(store.documents, lambda agent: "", settled=processes.settled)
        rules = ExecRules(access=access, seconds=20.0, background_seconds=0)  # type: ignore[arg-type]
        tools: dict[str, Tool] = {
            "exec": Exec(files=files, processes=processes, sandbox=lambda session: sandbox, rules=lambda session: rules),
            "process": ProcessTool(processes=processes, rules=lambda session: rules, clock=ManualClock()),
            "read": Read(files),
            "write": Write(files, ManualClock()),
        }
        with anyio.fail_after(60):
            async with processes.running():
                yield House(store, tools)


async def test_a_script_is_written_run_changed_and_keeps_its_mode(tmp_path: Path, sandbox: Bubblewrap) -> None:
    async with open_house(tmp_path, sandbox) as house:
        await house.call("write", path="run.sh", content="#!/bin/sh\necho made > made.txt; echo ran\n")
        assert "ran" in (await house.call("exec", command="./run.sh")).text
        assert await house.text("made.txt") == "made\n"
        result = await house.call("exec", command="chmod -x run.sh; echo 'echo again' > other; chmod +x other; rm made.txt")
        assert "[files deleted made.txt, added other, changed run.sh]" in result.text
        modes = {version.path: version.executable for version in await house.store.documents.list("_workspace")}
        assert modes == {"other": True, "run.sh": False}
        assert "again" in (await house.call("exec", command="./other; ./run.sh 2>&1 | grep -c denied")).text


async def test_file_tools_and_a_background_command_share_the_newest_files(tmp_path: Path, sandbox: Bubblewrap) -> None:
    async with open_house(tmp_path, sandbox) as house:
        loop = "echo begun > log; until grep -q go signal 2>/dev/null; do sleep 0.02; done; echo done >> log"
        begun = await house.call("exec", command=loop, background=True)
        assert (await house.call("read", path="log")).text == "begun"
        await house.call("write", path="signal", content="go\n")
        beside = await house.call("exec", command="cat log signal")
        assert "go" in beside.text
        ended = await house.call("process", action="poll", id=begun.details["id"])
        assert ended.details.get("code") == 0
        assert await house.text("log") == "begun\ndone\n"
        changed = await house.store.documents.changed_by("turn_1")
        assert [version.path for version in changed] == ["log", "signal", "log"]


async def test_links_to_the_outside_are_not_taken(tmp_path: Path, sandbox: Bubblewrap) -> None:
    async with open_house(tmp_path, sandbox) as house:
        result = await house.call("exec", command="ln -s /etc/passwd link; mkfifo pipe; echo x > x; ln x y; echo z > z")
        assert {version.path for version in await house.store.documents.list("_workspace")} == {"z"}
        assert "link: it is a link" in result.text


async def test_with_read_access_documents_are_at_agent_and_cannot_be_changed(tmp_path: Path, sandbox: Bubblewrap) -> None:
    async with open_house(tmp_path, sandbox, access="ro") as house:
        await house.call("write", path="a.md", content="one\n")
        command = "cat /agent/a.md; echo two > /agent/a.md; echo x > /workspace/x; rm /agent/a.md"
        assert "one" in (await house.call("exec", command=command)).text
        assert await house.text("a.md") == "one\n"
        await house.call("write", path="a.md", content="three\n")
        assert "three" in (await house.call("exec", command="cat /agent/a.md /workspace/x")).text


@pytest.mark.parametrize("command", ["rm -rf /workspace/* /workspace/.[!.]*", "find /workspace -delete"])
async def test_emptying_the_workspace_deletes_nothing(tmp_path: Path, sandbox: Bubblewrap, command: str) -> None:
    async with open_house(tmp_path, sandbox) as house:
        for name in ("a.md", "b.md"):
            await house.call("write", path=name, content=name)
        result = await house.call("exec", command=command)
        assert "2 files: the directory is empty" in result.text
        assert "a.md" in (await house.call("exec", command="ls")).text
