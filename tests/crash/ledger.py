"""Effects as the outside world sees them: counted here, in another process than the one that is killed."""

import json
import socket
import threading
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Effect:
    """`life` counts the processes: an effect of a later life came after the kill that ended an earlier one."""

    life: int
    kind: str
    fields: dict[str, object]


@dataclass
class Ledger:
    """Listens on a unix socket; every note is on the list before the child is told so."""

    path: Path
    effects: list[Effect] = field(default_factory=list)
    life: int = 0
    _server: socket.socket | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _listening: list[threading.Thread] = field(default_factory=list)

    def hear_out(self) -> None:
        """After a death: wait for the last note that was on its way."""
        for thread in self._listening:
            thread.join(10)
        self._listening.clear()

    def __enter__(self) -> "Ledger":
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(self.path))
        self._server.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    def of(self, kind: str) -> list[Effect]:
        with self._lock:
            return [effect for effect in self.effects if effect.kind == kind]

    def count(self) -> int:
        with self._lock:
            return len(self.effects)

    def since(self, place: int) -> list[Effect]:
        with self._lock:
            return self.effects[place:]

    def _accept(self) -> None:
        assert self._server is not None
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection, self.life), daemon=True)
            # One that is not started yet cannot be waited for.
            thread.start()
            self._listening.append(thread)

    def _serve(self, connection: socket.socket, life: int) -> None:
        with connection, connection.makefile("rb") as lines:
            try:
                for line in lines:
                    noted = json.loads(line)
                    with self._lock:
                        self.effects.append(Effect(life, noted.pop("kind"), noted))
                    connection.sendall(b".")
            except (OSError, ValueError):
                # The child was killed in the middle of a line: what was not whole did not happen.
                return


class Pencil:
    """The child's end: `note` returns when the ledger has it."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(path))
        self._lock = threading.Lock()

    def note(self, kind: str, **fields: object) -> None:
        with self._lock:
            self._socket.sendall(json.dumps({"kind": kind, **fields}).encode() + b"\n")
            self._socket.recv(1)
