"""`ostiary vault verify`, `rekey` and `key`: whether everything is whole, and what opens it."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostiary.cli.config import plainly
from ostiary.cli.output import print_json

if TYPE_CHECKING:
    from ostiary.assembly.config.schema import Config

AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]

key_app = typer.Typer(help="Where the key is kept that opens the vault.", no_args_is_help=True)


def register_vault(app: typer.Typer) -> None:
    """Add the commands to `ostiary vault`."""
    app.command("verify")(verify)
    app.command("rekey")(rekey)
    app.add_typer(key_app, name="key")


@plainly
def verify(
    backups: Annotated[bool, typer.Option(help="Read the backups in the configured folder, too.")] = True, as_json: AsJson = False
) -> None:
    """Check pages, hashes, links, journals, the index against the documents, and backups. The exit code is 1 if any is wrong."""
    from ostiary.assembly.keys import store_key
    from ostiary.assembly.verifying import verify_house
    from ostiary.cli.progress import progress

    home, config = _house()
    key = store_key(home, config)
    with progress() as shown:
        found = verify_house(home, key, config, shown.of, with_backups=backups)
    if as_json:
        numbers = {name: getattr(found.store, name) for name in ("documents", "versions", "blobs", "bytes", "sessions", "events")}
        told = {"ok": not found.problems, "problems": list(found.problems), **numbers, "indexed": found.indexed}
        print_json({**told, "backups": found.backups})
    elif found.problems:
        for problem in found.problems:
            typer.echo(f"error: {problem}", err=True)
    else:
        store = found.store
        kept = "" if found.backups is None else f" {found.backups} backups."
        typer.echo(
            f"All is whole: {store.documents:,} documents in {store.versions:,} versions, {store.sessions:,} sessions with"
            f" {store.events:,} events, {found.indexed:,} documents in the index.{kept}"
        )
    raise typer.Exit(1 if found.problems else 0)


@plainly
def rekey(as_json: AsJson = False) -> None:
    """Encrypt everything under a new key. Stop the gateway first; killed at any moment, nothing is lost."""
    from ostiary.assembly.passphrase import ask_passphrase
    from ostiary.assembly.rekey import rekey as change
    from ostiary.cli.progress import progress

    home, _ = _house()
    with progress() as shown:
        done = change(home, ask=ask_passphrase, progress=shown.of)
    if as_json:
        print_json({"files": list(done.files)})
    else:
        typer.echo(f"New keys for {', '.join(done.files)}; the old ones open nothing any more. Backups keep their recovery key.")


@key_app.command()
@plainly
def show(as_json: AsJson = False) -> None:
    """Say where the key is kept."""
    from ostiary.assembly.keys import sources, wished_source

    home, config = _house()
    present, wished = sources(home), wished_source(home, config)
    if as_json:
        print_json({"kept": list(present), "configured": wished})
        return
    typer.echo(f"The key is kept in: {', '.join(present) or 'no place yet'}. Configured: {wished}.")
    if present != (wished,):
        typer.echo(f"To have it there alone: ostiary vault key move --to {wished}")


@key_app.command()
@plainly
def move(to: Annotated[str, typer.Option("--to", help="file, keyring or passphrase (again: another passphrase).")]) -> None:
    """Keep the key elsewhere. The old place is emptied after the key was read back from the new one and opened the vault."""
    from ostiary.assembly.keys import SOURCES, move_key
    from ostiary.contracts.errors import BadInput

    source = next((each for each in SOURCES if each == to), None)
    if source is None:
        raise BadInput(f"{to!r} is no place for a key", hint="One of file, keyring, passphrase.")
    home, _ = _house()
    before = move_key(home, source, os.environ)
    typer.echo(f"The key is kept in: {source}. It was in: {', '.join(before)}.")


def _house() -> "tuple[Path, Config]":
    from ostiary.assembly.config.load import load
    from ostiary.assembly.vault import STORE
    from ostiary.cli.home import home as found
    from ostiary.contracts.errors import BadInput

    home = found()
    config = load(home, os.environ).config
    if not (home / STORE).exists():
        raise BadInput(f"there is no vault at {home} yet", hint="Set OSTIARY_HOME, or begin with: ostiary setup")
    return home, config
