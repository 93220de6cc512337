"""The commands under way: each in a task of the house, in the live directory of its session, until it has ended and its files
are kept."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio
from anyio import CancelScope, Event
from anyio.abc import TaskGroup

from ostiary.adapters.tools.shell.output import whole_characters
from ostiary.contracts.clock import Clock, Ids
from ostiary.contracts.content import Label
from ostiary.contracts.errors import OstiaryError, SandboxUnavailable, StoreError, ToolError
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.sandbox import Command, Exit, Process, Sandbox, SandboxProfile
from ostiary.contracts.workspace import Access, Capture, LiveWorkspace, Use, WorkspaceLease

log = logging.getLogger("ostiary.processes")

PER_SESSION = 8
IN_ALL = 64
KEEP_SECONDS = 1800.0
_END_SECONDS = 10.0
_KEPT_SECONDS = 20.0
SETTLED_SECONDS = 30.0
MIND_SECONDS = 0.5
_STEP = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to run. `label` is that of the context which wanted it, `author` and `turn` whose its changes are; `profile` is made
    once the directory is known."""

    session: SessionKey
    author: str
    turn: str
    text: str
    command: Command
    sandbox: Sandbox
    access: Access
    profile: Callable[[WorkspaceLease], SandboxProfile]
    label: Label
    has_network: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class Run:
    """A command and what became of it. `offset` is how far its output was shown. `done` means that nothing of it runs any
    more. Of one that somebody waits for the lease is then held until they have captured its changes. One in the background
    has kept its changes by itself: `capture` tells which, or `failure` why not."""

    id: str
    order: Order
    began: float
    is_background: bool = False
    lease: WorkspaceLease | None = None
    process: Process | None = None
    exit: Exit | None = None
    failure: Exception | None = None
    capture: Capture | None = None
    label: Label | None = None
    offset: int = 0
    is_claimed: bool = False
    started: Event = field(default_factory=Event)
    over: Event = field(default_factory=Event)
    done: Event = field(default_factory=Event)
    released: Event = field(default_factory=Event)
    seen: Event = field(default_factory=Event)
    gone: Event = field(default_factory=Event)
    scope: CancelScope = field(default_factory=CancelScope)

    @property
    def is_in_directory(self) -> bool:
        return self.lease is not None and not self.released.is_set()

    @property
    def may_change_files(self) -> bool:
        """Documents, that is: what it does to scratch is nobody's to wait for."""
        return self.is_in_directory and self.order.access == "rw"

    @property
    def session(self) -> SessionKey:
        return self.order.session

    def news(self) -> bytes:
        """What it has printed since this was last asked."""
        if self.process is None:
            return b""
        data, self.offset = news_of(self.process, self.offset, is_over=self.done.is_set())
        return data


def news_of(process: Process, offset: int, *, is_over: bool = False) -> tuple[bytes, int]:
    """What was printed beyond `offset`, up to the last whole character unless it is over, and how far that is. What is kept no
    more is told by its size."""
    data, reached = process.output(offset)
    lost = reached - offset - len(data)
    whole = len(data) if is_over else whole_characters(data)
    told = f"[… {lost:,} bytes left out …]\n".encode() if lost > 0 else b""
    return told + data[:whole], reached - (len(data) - whole)


def _nobody(run: Run) -> None:
    """Nobody wants to know."""


async def _never(session: SessionKey) -> bool:
    """No turn is known to be open."""
    return False


class Processes:
    """Every command of the house runs here, also those that somebody waits for: so one place can end them all.

    At most `per_session` and `in_all` at once, those included that have ended and were not yet looked at; these are
    forgotten after `keep_seconds`. What a command in the background changes is kept when it ends, when the session's turn
    ends (`is_busy` tells whether one is open), and before a file tool of the session looks; what others write meanwhile is
    brought to it. `on_exit` is told when a command in the background ends."""

    def __init__(
        self,
        workspace: LiveWorkspace,
        *,
        clock: Clock,
        ids: Ids,
        per_session: int = PER_SESSION,
        in_all: int = IN_ALL,
        keep_seconds: float = KEEP_SECONDS,
        on_exit: Callable[[Run], None] = _nobody,
        is_busy: Callable[[SessionKey], Awaitable[bool]] = _never,
        mind_seconds: float = MIND_SECONDS,
        settled_seconds: float = SETTLED_SECONDS,
    ) -> None:
        self._workspace = workspace
        self._clock = clock
        self._ids = ids
        self._per_session = per_session
        self._in_all = in_all
        self._keep_seconds = keep_seconds
        self._is_busy = is_busy
        self._mind_seconds = mind_seconds
        self._settled_seconds = settled_seconds
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

    def is_at_work(self, session: SessionKey) -> bool:
        """Whether a command of the session may change its files at this moment."""
        return any(run.may_change_files and not run.done.is_set() for run in self.of(session))

    @property
    def has_way_out(self) -> bool:
        """Whether a command is under way that reaches the network: what is written to the files now is brought to it."""
        return any(run.order.has_network and not run.done.is_set() for run in self._runs.values())

    async def capture(self, run: Run, *, author: str, turn: str, label: Label) -> Capture:
        """The changes of a run that is done, once; the run is forgotten. Those of one in the background are committed
        already. Raises ToolError."""
        if run.is_claimed or run.lease is None:
            raise ToolError(f"The files of {run.id} were fetched already.")
        run.is_claimed = True
        try:
            if run.is_background:
                return _committed(run)
            return await self._workspace.capture(run.lease, author=author, turn=turn, at=self._clock.now(), label=label)
        except OSError as error:
            raise ToolError(f"The changed files cannot be read: {error.strerror}.") from error
        finally:
            self._runs.pop(run.id, None)
            run.released.set()
            run.seen.set()

    async def settled(self, session: SessionKey) -> None:
        """When it returns, the documents hold what the session's commands have done so far. A command that somebody waits for
        is waited for, within bounds; one in the background is kept as far as it has come. Raises ToolError, StoreError."""
        with anyio.move_on_after(self._settled_seconds):
            while run := next((run for run in self.of(session) if run.may_change_files and not run.is_background), None):
                with anyio.move_on_after(_STEP):
                    await run.released.wait()
        if run is not None:
            raise ToolError("A command of this conversation is still at work on the files; try again when it has ended.")
        for run in self.of(session):
            if run.may_change_files and run.lease is not None:
                await self._workspace.keep(run.lease, at=self._clock.now())
                # All of them are in one directory.
                return
        await self._workspace.settle(session, at=self._clock.now())

    def label_of(self, run: Run) -> Label:
        """Of what it prints: its own and that of everything that lies in its directory."""
        if run.lease is None:
            return run.order.label
        if run.is_in_directory:
            run.label = self._workspace.label_of(run.lease)
        return run.order.label.join(run.label or run.lease.label)

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
            for event in (run.started, run.over, run.done, run.released, run.seen, run.gone):
                event.set()

    async def _live(self, run: Run) -> None:
        order = run.order
        use = Use(author=order.author, turn=order.turn, at=run.began, label=order.label)
        try:
            # Before anything is laid out: without a fence nothing happens at all.
            await order.sandbox.probe()
            async with self._workspace.lease(order.session, access=order.access, use=use) as lease:
                run.lease = lease
                try:
                    await self._execute(run, order.profile(lease))
                finally:
                    if run.is_background:
                        await self._keep_at_end(run)
                    run.done.set()
                if not run.is_background:
                    await self._until_released(run)
                run.released.set()
            if run.is_background:
                self._tell(run)
                await self._until_claimed(run)
        except (ToolError, StoreError) as error:
            run.failure = error
        except SandboxUnavailable as error:
            run.failure = ToolError(f"No command was run: {error}", hint=error.hint)
        except OstiaryError as error:
            run.failure = ToolError(str(error), hint=error.hint)
        except OSError as error:
            log.warning("a command could not be run: %s", error)
            run.failure = ToolError(f"The command could not be run: {error.strerror}.")

    async def _execute(self, run: Run, profile: SandboxProfile) -> None:
        async with run.order.sandbox.start(run.order.command, profile) as process:
            run.process = process
            run.started.set()
            try:
                run.exit = await process.wait()
            finally:
                run.over.set()

    def go_on(self, run: Run) -> None:
        """Nobody waits for it any more; it goes on in the background."""
        run.is_background = True
        if self._group is not None:
            self._group.start_soon(self._mind, run)

    async def _mind(self, run: Run) -> None:
        """As long as it runs in the background: bring it what others write, and keep what it did when the turn is over."""
        was_busy = True
        while not run.over.is_set():
            with anyio.move_on_after(self._mind_seconds):
                await run.over.wait()
            is_waited_for = any(other.is_in_directory and not other.is_background for other in self.of(run.session))
            if run.lease is not None and not is_waited_for and not run.over.is_set():
                # Whoever is waited for keeps everything at its own end.
                with CancelScope(shield=True):
                    was_busy = await self._look_after(run, run.lease, was_busy)

    async def _look_after(self, run: Run, lease: WorkspaceLease, was_busy: bool) -> bool:
        try:
            with anyio.move_on_after(_KEPT_SECONDS):
                is_busy = await self._is_busy(run.session)
                if run.over.is_set():
                    # It keeps its files itself now.
                    return is_busy
                if was_busy and not is_busy:
                    await self._workspace.keep(lease, at=self._clock.now())
                else:
                    await self._workspace.follow(lease, at=self._clock.now())
                return is_busy
        except (OstiaryError, OSError) as error:
            log.warning("the files of %s wait: %s", run.id, error)
        return was_busy

    async def _keep_at_end(self, run: Run) -> None:
        """Also when it was ended by force; what cannot be kept now is found at the next use of the directory."""
        if run.lease is None:
            return
        with anyio.move_on_after(_KEPT_SECONDS, shield=True):
            try:
                run.label = self._workspace.label_of(run.lease)
                run.capture = await self._workspace.keep(run.lease, at=self._clock.now(), is_over=True)
            except (OstiaryError, OSError) as error:
                log.warning("the files of %s were not kept: %s", run.id, error)
                run.failure = error if isinstance(error, ToolError) else ToolError(f"The files were not kept: {error}")

    async def _until_released(self, run: Run) -> None:
        with anyio.move_on_after(self._keep_seconds):
            await run.released.wait()
        if run.is_claimed:
            await run.released.wait()

    async def _until_claimed(self, run: Run) -> None:
        """Kept for whoever wants to look, but not for ever."""
        with anyio.move_on_after(self._keep_seconds):
            await run.seen.wait()

    def _tell(self, run: Run) -> None:
        try:
            self.on_exit(run)
        except Exception:
            # Whoever wants to know must not keep the process from being looked at.
            log.exception("telling of the end of %s failed", run.id)


def _committed(run: Run) -> Capture:
    """What it has kept by itself, to be told. Raises ToolError if it could not."""
    if run.capture is None:
        raise run.failure or ToolError(f"The files of {run.id} were not kept.")
    return replace(run.capture, writes=())
