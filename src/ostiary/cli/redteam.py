"""`ostiary redteam`: attack one's own rules, and see that ordinary wishes still work."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ostiary.assembly.redteam.running import Told


def register(root: typer.Typer) -> None:
    root.command()(redteam)


def redteam(
    only: Annotated[list[str] | None, typer.Option("--only", help="A shape (A to J), an attack's id, or benign.")] = None,
    prove: Annotated[
        bool, typer.Option("--prove", help="Play each attack again without the layer that stops it: then it must succeed.")
    ] = False,
    list_: Annotated[bool, typer.Option("--list", help="Only tell which attacks and errands there are.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Attack a copy of your configuration; exit code 1 if anything gets through."""
    import logging
    import os
    import sys
    from functools import partial

    import anyio

    from ostiary.assembly.redteam.reporting import lines, plain
    from ostiary.assembly.redteam.running import chosen, red_team
    from ostiary.cli.home import home
    from ostiary.cli.output import print_json, safe
    from ostiary.cli.up import first_of
    from ostiary.contracts.errors import OstiaryError

    attacks, errands = chosen(only or [])
    if list_:
        for attack in attacks:
            print(f"{attack.id:<24} {attack.layer:<12} {attack.name}")
        for errand in errands:
            print(f"{errand.id:<24} {'benign':<12} {errand.wish}")
        return
    # What the attacked copy says of itself is part of the play.
    logging.disable(logging.ERROR)
    total = len(attacks) + len(errands)
    told = _progress(total) if sys.stderr.isatty() and not as_json else _silently

    play = partial(red_team, home(), os.environ, attacks=attacks, errands=errands, prove=prove, told=told)
    try:
        report = anyio.run(play)
    except* OstiaryError as several:
        raise first_of(several) from None
    if as_json:
        print_json(plain(report))
    else:
        print("\n".join(safe(line) for line in lines(report)))
    if not report.is_good:
        raise typer.Exit(1)


def _silently(row: object) -> None:
    """Nobody watches."""


def _progress(total: int) -> "Told":
    """One line that counts, for whoever waits at a terminal."""
    import sys
    from itertools import count

    numbers = count(1)

    def told(row: object) -> None:
        number = next(numbers)
        end = "\n" if number == total else ""
        sys.stderr.write(f"\r{number} of {total} played{end}")
        sys.stderr.flush()

    return told
