"""A sandbox whose commands are functions on the lease's directory, and a house of tools around it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from tests.conformance.tools.documents import MemoryDocuments
from tests.conformance.tools.tools import folder_of

from ostiary.adapters.tools.diffs import unified
from ostiary.adapters.tools.files import Files
from ostiary.adapters.tools.shell import Exec, ExecRules, Processes, ProcessTool
from ostiary.adapters.workspace import DocumentWorkspace
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import SandboxUnavailable, ToolError
from ostiary.contracts.identity import OWNER, Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.contracts.sandbox import Command, Exit, SandboxProfile
from ostiary.contracts.store import Write
from ostiary.contracts.tool import ToolContext
from ostiary.kit.clock import CountingIds, ManualClock

MAIN = SessionKey("main", "main")
OWN = Label(trust=Trust.OWNER, sources=("me",))


@dataclass(slots=True, eq=False)
class FakeProcess:
    """Prints what it is told to; ends when its deed is done or `end` is called. One that is deaf takes no input."""

    directory: Path
    printed: bytearray = field(default_factory=bytearray)
    given: list[bytes] = field(default_factory=list)
    told: anyio.Event = field(default_factory=anyio.Event)
    stopped: anyio.Event = field(default_factory=anyio.Event)
    over: anyio.Event = field(default_factory=anyio.Event)
    exit: Exit | None = None
    is_deaf: bool = False

    def print(self, data: bytes) -> None:
        self.printed += data

    def output(self, after: int = 0) -> tuple[bytes, int]:
        return bytes(self.printed[after:]), len(self.printed)

    async def write(self, data: bytes) -> None:
        if self.over.is_set() or self.is_deaf:
            raise ToolError("gone")
        self.given.append(data)
        self.told.set()

    async def end(self) -> None:
        self.stopped.set()
        await self.over.wait()

    async def wait(self) -> Exit:
        await self.over.wait()
        assert self.exit is not None
        return self.exit


Deed = Callable[[FakeProcess], Awaitable[int | None]]


async def nothing(process: FakeProcess) -> int | None:
    return 0


@dataclass(slots=True)
class FakeSandbox:
    """`deed` is what every command does; its number is the exit code, None means killed."""

    deed: Deed = nothing
    name: str = "fake"
    missing: str = ""
    runs: list[tuple[Command, SandboxProfile]] = field(default_factory=list)
    processes: list[FakeProcess] = field(default_factory=list)
    ended: int = 0

    async def probe(self) -> None:
        if self.missing:
            raise SandboxUnavailable(self.missing, hint="apt install it")

    @asynccontextmanager
    async def start(self, command: Command, profile: SandboxProfile) -> AsyncIterator[FakeProcess]:
        process = FakeProcess(Path(profile.mounts[0].source))
        self.runs.append((command, profile))
        self.processes.append(process)

        async def live() -> None:
            code: int | None = None
            async with anyio.create_task_group() as inner:

                async def stop() -> None:
                    await process.stopped.wait()
                    inner.cancel_scope.cancel()

                inner.start_soon(stop)
                code = await self.deed(process)
                inner.cancel_scope.cancel()
            signal = None if code is not None else 15
            process.exit = Exit(code=code, signal=signal, output=bytes(process.printed), seconds=0.25)
            process.over.set()

        async with anyio.create_task_group() as group:
            group.start_soon(live)
            try:
                yield process
            finally:
                self.ended += 1
                group.cancel_scope.cancel()


@dataclass(slots=True, eq=False)
class House:
    documents: MemoryDocuments
    sandbox: FakeSandbox
    processes: Processes
    exec: Exec
    process: ProcessTool
    files: Files
    is_busy: bool = True
    reports: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)

    def context(self, session: SessionKey = MAIN, label: Label = OWN) -> ToolContext:
        principal = Principal(user=UserId(channel="api", stable_id="me"), role=OWNER)
        return ToolContext(
            principal=principal, session=session, turn="turn_1", call_key="k", label=label, report=self.reports.append
        )


@asynccontextmanager
async def open_house(
    root: Path,
    deed: Deed = nothing,
    *,
    rules: ExecRules | None = None,
    documents: MemoryDocuments | None = None,
    per_session: int = 8,
    in_all: int = 64,
    settled_seconds: float = 5.0,
) -> AsyncIterator[House]:
    documents = documents if documents is not None else MemoryDocuments().put("_workspace", "a.md", "one\n", label=OWN)
    sandbox = FakeSandbox(deed)
    clock = ManualClock()
    given = rules or ExecRules(access="rw")

    async def commit(writes: Sequence[Write]) -> None:
        documents.commit(writes)

    async def is_busy(session: SessionKey) -> bool:
        return house.is_busy

    workspace = DocumentWorkspace(
        documents,
        root / "workspaces",
        folder_of=folder_of,
        diff=lambda before, after, path, limit: unified(before, after, path, limit=limit),
        commit=commit,
    )
    processes = Processes(
        workspace,
        clock=clock,
        ids=CountingIds(),
        per_session=per_session,
        in_all=in_all,
        is_busy=is_busy,
        mind_seconds=0.01,
        settled_seconds=settled_seconds,
    )
    files = Files(documents, folder_of, settled=processes.settled)
    house = House(
        documents=documents,
        sandbox=sandbox,
        processes=processes,
        exec=Exec(files=files, processes=processes, sandbox=lambda session: sandbox, rules=lambda session: given),
        process=ProcessTool(processes=processes, rules=lambda session: given, clock=clock, poll_seconds=0.05),
        files=files,
    )
    processes.on_exit = lambda run: house.ends.append(run.id)
    with anyio.fail_after(20):
        async with processes.running():
            yield house
