"""`ostiary sessions`: look at conversations, take them out, bring them in."""

import contextlib
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

if TYPE_CHECKING:
    from ostiary.assembly.vault import Reader, Vault
    from ostiary.contracts.identity import SessionKey
    from ostiary.contracts.store import Store

S = TypeVar("S")
T = TypeVar("T")
Key = Annotated[str, typer.Argument(help="The session's key, for example agent:main:main.")]
Turn = Annotated[str, typer.Argument(help="The turn's id, as `ostiary sessions show` has it.")]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]

app = typer.Typer(help="Look at conversations, take them out, bring them in.", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="sessions")


@app.command("list")
def list_(
    limit: Annotated[int, typer.Option("-n", min=1, max=10_000, help="How many.")] = 50,
    every: Annotated[bool, typer.Option("--all", help="Also the sessions of single calls.")] = False,
    as_json: AsJson = False,
) -> None:
    """The most recently used sessions."""
    from ostiary.cli.output import ago, print_json, safe, table

    records = _read(lambda store: store.sessions(limit=limit, include_ephemeral=every)) if _has_store() else ()
    if as_json:
        print_json([_row(record) for record in records])
    elif not records:
        print("No sessions yet. Say something: `ostiary agent -m hello`.")
    else:
        now = time.time()
        rows = [(str(r.key), ago(now - r.updated_at), str(r.last_seq), safe(r.title)[:60]) for r in records]
        print(table(rows, ("SESSION", "USED", "EVENTS", "TITLE")))


@app.command()
def show(
    key: Key,
    turn: Annotated[str, typer.Option(help="Only this turn's events.")] = "",
    as_json: AsJson = False,
) -> None:
    """The journal of a session: everything that happened, in order."""
    from ostiary.cli.journal import as_data, as_lines
    from ostiary.cli.output import print_json

    name = _key(key)

    async def look(store: "Reader") -> tuple[Any, str]:
        return await store.read(name, turn=turn), await store.verify(name)

    events, broken = _read(look)
    if not events:
        raise _unknown(key, turn)
    if as_json:
        print_json([as_data(event) for event in events])
    else:
        print("\n".join(as_lines(event) for event in events))
    if broken:
        print(f"warning: the journal does not verify: {broken}", file=sys.stderr)


@app.command()
def export(
    key: Key,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file, instead of standard output.")] = None,
) -> None:
    """Write a conversation as JSON lines, without the secrets in it."""
    from ostiary.cli.guarding import house_guard
    from ostiary.cli.transcript import write
    from ostiary.core.sessions.session import fold

    name = _key(key)
    events = _read(lambda store: store.read(name))
    if not events:
        raise _unknown(key)
    guard = house_guard()
    text = "".join(f"{guard.redact(line)}\n" for line in write(key, fold(name, events).messages))
    if output is None:
        sys.stdout.write(text)
    else:
        _write_private(output, text)


@app.command("import")
def import_(
    key: Key,
    file: Annotated[Path, typer.Argument(help="JSON lines; - reads standard input.")],
) -> None:
    """Make a session out of JSON lines; broken ones are mended, and what was mended is said."""
    from ostiary.cli.guarding import house_guard
    from ostiary.cli.transcript import read
    from ostiary.contracts.events import Imported
    from ostiary.core.sessions.repair import repair

    found = read([*map(house_guard().redact, _read_text(file).splitlines())], file.name)
    mended = repair(found.messages)
    notes = (*found.notes, *mended.notes)
    _begin(_key(key), (Imported(messages=mended.messages, source=file.name, notes=notes),))
    print(f"{len(mended.messages)} messages are now {key}.")
    for note in notes:
        print(f"  mended: {note}")


@app.command()
def branch(
    key: Key,
    new: Annotated[str, typer.Argument(help="The new session's key.")],
    at: Annotated[int, typer.Option(min=0, help="The event to branch at; 0 is the newest.")] = 0,
) -> None:
    """Begin a new session as another one was."""
    from ostiary.core.sessions.branch import branch_events
    from ostiary.core.sessions.session import fold

    name = _key(key)
    events = _read(lambda store: store.read(name))
    if not events:
        raise _unknown(key)
    session = fold(name, [event for event in events if not at or event.seq <= at])
    begun = branch_events(name, session.seq, session.messages, settings=session.settings, by="cli", label=session.label)
    _begin(_key(new), begun, parent=key)
    print(f"{new} begins as {key} was at event {session.seq}.")


@app.command()
def changes(
    key: Key,
    limit: Annotated[int, typer.Option("-n", min=1, max=100, help="How many turns to look at.")] = 20,
    as_json: AsJson = False,
) -> None:
    """What the newest turns did to files, as diffs. `ostiary undo` takes one back."""
    from ostiary.cli.approvals import call
    from ostiary.cli.output import print_json, safe

    found = call("changes.list", {"key": key, "limit": limit})
    if as_json:
        print_json(found)
        return
    for turn in found["turns"]:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(turn["at"]))
        print(f"{turn['turn']}  {when}")
        for file in turn["files"]:
            since = "" if file["current"] else ", changed again since"
            print(safe(f"  {file['change']} {file['path']} (+{file['added']} -{file['removed']}{since})"))
            print(safe("\n".join(f"  │ {line}" for line in (file["diff"] or file["note"]).rstrip("\n").split("\n"))))
    if not found["turns"]:
        print(f"Nothing in {key} changed a file.")


@app.command()
def explain(key: Key, turn: Turn, as_json: AsJson = False) -> None:
    """A past turn: what each step was asked with and cost, and what was decided of each call, by which layer and why."""
    from ostiary.cli.approvals import call
    from ostiary.cli.journal import explained
    from ostiary.cli.output import print_json, safe

    found = call("turns.explain", {"key": key, "turn": turn})
    if as_json:
        print_json(found)
    else:
        print(safe("\n".join(explained(found))))


@app.command()
def rerun(
    key: Key,
    turn: Turn,
    step: Annotated[int, typer.Option(min=1, help="The step to begin with.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Run a past turn again, from one of its steps, in a branch; the session itself stays as it is."""
    from ostiary.cli.approvals import call
    from ostiary.cli.output import print_json

    done = call("turns.rerun", {"key": key, "turn": turn, "step": step})
    if as_json:
        print_json(done)
    else:
        print(f"It runs again in {done['key']}. `ostiary sessions show {done['key']}` shows how it goes.")


@app.command()
def delete(
    key: Key,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a conversation for ever. A running gateway does it; what it was doing there is stopped."""
    from ostiary.cli.approvals import call
    from ostiary.cli.client import find_gateway
    from ostiary.cli.home import home

    name = _key(key)
    if _read(lambda store: store.session(name)) is None:
        raise _unknown(key)
    if not yes and not typer.confirm(f"Delete {key} for ever?"):
        raise typer.Exit(1)
    if find_gateway(home()) is not None:
        call("sessions.delete", {"key": str(name)})
    else:
        _delete_here(name)
    print(f"{key} is deleted.")


def _delete_here(key: "SessionKey") -> None:
    from ostiary.assembly.desks import deletion
    from ostiary.cli.own_store import own_vault
    from ostiary.contracts.errors import Busy, StoreError

    async def erase(vault: "Vault") -> None:
        await vault.store.commit(deletion(key, by="cli", at=time.time()))
        # Where the index cannot be opened now, the store has noted it.
        with contextlib.suppress(StoreError, Busy):
            await vault.search.forget("_sessions", str(key))

    _alone(own_vault, erase)


def _begin(key: "SessionKey", events: tuple[Any, ...], *, parent: str = "") -> None:
    from ostiary.contracts.errors import BadInput
    from ostiary.contracts.store import Append, SaveSession, SessionRecord

    now = time.time()

    async def write(store: "Store") -> None:
        if await store.session(key) is not None:
            raise BadInput(f"the session {key} exists already", hint="Choose another key, or delete it first.")
        record = SessionRecord(key=key, created_at=now, updated_at=now, parent=parent)
        await store.commit(
            [SaveSession(record=record), *(Append(session=key, turn="", at=now, event=event) for event in events)],
            expect={str(key): 0},
        )

    _write(write)


def _row(record: Any) -> dict[str, Any]:
    return {
        "key": str(record.key),
        "title": record.title,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "events": record.last_seq,
        "ephemeral": record.ephemeral,
        "parent": record.parent,
    }


def _key(text: str) -> "SessionKey":
    from ostiary.core.routing.scopes import parse_key

    return parse_key(text)


def _unknown(key: str, turn: str = "") -> Exception:
    from ostiary.contracts.errors import UnknownSession

    what = f"turn {turn} in {key}" if turn else f"session {key}"
    return UnknownSession(f"there is no {what}", hint="`ostiary sessions list` shows the sessions there are.")


def _has_store() -> bool:
    from ostiary.assembly.vault import has_store
    from ostiary.cli.home import home

    return has_store(home())


def _read(look: "Callable[[Reader], Awaitable[T]]") -> T:
    """Works beside a running gateway: readers never block."""
    from ostiary.assembly.gateway import open_reader
    from ostiary.cli.home import home
    from ostiary.contracts.errors import BadInput

    if not _has_store():
        raise BadInput(f"nothing is stored in {home()} yet", hint="Say something first: `ostiary agent -m hello`.")
    return _with(open_reader, look)


def _write(act: "Callable[[Store], Awaitable[T]]") -> T:
    from ostiary.cli.own_store import own_store

    return _alone(own_store, act)


def _alone(opened: Callable[[Path], AbstractAsyncContextManager[S]], act: Callable[[S], Awaitable[T]]) -> T:
    """Only while no gateway holds the state directory: it keeps sessions in memory and must not be surprised. Another command
    is waited for."""
    import anyio

    from ostiary.cli.client import find_gateway
    from ostiary.cli.home import home
    from ostiary.cli.waiting import in_turn
    from ostiary.contracts.errors import Busy

    if find_gateway(home()) is not None:
        raise Busy("the gateway is running and holds the sessions", hint="Stop it first, then try again.")
    done: list[T] = []

    async def once() -> None:
        async with opened(home()) as store:
            done.append(await act(store))

    anyio.run(in_turn, home(), once)
    return done[0]


def _with(opened: Callable[[Path], AbstractAsyncContextManager[S]], act: Callable[[S], Awaitable[T]]) -> T:
    import anyio

    from ostiary.cli.home import home

    async def run() -> T:
        async with opened(home()) as store:
            return await act(store)

    return anyio.run(run)


def _read_text(file: Path) -> str:
    from ostiary.contracts.errors import BadInput

    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from None


def _write_private(path: Path, text: str) -> None:
    import os

    from ostiary.contracts.errors import BadInput

    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise BadInput(f"{path} exists already", hint="Choose another name; nothing is overwritten.") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from None
