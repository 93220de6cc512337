"""The vault as its users meet it: a process of its own beside the gateway's."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.journeys.gateway.house import OSTIARY

TOKEN = "tok-vault-0123456789abcdef-0123456789"


@dataclass(slots=True)
class VaultProcess:
    process: "subprocess.Popen[bytes]"
    url: str = ""

    def wait_ready(self) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith(b"ready "), line
        self.url = line.decode().split()[1]

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(20)
        assert self.process.stdout is not None
        self.process.stdout.close()


@dataclass(slots=True)
class VaultHome:
    path: Path

    def __post_init__(self) -> None:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    @property
    def socket(self) -> Path:
        return self.path / "vault.sock"

    @property
    def url(self) -> str:
        return f"unix:{self.socket}"

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        return {**kept, "HOME": str(self.path.parent), "OSTIARY_HOME": str(self.path), "VAULT_TOKEN": TOKEN}

    def begin(self, *options: str) -> VaultProcess:
        with (self.path.parent / "vault.stderr").open("ab") as stderr:
            process = subprocess.Popen(
                [sys.executable, OSTIARY, "vault", "serve", *(options or ("--socket", str(self.socket)))],
                env=self.environ,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
        return VaultProcess(process)

    @contextmanager
    def serving(self, *options: str) -> Iterator[VaultProcess]:
        vault = self.begin(*options)
        try:
            vault.wait_ready()
            yield vault
        finally:
            vault.end()
