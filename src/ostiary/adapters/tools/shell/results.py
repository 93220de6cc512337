"""What is said of a command: that it runs, or how it ended and which files it changed."""

from ostiary.adapters.tools.shell.output import capped, clean
from ostiary.adapters.tools.shell.processes import Processes, Run
from ostiary.contracts.errors import ToolError
from ostiary.contracts.sandbox import Exit
from ostiary.contracts.tool import ToolContext, ToolResult
from ostiary.contracts.workspace import Capture

_MOST_CHANGES = 200
_MOST_REFUSED = 50
_NAMED = 12


def so_far(run: Run, processes: Processes, context: ToolContext, *, room: int) -> ToolResult:
    """It is still running; what it has printed since it was last looked at."""
    text = clean(run.news())
    note = f"[still running in the background: id {run.id}]"
    return ToolResult(
        text="\n".join(part for part in (capped(text, room - len(note) - 1).rstrip("\n"), note) if part),
        details={"id": run.id, "running": True, "command": run.order.text},
        label=processes.label_of(run).join(context.label),
    )


async def finished(run: Run, processes: Processes, context: ToolContext, *, room: int, since: bool = False) -> ToolResult:
    """It has ended: its output (`since`: only what was not yet shown), and its changes as writes. Raises ToolError."""
    label = processes.label_of(run).join(context.label)
    news = run.news() if since else b""
    ended = run.exit
    if ended is None:
        raise run.failure or ToolError(f"{run.id} was ended before it began.")
    output = clean(news if since else ended.output)
    notes = [_how(ended)]
    try:
        capture = await processes.capture(run, author=str(context.principal.user), turn=context.turn, label=label)
    except ToolError as error:
        capture = Capture(writes=(), changes=())
        notes.append(f"[files: {error}]")
    before = run.lease.told if run.lease is not None else ()
    notes += _told(capture, before)
    tail = "\n".join(notes)
    body = capped(output, room - len(tail.encode()) - 2).rstrip("\n") or "[no output]"
    return ToolResult(
        text=f"{body}\n{tail}",
        is_error=ended.code != 0,
        details={
            "id": run.id,
            "code": ended.code,
            "signal": ended.signal,
            "timed_out": ended.timed_out,
            "seconds": round(ended.seconds, 3),
            "left_out": ended.left_out,
            "changes": [
                {"path": change.path, "change": change.change, "size": change.size, "diff": change.diff}
                for change in capture.changes[:_MOST_CHANGES]
            ],
            "refused": [reason[:300] for reason in capture.refused[:_MOST_REFUSED]],
            "kept_aside": [said[:300] for said in (*before, *capture.kept_aside)[:_MOST_REFUSED]],
        },
        label=label,
        writes=capture.writes,
    )


def _how(ended: Exit) -> str:
    if ended.timed_out:
        return f"[ended after {ended.seconds:.0f} s: its time was over; give it more timeout, or background]"
    if ended.code is None:
        return f"[ended by signal {ended.signal} after {ended.seconds:.1f} s]"
    return f"[exit {ended.code}, {ended.seconds:.1f} s]"


def _told(capture: Capture, before: tuple[str, ...]) -> list[str]:
    lines = []
    if capture.changes:
        lines.append(f"[files {_some([f'{change.change} {change.path}' for change in capture.changes])}]")
    if before:
        lines.append(f"[from an earlier command, kept aside: {_some(list(before), separator='; ')}]")
    if capture.kept_aside:
        lines.append(f"[kept aside: {_some(list(capture.kept_aside), separator='; ')}]")
    if capture.refused:
        lines.append(f"[not kept: {_some(list(capture.refused), separator='; ')}]")
    return lines


def _some(texts: list[str], *, separator: str = ", ") -> str:
    shown = separator.join(text[:160] for text in texts[:_NAMED])
    return shown if len(texts) <= _NAMED else f"{shown} and {len(texts) - _NAMED} more"
