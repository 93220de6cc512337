"""`ostiary vault serve`: the vault as a process of its own."""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ostiary.contracts.errors import OstiaryError

if TYPE_CHECKING:
    import anyio
    import typer


def register_vault(app: "typer.Typer") -> None:
    """Add `serve` to `ostiary vault`."""
    import typer

    @app.command("serve")
    def command(
        socket: Annotated[str, typer.Option(help="Listen on a unix socket at this path, which only you can open.")] = "",
        host: Annotated[str, typer.Option(help="The address to listen at.")] = "",
        port: Annotated[int | None, typer.Option(min=0, max=65535, help="The port; 0 takes any free one.")] = None,
        home: Annotated[Path | None, typer.Option(help="The state directory.")] = None,
        json_logs: Annotated[bool, typer.Option("--json-logs", help="Log to the terminal as JSON lines.")] = False,
    ) -> None:
        """Keep the vault in a process of its own until it is stopped (Ctrl-C). See vault.mode: remote."""
        serve(socket=socket, host=host, port=port, home=home, json_logs=json_logs)


def serve(
    *, socket: str = "", host: str = "", port: int | None = None, home: Path | None = None, json_logs: bool = False
) -> None:
    """Prints `ready <address>` when it listens; runs until it is stopped. Raises OstiaryError if it cannot start."""
    import anyio

    from ostiary.assembly.logging import console
    from ostiary.assembly.vault_serve import run_vault
    from ostiary.cli.home import home as found
    from ostiary.cli.up import first_of

    console(as_json=json_logs)
    place = found(home)

    async def run() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(_until_signalled, group.cancel_scope)
            await run_vault(place, _ready, socket=socket, host=host, port=port)

    try:
        anyio.run(run, backend_options={"use_uvloop": sys.platform != "win32"})
    except* OstiaryError as errors:
        raise first_of(errors) from None


def _ready(url: str) -> None:
    print(f"ready {url}", flush=True)


async def _until_signalled(scope: "anyio.CancelScope") -> None:
    """The first signal stops gracefully; a second one ends the process as signals do."""
    import anyio

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            break
    scope.cancel()
