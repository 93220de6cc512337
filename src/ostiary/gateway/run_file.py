"""`run/gateway.json`: where the running gateway is, for the command line of the same user on the same machine.

It holds a token of its own that dies with the run, so that no lasting secret is written outside the credential store.
"""

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path


class RunFile:
    """`token` goes to the door before it opens; `announce` writes the file once it listens."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.token = secrets.token_urlsafe(32)

    def announce(self, url: str, certificate: str = "") -> None:
        """`certificate` is the file whose bearer is us, if we speak TLS."""
        _write(self._path, {"url": url, "pid": os.getpid(), "token": self.token, "certificate": certificate})


def keep_private(home: Path) -> None:
    """Mark the file as one for this process alone: its gateway ends with the command that began it."""
    path = home / "run" / "gateway.json"
    _write(path, {**json.loads(path.read_text()), "private": True})


def _write(path: Path, content: Mapping[str, object]) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        draft.unlink()
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(json.dumps(content))
    draft.replace(path)


@contextmanager
def run_file(home: Path) -> Iterator[RunFile]:
    """Removed on the way out, if it is still ours. The caller holds the state directory, so nobody else writes it."""
    path = home / "run" / "gateway.json"
    run = RunFile(path)
    try:
        yield run
    finally:
        with suppress(OSError, ValueError):
            if json.loads(path.read_text()).get("token") == run.token:
                path.unlink()
