"""`ostiary vault serve`: the vault as a process of its own."""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ostiary.contracts.errors import OstiaryError

if TYPE_CHECKING:
    import anyio


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
