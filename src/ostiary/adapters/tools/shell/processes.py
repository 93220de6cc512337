"""The commands under way: each in a task of the house, on a lease of its own, until it has ended and its files were fetched."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio import CancelScope, Event
from anyio.abc import TaskGroup

from ostiary.contracts.clock import Clock, Ids
from ostiary.contracts.content import Label
from ostiary.contracts.errors import OstiaryError, SandboxUnavailable, StoreError, ToolError
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.sandbox import Command, Exit, Process, Sandbox, SandboxProfile
from ostiary.contracts.workspace import Access, Capture, Workspace, WorkspaceLease

log = logging.getLogger("ostiary.processes")

PER_SESSION = 8
IN_ALL = 64
KEEP_SECONDS = 1800.0
_END_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to run. `label` is that of the context which wanted it; `profile` is made once the directory is known."""

    session: SessionKey
    text: str
    command: Command
    sandbox: Sandbox
    access: Access
    profile: Callable[[WorkspaceLease], SandboxProfile]
    label: Label


@dataclass(slots=True, eq=False, kw_only=True)
class Run:
    """A command and what became of it. `offset` is how far its output was shown. `done` means that nothing of it runs any
    more; its lease is held until its changes were captured or it is dropped."""

    id: str
    order: Order
    began: float
    is_background: bool = False
    lease: WorkspaceLease | None = None
    process: Process | None = None
    exit: Exit | None = None
    failure: Exception | None = None
    offset: int = 0
    is_claimed: bool = False
    started: Event = field(default_factory=Event)
    done: Event = field(default_factory=Event)
    released: Event = field(default_factory=Event)
    gone: Event = field(default_factory=Event)
    scope: CancelScope = field(default_factory=CancelScope)

    @property
    def session(self) -> SessionKey:
        return self.order.session

    def news(self) -> bytes:
        """What it has printed since this was last asked."""
        if self.process is None:
            return b""
        data, self.offset = self.process.output(self.offset)
        return data


def _nobody(run: Run) -> None:
    """Nobody wants to know."""


class Processes:
    """Every command of the house runs here, also those that somebody waits for: so one place can end them all.

    At most `per_session` and `in_all` at once, those included that have ended and were not yet looked at; these are
    forgotten after `keep_seconds`, and their changes with them. `on_exit` is told when a command in the background ends."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        clock: Clock,
        ids: Ids,
        per_session: int = PER_SESSION,
        in_all: int = IN_ALL,
        keep_seconds: float = KEEP_SECONDS,
        on_exit: Callable[[Run], None] = _nobody,
    ) -> None:
        self._workspace = workspace
        self._clock = clock
        self._ids = ids
        self._per_session = per_session
        self._in_all = in_all
        self._keep_seconds = keep_seconds
        self.on_exit = on_exit
        self._runs: dict[str, Run] = {}
        self._group: TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Commands can be started in here; when it ends, all have ended."""
        async with anyio.create_task_group() as group:
            self._group = group
            try:
                yield
            finally:
                self._group = None
                group.cancel_scope.cancel()

    def start(self, order: Order) -> Run:
        """Raises ToolError when there are too many already or the house is closing."""
        if self._group is None:
            raise ToolError("The house is closing; no command can be started.")
        if len(self.of(order.session)) >= self._per_session:
            raise ToolError(
                f"This conversation has {self._per_session} processes already.", hint="Poll or kill one with the process tool."
            )
        if len(self._runs) >= self._in_all:
            raise ToolError(f"{self._in_all} processes are running in the house; try again later.")
        run = Run(id=self._ids.new("proc"), order=order, began=self._clock.now())
        self._runs[run.id] = run
        self._group.start_soon(self._keep, run)
        return run

    def of(self, session: SessionKey) -> tuple[Run, ...]:
        """The session's own, oldest first."""
        return tuple(run for run in self._runs.values() if run.session == session)

    def find(self, session: SessionKey, name: str) -> Run | None:
        run = self._runs.get(name)
        return run if run is not None and run.session == session else None

    async def capture(self, run: Run, *, author: str, turn: str, label: Label) -> Capture:
        """The changes of a run that is done, once; the run is forgotten. Raises ToolError."""
        if run.is_claimed or run.lease is None:
            raise ToolError(f"The files of {run.id} were fetched already.")
        run.is_claimed = True
        try:
            return await self._workspace.capture(run.lease, author=author, turn=turn, at=self._clock.now(), label=label)
        except OSError as error:
            raise ToolError(f"The changed files cannot be read: {error.strerror}.") from error
        finally:
            self._runs.pop(run.id, None)
            run.released.set()

    async def drop(self, run: Run) -> None:
        """End it, whatever it is at, and forget its changes. Finishes even if the caller is cancelled."""
        with CancelScope(shield=True):
            run.scope.cancel()
            with anyio.move_on_after(_END_SECONDS):
                await run.gone.wait()

    async def end_session(self, session: SessionKey) -> int:
        """End the session's commands; gives how many were still running."""
        return await self._end(self.of(session))

    async def end_all(self) -> int:
        """End every command of the house; gives how many were still running."""
        return await self._end(tuple(self._runs.values()))

    async def _end(self, runs: tuple[Run, ...]) -> int:
        running = sum(not run.done.is_set() for run in runs)
        for run in runs:
            run.scope.cancel()
        with anyio.move_on_after(_END_SECONDS):
            for run in runs:
                await run.gone.wait()
        return running

    async def _keep(self, run: Run) -> None:
        """The whole life of a run, in one task."""
        try:
            with run.scope:
                await self._live(run)
        finally:
            self._runs.pop(run.id, None)
            for event in (run.started, run.done, run.released, run.gone):
                event.set()

    async def _live(self, run: Run) -> None:
        order = run.order
        try:
            # Before anything is laid out: without a fence nothing happens at all.
            await order.sandbox.probe()
            async with self._workspace.lease(order.session, access=order.access) as lease:
                run.lease = lease
                async with order.sandbox.start(order.command, order.profile(lease)) as process:
                    run.process = process
                    run.started.set()
                    run.exit = await process.wait()
                self._tell(run)
                await self._until_released(run)
        except (ToolError, StoreError) as error:
            run.failure = error
        except SandboxUnavailable as error:
            run.failure = ToolError(f"No command was run: {error}", hint=error.hint)
        except OstiaryError as error:
            run.failure = ToolError(str(error), hint=error.hint)
        except OSError as error:
            log.warning("a command could not be run: %s", error)
            run.failure = ToolError(f"The command could not be run: {error.strerror}.")

    async def _until_released(self, run: Run) -> None:
        with anyio.move_on_after(self._keep_seconds):
            await run.released.wait()
        if run.is_claimed:
            await run.released.wait()

    def _tell(self, run: Run) -> None:
        run.done.set()
        if not run.is_background:
            return
        try:
            self.on_exit(run)
        except Exception:
            # Whoever wants to know must not keep the process from being looked at.
            log.exception("telling of the end of %s failed", run.id)
