"""Cutting a byte stream into events: server-sent events, and one JSON document per line."""

from ostiary.contracts.errors import ModelUnavailable

MAX_LINE = 1024 * 1024


class Lines:
    """Feed bytes, get the complete lines without their ends. Raises ModelUnavailable for a line above the limit."""

    __slots__ = ("_rest", "_who")

    def __init__(self, who: str) -> None:
        self._rest = b""
        self._who = who

    def feed(self, chunk: bytes) -> list[bytes]:
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > MAX_LINE or (len(chunk) > MAX_LINE and max(map(len, lines), default=0) > MAX_LINE):
            raise ModelUnavailable(f"{self._who} sent a line of more than {MAX_LINE:,} bytes.")
        return lines

    def end(self) -> list[bytes]:
        """What is left when the stream is over."""
        rest, self._rest = self._rest, b""
        return [rest] if rest else []


class ServerSentEvents:
    """The data of each event. Comments, ids and event names are passed over: every wire repeats the name in its data."""

    __slots__ = ("_data", "_lines", "_size", "_who")

    def __init__(self, who: str) -> None:
        self._lines = Lines(who)
        self._who = who
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        return self._collect(self._lines.feed(chunk))

    def end(self) -> list[bytes]:
        """An event that was not closed by an empty line counts too: some servers leave it out at the end."""
        return self._collect([*self._lines.end(), b""])

    def _collect(self, lines: list[bytes]) -> list[bytes]:
        events: list[bytes] = []
        for line in lines:
            if line.endswith(b"\r"):
                line = line[:-1]
            if not line:
                if self._data:
                    events.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                    self._data = []
                    self._size = 0
            elif line.startswith(b"data:"):
                self._size += len(line)
                if self._size > MAX_LINE:
                    raise ModelUnavailable(f"{self._who} sent an event of more than {MAX_LINE:,} bytes.")
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
        return events
