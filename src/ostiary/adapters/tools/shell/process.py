"""process: the commands of this conversation that run in the background."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import anyio

from ostiary.adapters.tools import fields
from ostiary.adapters.tools.shell.exec import ExecRules
from ostiary.adapters.tools.shell.processes import Processes, Run, news_of
from ostiary.adapters.tools.shell.results import finished, so_far
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import ToolError
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec

ACTIONS = ("list", "poll", "write", "kill")
MAX_DATA = 65_536
_POLL_SECONDS = 5.0
_ANSWER_SECONDS = 0.3
_WRITE_SECONDS = 5.0
_STEP = 0.05

SPEC = ToolSpec(
    schema=ToolSchema(
        name="process",
        description="Background commands: list, poll new output, write to their input, kill.",
        parameters={
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": list(ACTIONS)},
                "id": {"type": "string"},
                "data": {"type": "string"},
            },
            "required": ["action"],
            "additionalProperties": False,
        },
    ),
    effects=frozenset({Effect.EXECUTE}),
    untrusted_output=False,
    harmless_when={"action": frozenset({"list", "poll", "kill"})},
    seconds=120.0,
)


class ProcessTool:
    """Only the conversation that started a process sees it."""

    spec = SPEC

    def __init__(
        self,
        *,
        processes: Processes,
        rules: Callable[[SessionKey], ExecRules],
        clock: Clock,
        poll_seconds: float = _POLL_SECONDS,
    ) -> None:
        self._processes = processes
        self._rules = rules
        self._clock = clock
        self._poll_seconds = poll_seconds

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments, "action", "id", "data")
        action = fields.text(arguments, "action")
        if action not in ACTIONS:
            raise ToolError(f"action must be one of {', '.join(ACTIONS)}.")
        if action == "list":
            return self._list(context)
        run = self._find(fields.text(arguments, "id", ""), context)
        if action == "kill":
            return await self._kill(run, context)
        if action == "write":
            await self._write(run, fields.text(arguments, "data", ""))
            # What it had printed before is no answer, so the first news do not end the wait.
            with anyio.move_on_after(_ANSWER_SECONDS):
                await run.done.wait()
        else:
            await self._wait(run, self._poll_seconds)
        room = self._rules(context.session).result_bytes
        if run.done.is_set():
            return await finished(run, self._processes, context, room=room, since=True)
        return so_far(run, self._processes, context, room=room)

    def _find(self, name: str, context: ToolContext) -> Run:
        run = self._processes.find(context.session, name)
        if run is None:
            known = ", ".join(run.id for run in self._processes.of(context.session)) or "none"
            raise ToolError(
                f"There is no process {name[:60]!r} in this conversation (there: {known}). It was looked at to its end, was"
                " forgotten after half an hour, or ended when the house was restarted or put to sleep."
            )
        return run

    def _list(self, context: ToolContext) -> ToolResult:
        runs = self._processes.of(context.session)
        now = self._clock.now()
        lines = [f"{run.id} {_state(run)}, begun {now - run.began:.0f} s ago: {run.order.text[:120]!r}" for run in runs]
        details = [{"id": run.id, "state": _state(run), "command": run.order.text[:500], "began": run.began} for run in runs]
        return ToolResult(text="\n".join(lines) or "[no processes]", details={"processes": details}, label=context.label)

    async def _write(self, run: Run, data: str) -> None:
        if not data or len(data) > MAX_DATA:
            raise ToolError(f"data must be 1 to {MAX_DATA:,} characters; end a line with a line break.")
        if run.process is None or run.done.is_set():
            raise ToolError(f"{run.id} has ended; poll it.")
        with anyio.move_on_after(_WRITE_SECONDS) as limit:
            try:
                await run.process.write(data.encode("utf-8", "replace"))
            except ToolError:
                raise ToolError(f"{run.id} takes no input; only what exec starts with background or pty does.") from None
        if limit.cancelled_caught:
            raise ToolError(f"{run.id} does not read its input.")

    async def _wait(self, run: Run, seconds: float) -> None:
        """Until it prints something or ends, but not for long: a model that polls in a loop pays for every turn of it."""
        with anyio.move_on_after(seconds):
            while not run.done.is_set() and not _has_news(run):
                with anyio.move_on_after(_STEP):
                    await run.done.wait()

    async def _kill(self, run: Run, context: ToolContext) -> ToolResult:
        if run.process is not None and not run.done.is_set():
            await run.process.end()
        elif run.process is None:
            await self._processes.drop(run)
        await run.done.wait()
        ended = await finished(run, self._processes, context, room=self._rules(context.session).result_bytes, since=True)
        # It ended as it was told to.
        return replace(ended, is_error=False)


def _state(run: Run) -> str:
    if not run.done.is_set():
        return "running"
    return "ended" if run.exit is None else f"exit {run.exit.code}" if run.exit.code is not None else f"signal {run.exit.signal}"


def _has_news(run: Run) -> bool:
    return run.process is not None and news_of(run.process, run.offset)[1] > run.offset
