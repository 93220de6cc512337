"""Child processes that are always ended: by their pid, on the way out, whatever the way."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

READY_SECONDS = 30.0
_END_SECONDS = 15.0


class Broken(Exception):
    """Something that was to be measured did not run."""


@dataclass(frozen=True, slots=True)
class Child:
    """A process that said `ready <url>`; `ready_after` is how long that took."""

    pid: int
    url: str
    began: float
    ready_after: float


@contextmanager
def running(command: Sequence[str | Path], environ: Mapping[str, str], log: Path) -> Iterator[Child]:
    """Started, ready, and ended on leaving. Its standard error goes to `log`. Raises Broken if it does not become ready."""
    with log.open("ab") as errors:
        began = time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in command],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
    try:
        url = _await_ready(process, log)
        yield Child(process.pid, url, began, time.perf_counter() - began)
    finally:
        _end(process)


def finish(command: Sequence[str | Path], environ: Mapping[str, str], *, seconds: float) -> str:
    """Run to its end and give its standard output. Raises Broken if it fails or takes longer."""
    words = [str(word) for word in command]
    process = subprocess.Popen(
        words,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, complained = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Broken(f"{' '.join(words[:3])} did not end within {seconds:.0f} s") from None
    finally:
        _kill_session(process)
    if process.returncode != 0:
        raise Broken(f"{' '.join(words[:3])} ended with {process.returncode}: {last_lines(complained)}")
    return said


def _kill_session(process: subprocess.Popen[str]) -> None:
    """An interrupted command may have children of its own (pip has); they are in the session that was made for it."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _await_ready(process: subprocess.Popen[bytes], log: Path) -> str:
    assert process.stdout is not None
    said = b""
    end = time.monotonic() + READY_SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while time.monotonic() < end:
            if not selector.select(timeout=0.5):
                continue
            piece = os.read(process.stdout.fileno(), 4096)
            said += piece
            for line in said.split(b"\n")[:-1]:
                if line.startswith(b"ready "):
                    return line.split()[1].decode()
            if not piece:
                break
    raise Broken(f"{process.args!r} did not become ready: {last_lines(log.read_text())}")


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.terminate()
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def last_lines(text: str) -> str:
    """The end of what a program said, on one line."""
    return " / ".join(text.strip().splitlines()[-3:])[:400]
