"""Carries 127.0.0.1:3128 inside to the proxy's socket, then becomes the command. Run by the sandbox's own python3, of any
version, where there is no compiled fork server: standard library only, and nothing of this package.

    python3 -I -S -c <this text> SOCKET COMMAND...
"""

import os
import socket
import sys
import threading

PORT = 3128
MOST = 32


def copy(source: socket.socket, target: socket.socket) -> None:
    """One direction, to its end; the other may go on."""
    try:
        while True:
            data = source.recv(16384)
            if not data:
                break
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        # Both directions of a broken connection end.
        source.close()
        target.close()


def serve(near: socket.socket, path: str, places: threading.Semaphore) -> None:
    with places, near, socket.socket(socket.AF_UNIX) as far:
        try:
            far.connect(path)
        except OSError:
            return
        back = threading.Thread(target=copy, args=(far, near), daemon=True)
        back.start()
        copy(near, far)
        back.join()


def carry(listener: socket.socket, path: str) -> None:
    """Until killed."""
    places = threading.Semaphore(MOST)
    while True:
        near, _ = listener.accept()
        threading.Thread(target=serve, args=(near, path, places), daemon=True).start()


def main() -> None:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", PORT))
    listener.listen(MOST)
    if os.fork() == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        carry(listener, sys.argv[1])
    listener.close()
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 - the command itself, already fenced


if __name__ == "__main__":
    main()
