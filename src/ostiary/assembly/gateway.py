"""The processes people start: the gateway with its door, an engine without one, a reader beside either."""

import gc
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio

from ostiary import __version__
from ostiary.adapters.models.providers import EMBEDDED
from ostiary.assembly.house import House, open_house
from ostiary.assembly.vault import STORE, Reader, elsewhere, open_vault
from ostiary.contracts.errors import OstiaryError
from ostiary.core.routing.supervisor import Supervisor

if TYPE_CHECKING:
    from ostiary.gateway.tls import Certificate

log = logging.getLogger("ostiary.gateway")

__all__ = ["House", "open_engine", "open_house", "open_reader", "run_gateway"]

GC_THRESHOLDS = (20_000, 20, 50)

Progress = Callable[[str, int, int], None]


@asynccontextmanager
async def open_engine(home: Path) -> AsyncIterator[Supervisor]:
    """The engine alone, for a command that needs no door."""
    async with open_house(home) as house:
        yield house.engine


@asynccontextmanager
async def open_reader(home: Path) -> AsyncIterator[Reader]:
    """Read what is stored, also while a gateway runs. Raises StoreRefused, StoreUnavailable."""
    from ostiary.adapters.store.sqlite import open_reader
    from ostiary.assembly.keys import store_key
    from ostiary.assembly.machine import SystemClock

    remote = elsewhere(home)
    if remote is not None:
        async with open_vault(home, b"", clock=SystemClock(), config=remote, embedder=None, patience=0.0) as vault:
            yield vault.store
        return
    async with open_reader(home / STORE, store_key(home)) as reader:
        yield reader


async def run_gateway(home: Path, port: int | None, on_ready: Callable[[str], None], on_progress: Progress | None = None) -> None:
    """Serve until cancelled. `on_ready` is told the address once it listens, `on_progress` how the weights come along.

    Installs no signal handlers. Raises as `open_house`, and BadInput for an address that cannot be had."""
    from ostiary.assembly.door import open_entrance
    from ostiary.assembly.logging import log_to_file
    from ostiary.gateway.addresses import host_for
    from ostiary.gateway.run_file import run_file
    from ostiary.gateway.server import serve

    async with open_house(home) as house, anyio.create_task_group() as group:
        config = house.newest.live.current.config
        to = config.logging
        log_to_file(
            Path(to.file) if to.file else home / "logs" / "ostiary.log", level=to.level, max_bytes=to.max_bytes, keep=to.keep
        )
        with run_file(home) as run:
            async with open_entrance(house, run_token=run.token) as entrance:
                certificate = _certificate(home, house)

                def ready(url: str) -> None:
                    run.announce(url, str(certificate.certificate) if certificate is not None else "")
                    entrance.place.url = url
                    house.outlet.keep_off(urlsplit(url).port or 0)
                    log.info("version %s listens at %s", __version__, url)
                    on_ready(url)
                    group.start_soon(_set_aside)
                    group.start_soon(entrance.socket.run)
                    group.start_soon(entrance.gate.keep_books)
                    group.start_soon(entrance.operations.run)
                    group.start_soon(_warm_up, house, on_progress)

                await serve(
                    entrance.app,
                    host=host_for(config.gateway.bind),
                    port=config.gateway.port if port is None else port,
                    tls=certificate,
                    on_ready=ready,
                    drain_seconds=config.gateway.drain_seconds,
                    max_frame=config.gateway.max_payload_bytes,
                    ping_seconds=config.gateway.ping_interval_ms / 1000,
                )
        group.cancel_scope.cancel()


async def _set_aside() -> None:
    """What was made so far lives as long as the process: the collector need not look at it again, and a turn makes few cycles,
    so it may look less often. Done once nobody waits for the start."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    gc.enable()


def _certificate(home: Path, house: House) -> "Certificate | None":
    settings = house.newest.live.current.config.gateway.tls
    if not settings.enabled:
        return None
    from ostiary.gateway import tls
    from ostiary.gateway.addresses import own_addresses

    if settings.cert_path:
        return tls.given(Path(settings.cert_path).expanduser(), Path(settings.key_path).expanduser())
    made = tls.own(home / "tls", ("localhost", *own_addresses()))
    log.warning("TLS fingerprint (SHA-256): %s", made.fingerprint)
    return made


async def _warm_up(house: House, on_progress: Progress | None) -> None:
    """What the first turn will need, while nobody waits for it."""
    try:
        primary = house.catalogue.choose(house.newest.rules.default_agent).primary
        if primary.provider == EMBEDDED:
            await house.embedded.ensure_weights(on_progress or _log_progress())
    except OstiaryError as error:
        log.warning("%s %s", error, error.hint)


def _log_progress() -> Progress:
    shown = -1

    def report(what: str, done: int, total: int) -> None:
        nonlocal shown
        percent = 100 * done // total if total else 0
        if percent // 10 != shown:
            shown = percent // 10
            log.info("%s: %d %%", what, percent)

    return report
