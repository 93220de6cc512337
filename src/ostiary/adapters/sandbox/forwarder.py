"""Carries 127.0.0.1:3128 inside to the proxy's socket, then becomes the command. Run by the sandbox's own python3, of any
version, where there is no compiled fork server: standard library only, and nothing of this package.

    python3 -I -S -c <this text> SOCKET COMMAND...
"""

import os
import select
import socket
import sys

PORT = 3128


def carry(listener: socket.socket, path: str) -> None:
    """Until killed. A connection whose far side cannot take more is not read further."""
    other: dict[socket.socket, socket.socket] = {}
    waiting: dict[socket.socket, bytes] = {}
    while True:
        reading = [listener] + [one for one in other if not waiting[other[one]]]
        readable, writable, _ = select.select(reading, [one for one in other if waiting[one]], [])
        for one in writable:
            if one in other:
                waiting[one] = waiting[one][one.send(waiting[one]) :]
        for one in readable:
            if one is listener:
                near = listener.accept()[0]
                far = socket.socket(socket.AF_UNIX)
                try:
                    far.connect(path)
                except OSError:
                    near.close()
                    continue
                other[near], other[far], waiting[near], waiting[far] = far, near, b"", b""
            elif one in other:
                try:
                    data = one.recv(16384)
                except OSError:
                    data = b""
                waiting[other[one]] = data
                if not data:
                    pair = one, other[one]
                    for each in pair:
                        del other[each], waiting[each]
                        each.close()


def main() -> None:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", PORT))
    listener.listen(64)
    if os.fork() == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        carry(listener, sys.argv[1])
    listener.close()
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 - the command itself, already fenced


if __name__ == "__main__":
    main()
