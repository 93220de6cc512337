"""The owner's control over the house: its state, its switches, its kill. Durable, and true this very moment.

What narrows (kill, disable) holds before it is written; what widens (wake, enable) only after. So a store that fails never
leaves more open than the owner asked for.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
from anyio.abc import TaskGroup

from ostiary.contracts.clock import Clock
from ostiary.contracts.control import HouseState, HouseView, Killable, Killed, Switch, Switches
from ostiary.contracts.errors import BadInput, Busy, StaleLease, StoreError
from ostiary.contracts.identity import Principal
from ostiary.contracts.messages import InboundMessage
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Audit
from ostiary.core.cancellation import Cancelled, is_wanted
from ostiary.core.control import state as machine
from ostiary.core.control.gatekeeper import Admission, Gatekeeper
from ostiary.core.control.kill import COUNTED, PART_SECONDS, Sweep, stop_parts
from ostiary.core.control.record import Commit, Record, Value, entry
from ostiary.core.control.state import Cause, Kept
from ostiary.core.control.switches import Switchboard, patterns_of
from ostiary.core.control.timekeeping import FIRST_RETRY, LONGEST_RETRY, Idleness, Timekeeper

log = logging.getLogger("ostiary.control")

HOUSE = "house"
RECORD = "record"
SAVE_SECONDS = 0.15
HOOK_SECONDS = 60.0
PASSES = 3

Hook = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRules:
    """`sleep_after` is in seconds, 0 never. `strict`: only /wake wakes it. `fresh_on_wake`: a channel's /wake begins a new
    conversation."""

    sleep_after: float = 0.0
    start_awake: bool = True
    strict: bool = False
    fresh_on_wake: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the house runs besides. `kill` is stopped by a kill, `sleep` also when it falls asleep.

    `on_wake` and `on_sleep` run in the background. `probe` tells what machine this is, once per waking."""

    kill: tuple[Killable, ...] = ()
    sleep: tuple[Killable, ...] = ()
    on_wake: tuple[Hook, ...] = ()
    on_sleep: tuple[Hook, ...] = ()
    probe: Callable[[], Awaitable[Mapping[str, object]]] | None = None


class Control:
    """Order of use: `load` once the engine holds its lease, `finish_kill` before turns begin, `start` with them, `close` when
    they are drained. Before `load` nobody is heard.

    `is_busy`: turns run. `has_questions`: something waits for a person's yes. `tools` are the names of the tools there are.
    """

    def __init__(
        self,
        *,
        commit: Commit,
        value: Value,
        clock: Clock,
        rules: Callable[[], ControlRules],
        parts: Callable[[], Parts] = Parts,
        is_busy: Callable[[], bool] = lambda: False,
        has_questions: Callable[[], bool] = lambda: False,
        tools: Callable[[], Collection[str]] = tuple,
        plugin_tools: Callable[[], frozenset[str]] = frozenset,
        bot_names: Callable[[], frozenset[str]] = frozenset,
    ) -> None:
        self._clock = clock
        self.rules = rules
        self._parts = parts
        self._is_busy = is_busy
        self._has_questions = has_questions
        self._board = Switchboard(clock, known=tools, plugin_tools=plugin_tools)
        self._gate = Gatekeeper(state=lambda: self.state, is_strict=lambda: rules().strict, bot_names=bot_names)
        self._idle = Idleness(clock, lambda: rules().sleep_after)
        self._time = Timekeeper(clock, due=self._due, act=self._act_on_time)
        unknown = Kept(state="shutdown", since=clock.now(), by=HOUSE, reason="not begun")
        self._record = Record(unknown, commit=commit, value=value, on_change=self._follow)
        self._unfinished: tuple[str, ...] = ()
        self._group: TaskGroup | None = None
        self._changed = anyio.Event()
        self.machine: Mapping[str, object] = {}

    @property
    def state(self) -> HouseState:
        """As it is now: a house that should have fallen asleep is asleep, whether or not that is written yet."""
        kept = self._record.kept
        if kept.state == "awake" and self._idle.is_over and not self._is_at_work():
            return "dormant"
        return kept.shown(has_questions=self._has_questions())

    @property
    def may_begin(self) -> bool:
        """Whether turns and jobs may begin. False from the moment of a kill."""
        return self._record.kept.state != "shutdown"

    @property
    def generation(self) -> int:
        """Another one whenever a switch was changed or has run out."""
        return self._board.generation

    def is_on(self, tool: str) -> bool:
        """Whether the owner switched it on. Nothing is on in a house that is not awake."""
        return self._record.kept.state == "awake" and self._board.is_on(tool)

    def switch_of(self, tool: str) -> Switch | None:
        """The switch that decides about a tool; None if none does."""
        return self._board.switch_of(tool)

    def admits(self, message: InboundMessage, principal: Principal, *, is_attended: bool, is_command: bool) -> Admission:
        """See Gatekeeper.admits. On `Wake` call `wake`, on `Drop` do nothing at all."""
        return self._gate.admits(message, principal, is_attended=is_attended, is_command=is_command)

    def touch(self) -> None:
        """A person was heard: the house stays awake from here on."""
        self._idle.touch()

    def view(self) -> HouseView:
        state, left, kept = self.state, self._idle.left(), self._record.kept
        is_awake = state in ("awake", "action_pending")
        return HouseView(
            state=state,
            since=kept.since,
            by=kept.by,
            reason=kept.reason,
            sleeps_at=self._clock.now() + left if is_awake and left is not None else 0.0,
            switches=self._board.switches if is_awake else Switches(generation=self._board.generation),
            unfinished=self._unfinished,
        )

    async def changed(self) -> None:
        """Until another state or another set of switches comes into force."""
        await self._changed.wait()

    async def load(self) -> None:
        """Take up what the last process left. Raises StoreError, Busy."""
        now = self._clock.now()
        async with self._record.lock:
            found = await self._record.load(now)
            kept = machine.begin(found, starts_awake=self.rules().start_awake, at=now)
            audits = []
            if found is None or found.state != kept.state:
                act = "wake" if kept.state == "awake" else "sleep"
                audits = [entry(act, at=now, by=HOUSE, detail={"reason": kept.reason})]
            await self._record.write(audits, kept=kept)
            self._idle.touch()
            self._record.put(kept)

    async def finish_kill(self) -> Killed | None:
        """For a start in a house that was shut down: stop what the store still calls under way. None if it was not."""
        if self.may_begin:
            return None
        began = self._clock.monotonic()
        async with self._hands() as group:
            sweep = await self._sweep("the house is shut down", group)
        return sweep.told(self._clock.monotonic() - began)

    def start(self, group: TaskGroup) -> None:
        """Keep its time in `group`: inactivity, switches that run out, what a kill could not stop at once."""
        self._group = group
        group.start_soon(self._time.run)
        if self._record.kept.state == "awake":
            self._tell_woken()

    async def close(self) -> None:
        """Leave the mark of a stop in good order; without it the next start counts as one after a crash.
        Raises StoreError, Busy."""
        async with self._record.lock:
            await self._record.write(kept=replace(self._record.kept, is_clean=True))

    async def wake(self, by: Principal, reason: str) -> HouseView:
        """Every tool is switched off. Raises Busy while something that a kill was to stop has not stopped, StoreError."""
        who = str(by.user)
        async with self._record.lock:
            old, is_asleep = self._record.kept, self.state in ("dormant", "shutdown")
            if is_asleep:
                if old.state == "shutdown":
                    await self._must_be_still()
                now, audits, base = self._clock.now(), [], old
                if old.state == "awake":
                    base = machine.sleep(old, Cause(at=now, by=HOUSE, reason="inactive"))
                    audits.append(entry("sleep", at=now, by=HOUSE, detail={"reason": "inactive"}))
                audits.append(entry("wake", at=now, by=who, detail={"reason": reason}))
                await self._record.widen(old, machine.wake(base, Cause(at=now, by=who, reason=reason)), audits)
            self._idle.touch()
        if is_asleep:
            self._tell_woken()
        return self.view()

    async def sleep(self, by: Principal | None, reason: str) -> Killed:
        """Gives what had to be stopped for it; turns that were accepted are still answered. Raises StoreError, Busy."""
        began, now = self._clock.monotonic(), self._clock.now()
        who = str(by.user) if by is not None else HOUSE
        async with self._record.lock:
            old = self._record.kept
            kept = machine.sleep(old, Cause(at=now, by=who, reason=reason))
            if kept is old:
                return Killed()
            await self._record.widen(old, kept, [entry("sleep", at=now, by=who, detail={"reason": reason})])
        self.machine = {}
        async with self._hands() as group:
            sweep = await stop_parts(self._parts().sleep, reason, group=group)
        self._tell(self._parts().on_sleep)
        return sweep.told(self._clock.monotonic() - began)

    async def kill(self, by: Principal, reason: str) -> Killed:
        """Stop everything within a second. From its first moment nothing begins; it is written down first, unless the store
        takes too long: then both happen at once, and `unfinished` names the record. Raises nothing of ours."""
        who, began, now = str(by.user), self._clock.monotonic(), self._clock.now()
        told = Killed()
        with anyio.CancelScope(shield=True):
            self._record.put(machine.kill(self._record.kept, Cause(at=now, by=who, reason=reason)))
            self.machine = {}
            async with self._hands() as group:
                written = anyio.Event()
                group.start_soon(self._write_kill, entry("kill", at=now, by=who, outcome="begun"), written)
                with anyio.move_on_after(SAVE_SECONDS):
                    await written.wait()
                sweep = await self._sweep(reason, group)
                if not written.is_set():
                    self._unfinished = sweep.unfinished = (*sweep.unfinished, RECORD)
                told = sweep.told(self._clock.monotonic() - began)
                group.start_soon(self._report, told, who)
            self._tell(self._parts().on_sleep)
        return told

    async def enable(self, patterns: Sequence[str], by: Principal, *, seconds: float | None) -> Switches:
        """`seconds` None: until it sleeps. Raises BadInput if the house is not awake or a pattern fits no tool, StoreError,
        Busy."""
        wanted = patterns_of(patterns)
        async with self._record.lock:
            if self.state in ("dormant", "shutdown"):
                raise BadInput("nothing can be switched on while I am not awake", hint="Send /wake first.")
            old, now = self._record.kept, self._clock.now()
            switches = self._board.enabled(wanted, seconds)
            detail: dict[str, object] = {"until": "sleep" if seconds is None else int(now + seconds)}
            audits = [entry("enable", at=now, by=str(by.user), subject=each, detail=detail) for each in wanted]
            await self._record.widen(old, replace(old, switches=switches), audits)
            self._idle.touch()
        return switches

    async def disable(self, patterns: Sequence[str], by: Principal) -> Switches:
        """No pattern: all of them. Off at once, whatever the store says. Raises BadInput, StoreError, Busy."""
        wanted = patterns_of(patterns) if patterns else ("*",)
        switches = self._board.disabled(wanted)
        self._record.put(replace(self._record.kept, switches=switches))
        try:
            async with self._record.lock:
                now = self._clock.now()
                await self._record.write([entry("disable", at=now, by=str(by.user), subject=each) for each in wanted])
        finally:
            self._time.look_again()
        return switches

    def _follow(self, kept: Kept) -> None:
        self._board.take(kept.switches)
        self._time.look_again()
        self._changed.set()
        self._changed = anyio.Event()

    def _is_at_work(self) -> bool:
        return self._is_busy() or self._has_questions()

    async def _write_kill(self, audit: Audit, written: anyio.Event) -> None:
        """Until it is written: a restart must not revive what was killed."""
        wait = FIRST_RETRY
        while not await self._has_written_kill(audit):
            await self._clock.sleep(wait)
            wait = min(wait * 2, LONGEST_RETRY)
        written.set()
        self._unfinished = tuple(name for name in self._unfinished if name != RECORD)

    async def _has_written_kill(self, audit: Audit) -> bool:
        async with self._record.lock:
            if self._record.is_killed_in_store or self.may_begin:
                return True
            try:
                await self._record.write([audit])
            except StaleLease:
                raise
            except (StoreError, Busy) as error:
                log.warning("the kill waits to be written: %s", error)
                return False
        return True

    async def _report(self, told: Killed, who: str) -> None:
        detail: dict[str, object] = {name: getattr(told, name) for name in COUNTED}
        detail |= {"unfinished": list(told.unfinished), "milliseconds": round(told.seconds * 1000)}
        outcome = "unfinished" if told.unfinished else "ok"
        try:
            async with self._record.lock:
                await self._record.write([entry("kill", at=self._clock.now(), by=who, outcome=outcome, detail=detail)])
        except StaleLease:
            raise
        except (StoreError, Busy) as error:
            log.warning("what the kill stopped was not written to the audit log: %s", error)

    async def _must_be_still(self) -> None:
        async with self._hands() as group:
            sweep = await self._sweep("the house was shut down", group)
        if sweep.unfinished:
            left = ", ".join(sweep.unfinished)
            raise Busy(f"the last kill is not finished: {left} did not stop yet", hint="Try again in a moment, or restart me.")

    async def _sweep(self, reason: str, group: TaskGroup) -> Sweep:
        """Stop everything, and again what the first stop let through: a turn that ends may leave a reply to send."""
        parts, until = self._parts().kill, self._clock.monotonic() + PART_SECONDS
        whole = await stop_parts(parts, reason, group=group)
        for _ in range(PASSES - 1):
            left = until - self._clock.monotonic()
            if whole.is_empty or whole.unfinished or left <= 0:
                break
            again = await stop_parts(parts, reason, group=group, seconds=left)
            whole.add(again)
            if again.is_empty:
                break
        self._unfinished = whole.unfinished
        self._time.look_again()
        return whole

    @asynccontextmanager
    async def _hands(self) -> AsyncIterator[TaskGroup]:
        """The group in which work may outlive its caller; before the start one that is waited for."""
        if self._group is not None:
            yield self._group
            return
        async with anyio.create_task_group() as group:
            yield group

    def _tell_woken(self) -> None:
        self._tell((self._look_round, *self._parts().on_wake))

    async def _look_round(self) -> None:
        probe = self._parts().probe
        if probe is not None:
            self.machine = await probe()

    def _tell(self, hooks: Sequence[Hook]) -> None:
        if self._group is not None:
            for hook in hooks:
                self._group.start_soon(_bounded, hook)

    def _due(self) -> float | None:
        times = [FIRST_RETRY] if self._is_to_sweep() or self._record.is_unwritten or self._has_run_out() else []
        if self._record.kept.state == "awake":
            times += [time for time in (self._idle.left(), self._board.next_end()) if time is not None]
        return min(times, default=None)

    def _has_run_out(self) -> bool:
        return self._board.switches.rows != self._record.kept.switches.rows

    def _is_to_sweep(self) -> bool:
        return not self.may_begin and any(name != RECORD for name in self._unfinished)

    async def _act_on_time(self) -> bool:
        if self._is_to_sweep():
            async with self._hands() as group:
                await self._sweep("the house is shut down", group)
            return self._is_to_sweep()
        if self._idle.is_over and self._is_at_work():
            # Work is activity too.
            self._idle.touch()
        if self.state == "dormant" and self._record.kept.state == "awake":
            await self.sleep(None, f"inactive for {self.rules().sleep_after / 60:g} minutes")
            return False
        await self._write_narrowed()
        return False

    async def _write_narrowed(self) -> None:
        """What ran out, and what the store would not take when it was put in force."""
        kept, switches, now = self._record.kept, self._board.switches, self._clock.now()
        gone = [row for row in kept.switches.rows if row not in switches.rows]
        if gone:
            self._record.put(replace(kept, switches=switches))
        if gone or self._record.is_unwritten:
            async with self._record.lock:
                audits = [entry("disable", at=now, by=HOUSE, subject=row.pattern, outcome="expired") for row in gone]
                await self._record.write(audits)


async def _bounded(hook: Hook) -> None:
    """A hook that breaks or hangs must not end the house."""
    try:
        with anyio.fail_after(HOOK_SECONDS):
            await hook()
    except (Exception, Cancelled()) as error:
        if is_wanted(error):
            raise
        log.exception("what follows a change of state failed")
