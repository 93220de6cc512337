"""Noticing that the file has changed, and living on with the last good one when the change is bad."""

import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ostiary.assembly.config.files import read_text, unreadable
from ostiary.assembly.config.load import Loaded, load, remember_good
from ostiary.assembly.config.parse import Extensions
from ostiary.assembly.config.paths import config_path
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import ConfigInvalid

INTERVAL = 1.0

Signature = tuple[int, int, int]


async def watch(
    home: Path,
    environ: Mapping[str, str],
    *,
    clock: Clock,
    current: Loaded,
    extensions: Extensions | None = None,
    interval: float = INTERVAL,
) -> AsyncIterator[Loaded | ConfigInvalid]:
    """Every change of the file from `current` on, until cancelled: a new generation, or why it was not taken.

    A bad file is reported once, and only after it has lain still for one interval: an editor may be half-way through.
    A bad file that becomes what it was gives the current generation again.
    """
    path = config_path(home, environ)
    seen: Signature | None = None
    reported: Signature | None = None
    broken = False
    while True:
        signature = _signature(path)
        if signature != seen:
            seen, settled = signature, False
        else:
            settled = True
        if signature != reported:
            found = _look(home, environ, path, current, extensions)
            if isinstance(found, Loaded):
                reported, current, broken = signature, found, False
                yield found
            elif found is None:
                reported = signature
                if broken:
                    broken = False
                    yield current
            elif settled:
                reported, broken = signature, True
                yield found
        await clock.sleep(interval)


def _look(
    home: Path, environ: Mapping[str, str], path: Path, current: Loaded, extensions: Extensions | None
) -> Loaded | ConfigInvalid | None:
    """None if the file says what it said before."""
    try:
        text = read_text(path)
        if text is None and not current.text:
            return None
        if text is None:
            raise unreadable(path, "is gone", "Put it back; the gateway goes on with what it has.")
        if text == current.text:
            return None
        loaded = load(home, environ, extensions=extensions, generation=current.generation + 1)
    except ConfigInvalid as error:
        return error
    except OSError as error:
        return unreadable(path, f"cannot be taken over: {error.strerror}")
    remember_good(home, loaded)
    return loaded


def _signature(path: Path) -> Signature:
    try:
        status = os.stat(path)
    except OSError:
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_size, status.st_ino)


@dataclass(slots=True, eq=False)
class Live:
    """The newest good generation, and what is wrong with the file if it is not the newest file."""

    current: Loaded
    problem: ConfigInvalid | None = None

    def take(self, change: Loaded | ConfigInvalid) -> bool:
        """True if there is a new generation. A file put back as it was clears the problem too."""
        if isinstance(change, ConfigInvalid):
            self.problem = change
            return False
        is_new = change.generation != self.current.generation
        self.current, self.problem = change, None
        return is_new
