"""`ostiary security audit`: what is open here, and what closes it."""

import os
from typing import Annotated

import typer

from ostiary.cli.config import plainly

app = typer.Typer(help="How safe this installation is.", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    """Add `security` to the command line."""
    root.add_typer(app, name="security")


@app.callback()
def _security() -> None:
    pass


@app.command()
@plainly
def audit(
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Close files and folders that other users can open.")] = False,
) -> None:
    """Look for what an attacker would look for. The exit code is 1 if something critical is found."""
    from ostiary.assembly.config.paths import state_directory
    from ostiary.assembly.security import examine, repair, standard_looks
    from ostiary.cli.output import print_json

    home = state_directory(os.environ)
    done = repair(home) if fix else []
    found = examine(home, os.environ, standard_looks())
    counts = {severity: sum(each.severity == severity for each in found) for severity in ("critical", "warning", "info")}
    if as_json:
        rows = [{"id": each.id, "severity": each.severity, "sentence": each.sentence, "fix": each.fix} for each in found]
        print_json({"summary": counts, "repaired": done, "findings": rows})
    else:
        for line in done:
            typer.echo(f"repaired: {line}")
        for each in found:
            typer.echo(f"{each.severity}: {each.sentence} ({each.id})")
            if each.fix:
                typer.echo(f"    {each.fix}")
        told = ", ".join(f"{count} {severity}" for severity, count in counts.items() if count)
        typer.echo(told or "Nothing found.")
    raise typer.Exit(1 if counts["critical"] else 0)
