"""Starting a gateway that outlives the command, and ending one that runs."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ostiary.contracts.errors import BadInput, OstiaryError, StoreUnavailable

_READY_SECONDS = 60.0
_POLL_SECONDS = 0.05
_STOP_MORE_SECONDS = 15.0


class Run(NamedTuple):
    """A gateway that runs, as its run file tells."""

    pid: int
    url: str
    token: str


def running(home: Path) -> Run | None:
    """The gateway of this state directory. A run file that a crash left behind is nobody's, whoever has its pid by now."""
    try:
        found = json.loads((home / "run" / "gateway.json").read_bytes())
        run = Run(int(found["pid"]), str(found["url"]), str(found["token"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return run if run.pid > 1 and _is_gateway(run.pid) else None


def start(home: Path, port: int | None = None) -> Run:
    """A new process of its own, ready when this returns. Raises BadInput if one runs, OstiaryError if it does not start."""
    already = running(home)
    if already is not None:
        raise BadInput(f"the gateway runs already at {already.url}", hint="`ostiary gateway restart` starts it anew.")
    log = home / "logs" / "start.log"
    with _private(log) as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "ostiary.cli", "up", *(["--port", str(port)] if port is not None else [])],
            env={**os.environ, "OSTIARY_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
            cwd="/",
        )
    end = time.monotonic() + _READY_SECONDS
    while time.monotonic() < end:
        run = running(home)
        if run is not None and run.pid == process.pid:
            return run
        if process.poll() is not None:
            raise _failed(log)
        time.sleep(_POLL_SECONDS)
    process.kill()
    process.wait()
    raise StoreUnavailable(f"the gateway was not ready within {_READY_SECONDS:.0f} s", hint="See `ostiary logs`.")


def stop(home: Path, *, seconds: float, force: bool = False) -> Run | None:
    """End it gracefully: turns get their time, the rest is in the journal. None if none runs.

    Raises StoreUnavailable if it goes on beyond `seconds`; with `force` it is killed then, which loses nothing that it
    had accepted."""
    run = running(home)
    if run is None:
        return None
    _signal(run.pid, signal.SIGTERM)
    if not _is_gone(run.pid, seconds) and force:
        _signal(run.pid, signal.SIGKILL)
    if not _is_gone(run.pid, 5.0 if force else 0.0):
        raise StoreUnavailable(
            f"the gateway (process {run.pid}) still runs after {seconds:.0f} s", hint="Its turns go on; --force ends it at once."
        )
    return run


def patience(home: Path) -> float:
    """How long stopping may take: what running turns are given, and a little for the rest."""
    from ostiary.assembly.config.load import load

    try:
        return load(home, os.environ).config.gateway.drain_seconds + _STOP_MORE_SECONDS
    except OstiaryError:
        return 20.0 + _STOP_MORE_SECONDS


def _is_gone(pid: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while _is_gateway(pid):
        if time.monotonic() >= end:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _is_gateway(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        # Not Linux, where nothing more can be asked cheaply.
        return not Path("/proc/self").exists()
    # An ended process that nobody has waited for yet has no words left.
    return b"ostiary.cli" in words or any(word.rpartition(b"/")[2] == b"ostiary" for word in words[:2])


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
    except PermissionError:
        raise StoreUnavailable(f"process {pid} belongs to somebody else", hint="Stop it as the user who started it.") from None


@contextlib.contextmanager
def _private(path: Path) -> Iterator[int]:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be written: {error.strerror}", hint="Check the folder's owner.") from None
    try:
        yield handle
    finally:
        os.close(handle)


def _failed(log: Path) -> OstiaryError:
    """What the process said before it ended."""
    said = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    for index, line in enumerate(said):
        if line.startswith("error: "):
            return OstiaryError(line.removeprefix("error: "), hint=" ".join(said[index + 1 : index + 3]))
    return OstiaryError("the gateway ended at once", hint=" ".join(said[-2:]) or "See `ostiary logs`.")
