"""`ostiary config`: look at the configuration, change it, and bring one along from elsewhere."""

import functools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn, ParamSpec, TypeVar

import typer

from ostiary.contracts.errors import BadInput, ConfigInvalid, OstiaryError

P = ParamSpec("P")
R = TypeVar("R")

app = typer.Typer(help="Look at the configuration and change it.", no_args_is_help=True)
secret_app = typer.Typer(help="The credential store: secrets by name.", no_args_is_help=True)
app.add_typer(secret_app, name="secret")

AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]


def register(root: typer.Typer) -> None:
    """Add `config` to the command line."""
    root.add_typer(app, name="config")


def plainly(command: Callable[P, R]) -> Callable[P, R]:
    """A failure is one sentence and what to do, exit code 1; never a traceback."""

    @functools.wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except OstiaryError as error:
            fail(error)

    return guarded


def fail(error: OstiaryError) -> NoReturn:
    problems = error.problems if isinstance(error, ConfigInvalid) else ()
    if len(problems) > 1:
        typer.echo(f"error: {str(error).partition(problems[0])[0]}", err=True)
        for problem in problems:
            typer.echo(f"  {problem}", err=True)
    else:
        typer.echo(f"error: {error}", err=True)
    if error.hint:
        typer.echo(error.hint, err=True)
    raise typer.Exit(1)


def _home() -> Path:
    from ostiary.assembly.config.paths import state_directory

    return state_directory(os.environ)


def _loaded() -> Any:
    from ostiary.assembly.config.load import load

    return load(_home(), os.environ)


def _print_json(value: object) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


@app.command()
@plainly
def show(
    explain: Annotated[bool, typer.Option("--explain", help="Say where each value comes from.")] = False, as_json: AsJson = False
) -> None:
    """Print the configuration in force, secrets masked."""
    from ostiary.assembly.config.explain import explain as explained
    from ostiary.assembly.config.explain import shown

    loaded = _loaded()
    if not explain:
        _print_json(shown(loaded))
        return
    rows = explained(loaded)
    if as_json:
        _print_json([{"path": row.path, "value": row.value, "origin": row.origin} for row in rows])
        return
    origins = {"posture": f"posture {loaded.config.posture}", "file": loaded.sources[0].path.name, "default": "default"}
    width = max(len(row.path) for row in rows)
    for row in rows:
        value = json.dumps(row.value, ensure_ascii=False)
        typer.echo(f"{row.path:<{width}}  {value}  ({origins[row.origin]})")


@app.command()
@plainly
def get(path: Annotated[str, typer.Argument(help="For example gateway.port.")], as_json: AsJson = False) -> None:
    """Print one value."""
    from ostiary.assembly.config.explain import shown
    from ostiary.assembly.config.problems import dotted, nearest, parse_path

    steps = parse_path(path)
    value: Any = shown(_loaded())
    for index, step in enumerate(steps):
        keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
        if step not in keys:
            meant = nearest(str(step), map(str, keys))
            where = dotted((*steps[:index], meant)) if meant else ""
            raise BadInput(f"there is no {path}", hint=f"Did you mean {where}?" if where else "See: ostiary config show")
        value = value[step]
    typer.echo(value if isinstance(value, str) and not as_json else json.dumps(value, indent=2, ensure_ascii=False))


@app.command("set")
@plainly
def set_(
    path: Annotated[str, typer.Argument(help="For example agents.defaults.model.primary.")],
    value: Annotated[str, typer.Argument(help="JSON5; what is not is taken as a text.")],
    text: Annotated[bool, typer.Option("--text", help="Take the value as a text in any case.")] = False,
) -> None:
    """Set one value; comments in the file stay. A secret goes to the credential store."""
    from ostiary.assembly.config import json5
    from ostiary.assembly.config.literals import set_key_privately
    from ostiary.assembly.config.problems import parse_path
    from ostiary.assembly.credential_key import open_credentials

    steps = parse_path(path)
    meant: object = value
    if not text:
        try:
            meant = json5.parse(value).plain()
        except ConfigInvalid:
            meant = value
    home = _home()
    try:
        _, moved = set_key_privately(home, os.environ, steps, meant, open_credentials(home))
    except ValueError as error:
        raise BadInput(f"{value} cannot be written to the file", hint="Give a finite number.") from error
    said = "The secret is in the credential store; the file refers to it. " if moved else ""
    typer.echo(f"Set {path}. {said}A running gateway takes it over within a second.")


@app.command()
@plainly
def unset(path: Annotated[str, typer.Argument(help="For example gateway.port.")]) -> None:
    """Remove one value from the file, so that its default holds again."""
    from ostiary.assembly.config import edit
    from ostiary.assembly.config.change import unset_key
    from ostiary.assembly.config.files import read_text
    from ostiary.assembly.config.paths import config_path
    from ostiary.assembly.config.problems import parse_path

    steps = parse_path(path)
    text = read_text(config_path(_home(), os.environ))
    if text is None or edit.source_at(text, steps) is None:
        raise BadInput(f"the file does not set {path}", hint="See where values come from: ostiary config show --explain")
    unset_key(_home(), os.environ, steps)
    typer.echo(f"Removed {path}.")


@app.command()
@plainly
def validate(
    file: Annotated[Path | None, typer.Argument(help="Another file than the one in force.")] = None, as_json: AsJson = False
) -> None:
    """Check the file and list everything that is wrong with it."""
    from ostiary.assembly.config.files import read_text, unreadable
    from ostiary.assembly.config.load import understand, upgraded
    from ostiary.assembly.config.paths import config_path

    path = file or config_path(_home(), os.environ)
    try:
        text = read_text(path)
        if text is None and file is not None:
            raise unreadable(path, "does not exist")
        newest = upgraded(text, path) if text is not None else None
        loaded = understand(newest.text if newest else "{}", os.environ, source=path, notes=newest.notes if newest else ())
    except ConfigInvalid as error:
        if not as_json:
            raise
        _print_json({"valid": False, "problems": list(error.problems), "warnings": []})
        raise typer.Exit(1) from error
    if as_json:
        _print_json({"valid": True, "problems": [], "warnings": list(loaded.warnings)})
        return
    for warning in loaded.warnings:
        typer.echo(f"warning: {warning}", err=True)
    typer.echo(f"{path} is valid." if text is not None else f"{path} does not exist; defaults are used.")


@app.command()
@plainly
def schema() -> None:
    """Print the schema as JSON, with hints for forms."""
    from ostiary.assembly.config.json_schema import export

    _print_json(export())


@app.command()
@plainly
def path() -> None:
    """Print where the file is."""
    from ostiary.assembly.config.paths import config_path

    typer.echo(str(config_path(_home(), os.environ)))


@app.command("import")
@plainly
def import_(
    file: Annotated[Path, typer.Argument(help="Usually ~/.openclaw/openclaw.json.")],
    posture: Annotated[str, typer.Option(help="personal, open, team or vault. Empty: as in the file, else personal.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing configuration; a backup is kept.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would happen.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take over an OpenClaw configuration and list what could not be."""
    from ostiary.assembly.config.files import read_text, write_private
    from ostiary.assembly.config.load import keep_backup
    from ostiary.assembly.config.openclaw import take_over
    from ostiary.assembly.config.paths import config_path
    from ostiary.assembly.credential_key import open_credentials

    home = _home()
    target = config_path(home, os.environ)
    imported = take_over(file, os.environ, posture=posture)
    before = read_text(target)
    if not dry_run:
        if before is not None and not force:
            raise BadInput(f"{target} exists already", hint="Use --force to replace it; a backup is kept.")
        store = open_credentials(home)
        for credential in imported.credentials:
            store.set(credential)
        if before is not None:
            keep_backup(target, before)
        write_private(target, imported.text)
    names = [each.name for each in imported.credentials]
    if as_json:
        _print_json(
            {
                "taken": imported.taken,
                "left": imported.left,
                "notes": imported.notes,
                "credentials": names,
                "written": not dry_run,
            }
        )
        return
    typer.echo(f"{'Would take' if dry_run else 'Took'} over {imported.taken} values{'' if dry_run else f' into {target}'}.")
    _section("Secrets in the credential store:", names)
    _section("Not taken over:", imported.left)
    _section("Changed or to be looked at:", imported.notes)


def _section(title: str, lines: Any) -> None:
    if lines:
        typer.echo(title)
        for line in lines:
            typer.echo(f"  {line}")


@secret_app.command("set")
@plainly
def secret_set(
    name: Annotated[str, typer.Argument(help="The file refers to it as credential:<name>.")],
    kind: Annotated[str, typer.Option(help="api_key, oauth or token.")] = "api_key",
    provider: Annotated[str, typer.Option(help="The provider it belongs to.")] = "",
) -> None:
    """Store a secret; it is read from a prompt or from standard input, never from the command line."""
    from ostiary.adapters.credentials import Credential, Secret
    from ostiary.assembly.credential_key import open_credentials

    value = typer.prompt("Secret", hide_input=True) if sys.stdin.isatty() else sys.stdin.readline().strip()
    open_credentials(_home()).set(Credential(name=name, kind=kind, provider=provider, value=Secret(value)))  # type: ignore[arg-type]
    typer.echo(f"Stored {name}. Refer to it as credential:{name}")


@secret_app.command("list")
@plainly
def secret_list(as_json: AsJson = False) -> None:
    """Print the names of the secrets, values masked."""
    from ostiary.assembly.credential_key import open_credentials

    entries = open_credentials(_home()).list()
    if as_json:
        _print_json(
            [{"name": e.name, "kind": e.kind, "provider": e.provider, "masked": e.masked, "expires": e.expires} for e in entries]
        )
        return
    for entry in entries:
        typer.echo(f"{entry.name}  {entry.kind}  {entry.provider or '-'}  {entry.masked}")


@secret_app.command("delete")
@plainly
def secret_delete(name: str) -> None:
    """Remove a secret."""
    from ostiary.assembly.credential_key import open_credentials

    if not open_credentials(_home()).delete(name):
        raise BadInput(f"there is no secret {name}", hint="See: ostiary config secret list")
    typer.echo(f"Removed {name}.")
