"""`ostiary doctor`: what is wrong here, and what can be repaired."""

import json
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ostiary.cli.config import plainly

if TYPE_CHECKING:
    from ostiary.assembly.doctor import Check


def register(root: typer.Typer, checks: "Callable[[], Sequence[Check]] | None" = None) -> None:
    """Add `doctor`. `checks` replaces the standard ones of other parts; it is called only when the command runs."""

    @root.command()
    @plainly
    def doctor(
        fix: Annotated[bool, typer.Option("--fix", help="Make the repairs that are safe.")] = False,
        as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    ) -> None:
        """Examine this installation and say what is wrong."""
        from ostiary.assembly.config.paths import state_directory
        from ostiary.assembly.doctor import examine, repair, standard_checks

        home = state_directory(os.environ)
        done = repair(home, os.environ) if fix else []
        findings = examine(home, os.environ, checks() if checks else standard_checks(os.environ))
        failed = any(each.level == "error" for each in findings)
        if as_json:
            rows = [{"level": f.level, "title": f.title, "detail": f.detail, "fix": f.fix} for f in findings]
            typer.echo(json.dumps({"repaired": done, "findings": rows}, indent=2, ensure_ascii=False))
        else:
            for line in done:
                typer.echo(f"repaired: {line}")
            for each in findings:
                detail = f" {each.detail.rstrip('.')}." if each.detail else ""
                advice = f" {_advice(each.fix)}" if each.fix else ""
                typer.echo(f"{each.level}: {each.title}.{detail}{advice}")
        raise typer.Exit(1 if failed else 0)


def _advice(fix: str) -> str:
    return f"Run: {fix}" if fix.startswith("ostiary ") else fix
