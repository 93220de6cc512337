"""`ostiary up`: run the gateway in the foreground."""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ostiary.contracts.errors import OstiaryError

if TYPE_CHECKING:
    import anyio
    import typer


def register(app: "typer.Typer") -> None:
    import typer

    @app.command()
    def up(
        port: Annotated[int | None, typer.Option(min=0, max=65535, help="Where to listen; 0 takes any free port.")] = None,
        home: Annotated[Path | None, typer.Option(help="The state directory.")] = None,
        json_logs: Annotated[bool, typer.Option("--json-logs", help="Log to the terminal as JSON lines.")] = False,
    ) -> None:
        """Run the gateway until it is stopped (Ctrl-C)."""
        run(port, home, json_logs=json_logs)


def run(port: int | None, home: Path | None, *, json_logs: bool) -> None:
    """Prints `ready <url>` when it listens. Raises OstiaryError if it cannot start."""
    import anyio

    from ostiary.assembly.gateway import run_gateway
    from ostiary.assembly.logging import console
    from ostiary.cli.home import home as found

    console(as_json=json_logs)
    place = found(home)

    async def serve() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(_until_signalled, group.cancel_scope)
            await run_gateway(place, port, _ready)

    try:
        anyio.run(serve, backend_options={"use_uvloop": sys.platform != "win32"})
    except* OstiaryError as errors:
        raise _first(errors) from None


async def _until_signalled(scope: "anyio.CancelScope") -> None:
    """The first signal stops gracefully; a second one ends the process as signals do."""
    import anyio

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            break
    scope.cancel()


def _first(errors: BaseExceptionGroup[OstiaryError]) -> OstiaryError:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, OstiaryError) else OstiaryError(str(error))


def _ready(url: str) -> None:
    print(f"ready {url}", flush=True)
    if sys.stdout.isatty():
        print(
            "\nIn another terminal:  ostiary chat\nor:                   ostiary agent -m 'hello'\nCtrl-C stops it.\n", flush=True
        )
