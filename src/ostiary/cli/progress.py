"""How far long work has come, on stderr: nothing for what is done within a second."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_QUIET_SECONDS = 1.0
_TERMINAL_SECONDS = 0.1
_PLAIN_SECONDS = 5.0


class Progress:
    """On a terminal one line that is written over; elsewhere a line now and then."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._is_terminal = sys.stderr.isatty()
        self._next = self._begun + (_QUIET_SECONDS if self._is_terminal else _PLAIN_SECONDS)
        self._width = 0

    def show(self, text: str) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + (_TERMINAL_SECONDS if self._is_terminal else _PLAIN_SECONDS)
        if not self._is_terminal:
            print(text, file=sys.stderr, flush=True)
            return
        print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)
        self._width = len(text)

    def of(self, what: str, done: int, total: int) -> None:
        self.show(f"{what} {done:,} of {total:,}")

    def clear(self) -> None:
        if self._width:
            print(f"\r{'':<{self._width}}\r", end="", file=sys.stderr, flush=True)
            self._width = 0


@contextmanager
def progress() -> Iterator[Progress]:
    shown = Progress()
    try:
        yield shown
    finally:
        shown.clear()
