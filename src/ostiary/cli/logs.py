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

        path = _file(home())
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
    """New lines, each when it is whole; goes over to the new file when the log is turned over, and loses nothing then."""
    file: TextIO = path.open(encoding="utf-8", errors="replace")
    file.seek(0, 2)
    begun = ""
    try:
        while True:
            begun += file.readline()
            if begun.endswith("\n"):
                yield begun.rstrip("\n")
                begun = ""
                continue
            newer = _turned_over(path, file)
            if newer is None:
                time.sleep(_POLL_SECONDS)
                continue
            # What was still written to the old file after the last look at it.
            yield from (begun + file.read()).splitlines()
            file.close()
            file, begun = newer, ""
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


def _turned_over(path: Path, file: TextIO) -> TextIO | None:
    """The file that took its place, if one did."""
    import os

    try:
        if path.stat().st_ino == os.fstat(file.fileno()).st_ino:
            return None
        return path.open(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None


def _file(home: Path) -> Path:
    """Where the configuration puts it; the usual place if there is none that can be read."""
    import os

    from ostiary.assembly.config.load import load
    from ostiary.contracts.errors import OstiaryError

    try:
        named = load(home, os.environ).config.logging.file
    except OstiaryError:
        named = ""
    return Path(named) if named else home / "logs" / "ostiary.log"
