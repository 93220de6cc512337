"""The witness: another process that sees what reaches the world. It stands for the attacker's server, for a service inside the
network, for files beside the gateway and for whoever receives messages, and counts what arrives.

Run as a program it serves two ports of 127.0.0.1, hears datagrams on a third, and takes orders as lines of JSON; it imports
nothing of the house.
"""

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

MOST = 1000
_LONGEST = 400


class Book:
    """What was seen since the last `reset`, and the pages that the outside server gives out without counting."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.seen: list[str] = []
        self.pages: dict[str, tuple[int, str, str]] = {}
        self.before: dict[str, bytes] = {}
        self.child: subprocess.Popen[bytes] | None = None
        self.lock = threading.Lock()

    def note(self, what: str) -> None:
        with self.lock:
            if len(self.seen) < MOST:
                self.seen.append(what[:_LONGEST])

    def files(self) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for folder, _, names in os.walk(self.folder):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    with open(path, "rb") as file:
                        found[path] = file.read(65_536)
                except OSError:
                    continue
        return found

    def reset(self) -> None:
        with self.lock:
            self.seen = []
            self.pages = {}
        self.before = self.files()
        if self.child is None or self.child.poll() is not None:
            self.child = subprocess.Popen(["sleep", "3600"], stdin=subprocess.DEVNULL)

    def look(self) -> list[str]:
        now = self.files()
        changed = [path for path in {*now, *self.before} if now.get(path) != self.before.get(path)]
        with self.lock:
            found = [*self.seen, *(f"file changed: {os.path.basename(path)}" for path in sorted(changed))]
        if self.child is not None and self.child.poll() is not None:
            found.append("a process of somebody else was ended")
        return found


def handler(book: Book, *, is_outside: bool) -> type[BaseHTTPRequestHandler]:
    """The outside server knows `/page/...`; everything else that arrives at either is counted."""

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(min(length, 1 << 20)).decode("utf-8", "replace")
            path = urlsplit(self.path).path
            status, kind, text = 200, "text/html", "<html><body><p>Hello.</p></body></html>"
            if is_outside and path in book.pages:
                status, kind, text = book.pages[path]
            else:
                where = "outside" if is_outside else "inside"
                book.note(f"{where}: {self.command} {unquote(self.path)} {body}".strip())
            content = text.encode() if status < 300 or status >= 400 else b""
            self.send_response(status)
            if not content and text:
                self.send_header("Location", text)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                with suppress(ConnectionError):
                    # Whoever asked has what they wanted, or was ended.
                    self.wfile.write(content)

        do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = _answer

        def log_message(self, format: str, *arguments: object) -> None:
            """Nobody reads it."""

    return Answering


def listen(book: Book, datagrams: socket.socket) -> None:
    """What a name server would hear: every datagram counts."""
    while True:
        data, _ = datagrams.recvfrom(2048)
        book.note(f"datagram: {data!r}")


def answer(book: Book, order: dict[str, Any]) -> object:
    match order.get("do"):
        case "reset":
            book.reset()
            return book.child.pid if book.child is not None else 0
        case "page":
            book.pages[str(order["path"])] = (int(order["status"]), str(order["kind"]), str(order["text"]))
            return True
        case "tell":
            book.note(str(order["what"]))
            return True
        case "look":
            return book.look()
        case _:
            return None


def main() -> None:
    book = Book(sys.argv[1])
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), handler(book, is_outside=each)) for each in (True, False)]
    for server in servers:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(("127.0.0.1", 0))
    threading.Thread(target=listen, args=(book, datagrams), daemon=True).start()
    ports = [*(server.server_address[1] for server in servers), datagrams.getsockname()[1]]
    print(json.dumps(ports), flush=True)  # noqa: T201 - its way of talking
    try:
        for line in sys.stdin:
            print(json.dumps(answer(book, json.loads(line))), flush=True)  # noqa: T201
    finally:
        if book.child is not None:
            book.child.kill()
            book.child.wait()


if __name__ == "__main__":
    main()
