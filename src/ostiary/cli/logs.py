"""`ostiary logs`: the newest lines of the log, and those to come."""

import json
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

if TYPE_CHECKING:
    import typer

_POLL_SECONDS = 0.25


def register(app: "typer.Typer") -> None:
    import typer

    @app.command()
    def logs(
        follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new lines until Ctrl-C.")] = False,
        lines: Annotated[int, typer.Option("-n", min=0, max=100_000, help="How many of the newest lines.")] = 50,
        as_json: Annotated[bool, typer.Option("--json", help="The lines as they are in the file.")] = False,
    ) -> None:
        """Print the newest lines of the log."""
        from ostiary.cli.home import home
        from ostiary.contracts.errors import BadInput

        path = home() / "logs" / "ostiary.log"
        if not path.exists():
            raise BadInput(f"there is no log at {path}", hint="It begins when the gateway first runs: `ostiary up`.")
        for line in newest(path, lines):
            print(line if as_json else shown(line))
        if follow:
            sys.stdout.flush()
            for line in following(path):
                print(line if as_json else shown(line), flush=True)


def newest(path: Path, count: int) -> list[str]:
    with path.open(encoding="utf-8", errors="replace") as file:
        return [line.rstrip("\n") for line in deque(file, maxlen=count)]


def following(path: Path) -> Iterator[str]:
    """New lines as they are written; goes over to the new file when the log is turned over."""
    file: TextIO = path.open(encoding="utf-8", errors="replace")
    file.seek(0, 2)
    try:
        while True:
            line = file.readline()
            if line:
                yield line.rstrip("\n")
                continue
            file = _turned_over(path, file)
            time.sleep(_POLL_SECONDS)
    finally:
        file.close()


def shown(line: str) -> str:
    """A JSON line as people read it; any other line as it is."""
    from ostiary.cli.output import safe

    try:
        entry = json.loads(line)
        head = f"{entry['at']}  {entry['level']:<7} {entry['logger'].removeprefix('ostiary.')}: {entry['message']}"
        return safe(head + (f"\n{entry['trace']}" if entry.get("trace") else ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        return safe(line)


def _turned_over(path: Path, file: TextIO) -> TextIO:
    import os

    try:
        if path.stat().st_ino == os.fstat(file.fileno()).st_ino:
            return file
        newer = path.open(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return file
    file.close()
    return newer
