"""`ostiary audit`: what was decided and done here, and whether the record of it holds."""

import csv
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostiary.cli.config import plainly
from ostiary.cli.output import print_json, safe

if TYPE_CHECKING:
    from ostiary.assembly.audit import CheckedAudit
    from ostiary.contracts.audit import AuditEntry

AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
Kind = Annotated[str, typer.Option("--kind", help="Only this kind; tool.* means all that begin so.")]

_PAGE = 500
_POLL_SECONDS = 0.5
_COLUMNS = ("seq", "at", "kind", "actor", "subject", "outcome", "detail", "chain")

app = typer.Typer(help="The audit log: who decided and did what.", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    """Add `audit` to the command line."""
    root.add_typer(app, name="audit")


@app.command()
@plainly
def verify(as_json: AsJson = False) -> None:
    """Walk the whole log and hold it against its checkpoints. The exit code is 1 if it does not hold."""

    async def look(log: "CheckedAudit") -> tuple[str, Any]:
        return await log.verify(), await log.head()

    problem, head = _run(look)
    if as_json:
        print_json({"ok": not problem, "problem": problem, "entries": head.seq, "chain": head.chain})
    elif problem:
        typer.echo(f"error: {problem}", err=True)
    else:
        typer.echo(f"The audit log holds: {head.seq} {'entry' if head.seq == 1 else 'entries'}, head {head.chain[:16]}.")
    raise typer.Exit(1 if problem else 0)


@app.command()
@plainly
def tail(
    count: Annotated[int, typer.Option("-n", min=0, max=1000, help="How many of the newest entries.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new entries until Ctrl-C.")] = False,
    kind: Kind = "",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Print the newest entries."""
    show = _as_json if as_json else _as_line

    async def look(log: "CheckedAudit") -> None:
        import anyio

        found = await log.entries(limit=count, kind=kind, newest=True) if count else ()
        for entry in found:
            print(show(entry))
        place = found[-1].seq if found else (await log.head()).seq
        while follow:
            sys.stdout.flush()
            await anyio.sleep(_POLL_SECONDS)
            for entry in await log.entries(after=place, limit=_PAGE, kind=kind):
                print(show(entry))
                place = entry.seq

    _run(look)


@app.command()
@plainly
def export(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line; the usual form.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="A table.")] = False,
    kind: Kind = "",
) -> None:
    """Print every entry, the oldest first."""
    from ostiary.contracts.errors import BadInput

    if as_json and as_csv:
        raise BadInput("give --json or --csv, not both")
    table = csv.writer(sys.stdout) if as_csv else None

    async def look(log: "CheckedAudit") -> None:
        if table is not None:
            table.writerow(_COLUMNS)
        place = 0
        while found := await log.entries(after=place, limit=_PAGE, kind=kind):
            for entry in found:
                if table is None:
                    print(_as_json(entry))
                else:
                    table.writerow(_cells(entry))
            place = found[-1].seq

    _run(look)


def _run(look: Callable[["CheckedAudit"], Any]) -> Any:
    import anyio

    async def run() -> Any:
        async with _opened() as log:
            return await look(log)

    return anyio.run(run)


@asynccontextmanager
async def _opened() -> AsyncIterator["CheckedAudit"]:
    """Read beside a running gateway, or without one. Raises StoreRefused, StoreUnavailable, BadInput."""
    from ostiary.assembly.audit import CheckedAudit
    from ostiary.assembly.config.paths import state_directory
    from ostiary.assembly.gateway import open_reader
    from ostiary.assembly.vault import has_store
    from ostiary.contracts.errors import BadInput

    home = state_directory(os.environ)
    if not has_store(home):
        raise BadInput(f"there is no audit log at {home} yet", hint="It begins when the gateway first runs: `ostiary up`.")
    async with open_reader(home) as reader:
        yield CheckedAudit(reader, home)


def _as_line(entry: "AuditEntry") -> str:
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.at))
    detail = " ".join(f"{name}={_short(value)}" for name, value in entry.detail.items())
    line = f"{entry.seq:>6}  {at}  {entry.kind:<18} {entry.outcome:<9} {entry.actor}  {entry.subject}  {detail}"
    return safe(line).replace("\n", " ").rstrip()


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:80]}…"


def _as_json(entry: "AuditEntry") -> str:
    return json.dumps({name: getattr(entry, name) for name in _COLUMNS}, ensure_ascii=False, default=dict)


def _cells(entry: "AuditEntry") -> list[object]:
    at = datetime.fromtimestamp(entry.at, UTC).isoformat()
    cells = [entry.seq, at, entry.kind, entry.actor, entry.subject, entry.outcome]
    # A spreadsheet takes a cell that begins like this for a formula.
    safe_cells = [f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@")) else cell for cell in cells]
    return [*safe_cells, json.dumps(dict(entry.detail), ensure_ascii=False), entry.chain]
