"""The two ends of a command's input and output: its own, which it is given, and ours."""

import os
import struct
import termios
from collections.abc import Callable
from contextlib import ExitStack
from fcntl import ioctl
from functools import cache

from ostiary.contracts.sandbox import Command

_END_OF_INPUT = b"\x04"
_ROWS, _COLUMNS = 24, 80


class Ends:
    """`near_in` and `near_out` are the command's and are let go by whoever opened them, once it has started."""

    def __init__(
        self, *, near_in: int = -1, near_out: int = -1, reader: int, writer: int | None, is_terminal: bool = False
    ) -> None:
        self.near_in, self.near_out = near_in, near_out
        self.reader, self.writer = reader, writer
        self._is_terminal = is_terminal
        for fd in (reader, writer):
            if fd is not None:
                os.set_blocking(fd, False)
        if is_terminal:
            ioctl(reader, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))

    def finish_input(self) -> None:
        """There is no more to come."""
        if self.writer is None:
            return
        if self._is_terminal:
            try:
                os.write(self.writer, _END_OF_INPUT)
            except OSError:
                return
        else:
            os.close(self.writer)
            self.writer = None

    def close(self) -> None:
        for fd in {self.reader, self.writer}:
            if fd is not None:
                os.close(fd)


def open_ends(command: Command, held: ExitStack, *, interactive: bool, terminal: Callable[[], tuple[int, int]] | None) -> Ends:
    """Pipes, or a terminal. Output and errors are one stream. Without input the command reads from nothing."""
    if terminal is not None:
        far, near = terminal()
        held.callback(os.close, near)
        return Ends(near_in=near, near_out=near, reader=far, writer=far, is_terminal=True)
    reader, near_out = os.pipe()
    held.callback(os.close, near_out)
    writer: int | None = None
    if interactive or command.stdin:
        near_in, writer = os.pipe()
        held.callback(os.close, near_in)
    else:
        near_in = nothing()
    return Ends(near_in=near_in, near_out=near_out, reader=reader, writer=writer)


@cache
def nothing() -> int:
    """A descriptor that never gives anything, for all who need one."""
    return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)


def text_of(reader: int) -> str:
    """What lies in a pipe now."""
    try:
        return os.read(reader, 4096).decode(errors="replace")
    except OSError:
        return ""
