"""Forks processes that back up, restore or change keys, and are struck dead at a chosen step or in a chosen write to the disk.

Reads one order per line; answers with the wait status and how many steps and writes a process made that was not struck. A step is
anything that makes, renames or removes a name, or opens a file to write.
"""

import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ostiary.adapters.keys.wrapping import heard
from ostiary.assembly.backup import Wish, create
from ostiary.assembly.config.load import load
from ostiary.assembly.credential_key import credentials_key
from ostiary.assembly.keys import store_key
from ostiary.assembly.passphrase import ask_passphrase
from ostiary.assembly.rekey import rekey
from ostiary.assembly.restore import restore

STEPS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate"}


class Steps:
    """Counts, and ends the process at the one it was told."""

    def __init__(self, strike: int) -> None:
        self.passed = 0
        self._strike = strike

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        is_writing = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if event not in STEPS and not is_writing:
            return
        self.passed += 1
        if self.passed == self._strike:
            os.kill(os.getpid(), signal.SIGKILL)


def quiet(part: str, done: int, total: int) -> None:
    return None


def back_up(home: Path, place: Path, recovery: str) -> None:
    create(home, store_key(home), load(home, {}).config, {}, Wish(to=place, is_incremental=True), quiet)


def put_back(home: Path, place: Path, recovery: str) -> None:
    restore(place, "", home, [heard(recovery)], force=True, progress=quiet)


def change_keys(home: Path, place: Path, recovery: str) -> None:
    rekey(home, ask=ask_passphrase, progress=quiet)


def seal(home: Path, place: Path, vault_key: str) -> None:
    credentials_key(home, bytes.fromhex(vault_key))


WORK: Mapping[str, Callable[[Path, Path, str], None]] = {
    "backup": back_up,
    "restore": put_back,
    "rekey": change_keys,
    "seal": seal,
}


def act(order: Mapping[str, Any]) -> str:
    library = ctypes.CDLL(None)
    steps = Steps(order["step"])
    sys.addaudithook(steps)
    library.strike(order["write"])
    WORK[order["work"]](Path(order["home"]), Path(order["place"]), order["recovery"])
    return json.dumps([steps.passed, int(library.writes_passed())])


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(writing, act(order).encode())
            os._exit(0)
        os.close(writing)
        said = os.read(reading, 100) or b"[0, 0]"
        os.close(reading)
        _, status = os.waitpid(pid, 0)
        print(json.dumps([status, *json.loads(said)]), flush=True)


if __name__ == "__main__":
    main()
