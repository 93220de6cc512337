"""`ostiary backup`: copies of everything that lasts, encrypted, and a house made of one again."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostiary.cli.config import plainly
from ostiary.cli.output import print_json, table
from ostiary.cli.paths import path

if TYPE_CHECKING:
    from ostiary.adapters.backup.manifest import Manifest
    from ostiary.adapters.backup.sealing import Seal
    from ostiary.adapters.backup.shelf import Shelf
    from ostiary.assembly.config.schema import Config
    from ostiary.cli.progress import Progress

AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
Where = Annotated[
    Path | None, typer.Option("--from", help="A folder or file of backups; else the configured folder.", parser=path)
]
Recovery = Annotated[
    str, typer.Option("--recovery-key", help="Else OSTIARY_RECOVERY_KEY, else you are asked.", envvar="OSTIARY_RECOVERY_KEY")
]
Phrase = Annotated[bool, typer.Option("--passphrase", help="Open it with its passphrase instead.")]

app = typer.Typer(help="Backups of everything that lasts.", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    """Add `backup` to the command line."""
    root.add_typer(app, name="backup")


@app.command()
@plainly
def create(
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            help="A folder, or with a suffix (house.backup) a single file; else as configured.",
            parser=path,
        ),
    ] = None,
    incremental: Annotated[bool, typer.Option("--incremental", help="Store only what the folder does not hold yet.")] = False,
    new_recovery_key: Annotated[bool, typer.Option("--new-recovery-key", help="Make another recovery key, and show it.")] = False,
    passphrase: Annotated[bool, typer.Option("--passphrase", help="Let a passphrase open this house's backups, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a backup, also while the gateway runs. The first one shows the recovery key that opens it elsewhere."""
    from ostiary.assembly.backup import Wish
    from ostiary.assembly.backup import create as make
    from ostiary.cli.progress import progress

    home, config, key = _house()
    wish = Wish(
        to=None if to is None else to.expanduser().absolute(),
        is_incremental=incremental,
        new_recovery_key=new_recovery_key,
        passphrase=_passphrase(is_new=True) if passphrase else "",
    )
    with progress() as shown:
        created = make(home, key, config, os.environ, wish, lambda part, done, total: _show(shown, part, done, total))
    made = created.manifest
    if as_json:
        told: dict[str, Any] = {**_row(made), "place": str(created.place)}
        print_json({**told, "recoveryKey": created.recovery_key} if created.recovery_key else told)
        return
    typer.echo(f"Backup {made.id} is in {created.place}: {_size(made.size)}, {_size(made.stored)} of it new.")
    if created.recovery_key:
        typer.echo(f"\n  Recovery key:  {created.recovery_key}\n")
        typer.echo("Write it down and keep it away from this machine: it opens this house's backups, and is not shown again.")


@app.command("list")
@plainly
def list_(where: Where = None, as_json: AsJson = False) -> None:
    """Show the backups of this house."""
    from ostiary.adapters.backup.folder import is_folder
    from ostiary.adapters.backup.reading import open_shelf

    home, config, key = _house()
    place = _place(where, home, config)
    if where is None and not is_folder(place):
        print_json([]) if as_json else typer.echo(f"There are no backups in {place} yet. Make one: ostiary backup create")
        return
    with open_shelf(place) as shelf:
        seal = _seal(home, key, shelf, "", is_by_passphrase=False)
        rows = list(_manifests(shelf, seal))
    if as_json:
        print_json([_row(made) if not problem else {"id": id, "problem": problem} for id, made, problem in rows])
        return
    typer.echo(table([_cells(*row) for row in rows], ("BACKUP", "MADE", "KIND", "SIZE", "NEW")))


@app.command()
@plainly
def verify(
    backup: Annotated[str, typer.Argument(help="The beginning of its id; all of them if it is left out.")] = "",
    where: Where = None,
    recovery_key: Recovery = "",
    passphrase: Phrase = False,
    as_json: AsJson = False,
) -> None:
    """Read every piece of the backups and say what is damaged. The exit code is 1 if anything is."""
    from ostiary.adapters.backup.reading import check_all, find, open_shelf
    from ostiary.cli.progress import progress

    home, config, key = _house()
    with open_shelf(_place(where, home, config)) as shelf, progress() as shown:
        seal = _seal(home, key, shelf, recovery_key, is_by_passphrase=passphrase)
        ids = [find(shelf, backup)] if backup else list(shelf.manifests())
        problems = check_all(shelf, seal, ids, lambda part, done, total: _show(shown, part, done, total))
    if as_json:
        print_json({"ok": not problems, "backups": ids, "problems": problems})
    elif problems:
        for problem in problems:
            typer.echo(f"error: {problem}", err=True)
    else:
        typer.echo(f"{len(ids)} backup{' is' if len(ids) == 1 else 's are'} whole.")
    raise typer.Exit(1 if problems else 0)


@app.command()
@plainly
def restore(
    place: Annotated[Path, typer.Argument(help="The folder or the file of the backup.", parser=path)],
    to: Annotated[Path, typer.Option("--home", help="The state directory to make.", parser=path)],
    backup: Annotated[str, typer.Option("--backup", help="The beginning of its id; else the newest.")] = "",
    recovery_key: Recovery = "",
    passphrase: Phrase = False,
    force: Annotated[bool, typer.Option("--force", help="If a house is there, move it aside.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a house of a backup, on this machine or another one."""
    from ostiary.assembly.restore import restore as make
    from ostiary.cli.progress import progress

    target = to.expanduser().absolute()
    secret = _secret(recovery_key, is_by_passphrase=passphrase)
    with progress() as shown:
        done = make(
            place.expanduser().absolute(),
            backup,
            target,
            secret,
            force=force,
            progress=lambda part, so_far, total: _show(shown, part, so_far, total),
        )
    if as_json:
        told = {"home": str(done.home), "backup": done.manifest.id, "aside": str(done.aside or ""), "notes": list(done.notes)}
        print_json(told)
        return
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(done.manifest.made_at))
    typer.echo(f"The house as it was at {made} is in {done.home}. Start it: OSTIARY_HOME={done.home} ostiary up")
    if done.aside is not None:
        typer.echo(f"What was there before is in {done.aside}.")
    for note in done.notes:
        typer.echo(note)


@app.command()
@plainly
def prune(
    keep_days: Annotated[int | None, typer.Option("--keep-days", min=0, help="Else as configured.")] = None,
    where: Where = None,
    as_json: AsJson = False,
) -> None:
    """Remove backups that are older than they are kept, and what only they needed. The newest one stays."""
    from ostiary.assembly.backup import prune as remove

    home, config, key = _house()
    days = config.vault.backup.keep_days if keep_days is None else keep_days
    pruned = remove(home, key, _place(where, home, config), keep_days=days, now=time.time())
    if as_json:
        print_json({"removed": list(pruned.backups), "pieces": pruned.pieces, "freedBytes": pruned.freed})
    else:
        typer.echo(f"Removed {len(pruned.backups)} backups and {pruned.pieces:,} pieces, {_size(pruned.freed)}.")


def _house() -> "tuple[Path, Config, bytes]":
    from ostiary.assembly.config.load import load
    from ostiary.assembly.keys import store_key
    from ostiary.assembly.vault import STORE
    from ostiary.cli.home import home as found
    from ostiary.contracts.errors import BadInput

    home = found()
    config = load(home, os.environ).config
    if not (home / STORE).exists():
        raise BadInput(f"there is no house at {home} yet", hint="Set OSTIARY_HOME, or begin with: ostiary setup")
    return home, config, store_key(home, config)


def _place(where: Path | None, home: Path, config: "Config") -> Path:
    from ostiary.assembly.backup import folder_of

    return where.expanduser().absolute() if where is not None else folder_of(home, config)


def _seal(home: Path, key: bytes, shelf: "Shelf", recovery_key: str, *, is_by_passphrase: bool) -> "Seal":
    """With this house's own key if the backups are its own."""
    from ostiary.adapters.backup.header import unlock
    from ostiary.adapters.backup.sealing import Seal
    from ostiary.assembly.backup_key import own_backup_key

    own = own_backup_key(home, key)
    if own is not None and own.seal.house == shelf.header.house:
        return own.seal
    return Seal(unlock(shelf.header, _secret(recovery_key, is_by_passphrase=is_by_passphrase)))


def _secret(recovery_key: str, *, is_by_passphrase: bool) -> tuple[bytes | str, ...]:
    from ostiary.adapters.keys.wrapping import heard
    from ostiary.contracts.errors import BadInput

    if is_by_passphrase:
        return (_passphrase(is_new=False),)
    if not recovery_key:
        if not sys.stdin.isatty():
            raise BadInput("the recovery key is needed", hint="Set OSTIARY_RECOVERY_KEY, or give --passphrase.")
        recovery_key = typer.prompt("Recovery key", hide_input=False)
    return (heard(recovery_key),)


def _passphrase(*, is_new: bool) -> str:
    from ostiary.assembly.passphrase import AskPassphrase

    return AskPassphrase("OSTIARY_BACKUP_PASSPHRASE")("for the backups", is_new)


def _manifests(shelf: "Shelf", seal: "Seal") -> "Iterator[tuple[str, Manifest | None, str]]":
    from ostiary.adapters.backup.reading import manifest_of
    from ostiary.contracts.errors import StoreRefused

    for id in shelf.manifests():
        try:
            yield id, manifest_of(shelf, seal, id), ""
        except StoreRefused as error:
            yield id, None, str(error)


def _row(made: "Manifest | None") -> dict[str, Any]:
    if made is None:
        return {}
    return {
        "id": made.id,
        "madeAt": made.made_at,
        "incremental": made.is_incremental,
        "size": made.size,
        "stored": made.stored,
        "release": made.release,
        "parts": [{"name": part.name, "size": part.size, "sha256": part.digest} for part in made.parts],
    }


def _cells(id: str, made: "Manifest | None", problem: str) -> tuple[str, str, str, str, str]:
    if made is None:
        return (id, "", f"damaged: {problem}", "", "")
    at = time.strftime("%Y-%m-%d %H:%M", time.localtime(made.made_at))
    return (id, at, "incremental" if made.is_incremental else "full", _size(made.size), _size(made.stored))


def _show(shown: "Progress", part: str, done: int, total: int) -> None:
    shown.show(f"{part}  {100 * done // total if total else 100} %")


def _size(count: int) -> str:
    return f"{count / 1_000_000:,.1f} MB"
