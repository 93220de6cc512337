"""`ostiary up`: run the gateway in the foreground."""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from ostiary.contracts.errors import OstiaryError

if TYPE_CHECKING:
    from collections.abc import Callable

    import anyio
    import typer


class Asked(NamedTuple):
    port: int | None = None
    home: Path | None = None
    json_logs: bool = False


def parse(arguments: list[str]) -> Asked | None:
    """The plain spellings, without loading the framework. None: not that plain, let the framework judge."""
    asked = Asked()
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if word == "--json-logs":
            asked = asked._replace(json_logs=True)
            continue
        value = value if equals else next(words, "")
        if name == "--port" and value.isascii() and value.isdigit() and int(value) <= 65535:
            asked = asked._replace(port=int(value))
        elif name == "--home" and value:
            asked = asked._replace(home=Path(value))
        else:
            return None
    return asked


def register(app: "typer.Typer") -> None:
    import typer

    @app.command()
    def up(
        port: Annotated[int | None, typer.Option(min=0, max=65535, help="Where to listen; 0 takes any free port.")] = None,
        home: Annotated[Path | None, typer.Option(help="The state directory.")] = None,
        json_logs: Annotated[bool, typer.Option("--json-logs", help="Log to the terminal as JSON lines.")] = False,
    ) -> None:
        """Run the gateway until it is stopped (Ctrl-C)."""
        run(Asked(port, home, json_logs))


def run(asked: Asked) -> None:
    """Prints `ready <url>` when it listens. Raises OstiaryError if it cannot start."""
    import gc

    # What a start makes is there to stay: looking through it again and again is an eighth of the time it takes. The gateway
    # collects when it listens.
    gc.disable()
    import anyio

    from ostiary.assembly.gateway import run_gateway
    from ostiary.assembly.logging import console
    from ostiary.cli.home import home as found
    from ostiary.cli.waiting import in_turn

    console(as_json=asked.json_logs)
    place = found(asked.home)

    async def serve() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(_until_signalled, group.cancel_scope)
            progress = progress_line(_on_stderr) if sys.stderr.isatty() else None
            await in_turn(place, lambda: run_gateway(place, asked.port, lambda url: _ready(url, place), progress))

    try:
        anyio.run(serve, backend_options={"use_uvloop": sys.platform != "win32"})
    except* OstiaryError as errors:
        raise first_of(errors) from None


async def _until_signalled(scope: "anyio.CancelScope") -> None:
    """The first signal stops gracefully; a second one ends the process as signals do."""
    import anyio

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            break
    if sys.stderr.isatty():
        print("\nStopping; turns under way get a moment to end. Ctrl-C again stops at once.", file=sys.stderr, flush=True)
    scope.cancel()


def first_of(errors: BaseExceptionGroup[OstiaryError]) -> OstiaryError:
    """Of several that came up in one group, the first: a person reads one sentence."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, OstiaryError) else OstiaryError(str(error))


def _ready(url: str, home: Path) -> None:
    print(f"ready {url}", flush=True)
    if sys.stdout.isatty():
        link = _link(url, home)
        print(f"\nopen {link}\n(it signs one browser in, once, within ten minutes)" if link else "", flush=True)
        name = typed()
        print(
            f"\nIn another terminal:  {name} chat\nor:                   {name} agent -m 'hello'\n"
            f"another browser:      {name} gateway link\nCtrl-C stops it.\n",
            flush=True,
        )


def typed() -> str:
    """What to type to get this very program from here: its name where a shell finds it, else its path."""
    import shutil

    program = Path(sys.argv[0]).absolute()
    found = shutil.which("ostiary")
    if found is not None and Path(found).absolute() == program:
        return "ostiary"
    if not program.is_relative_to(Path.cwd()):
        return str(program)
    near = program.relative_to(Path.cwd())
    # A bare name would be looked for elsewhere.
    return str(near) if len(near.parts) > 1 else f"./{near}"


def _link(url: str, home: Path) -> str:
    """Empty if there is no page, or the books cannot be written just now: the gateway runs all the same."""
    import os

    from ostiary.assembly.access import make_link

    try:
        return make_link(home, os.environ, url)
    except OstiaryError:
        return ""


def progress_line(write: "Callable[[str], object]") -> "Callable[[str, int, int], None]":
    """One line that is written over: the first start fetches half a gigabyte, and nobody should wonder. What it says already is
    not said again."""
    said = ""

    def show(what: str, done: int, total: int) -> None:
        nonlocal said
        is_done = 0 < total <= done
        line = f"\rfetching the embedded model, once ({what}): {100 * done // total if total else 0} %\033[K"
        if line != said:
            said = line
            write(line + "\n" * is_done)

    return show


def _on_stderr(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)
