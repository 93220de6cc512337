"""What is kept of a command's output: the beginning and the end, within a bound, and a count of what lies between."""


class HeadTail:
    def __init__(self, most: int) -> None:
        self._head_most = most // 2
        self._tail_most = most - self._head_most
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self._head_most - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        # Cut only now and then: each cut moves all that stays.
        if len(self._tail) > 2 * self._tail_most:
            self._trim()

    @property
    def left_out(self) -> int:
        return max(0, self.total - len(self._head) - self._tail_most)

    def whole(self) -> bytes:
        """Everything kept; where something is missing, a line says how much."""
        self._trim()
        if not self.left_out:
            return bytes(self._head + self._tail)
        return bytes(self._head) + f"\n[… {self.left_out} bytes left out …]\n".encode() + bytes(self._tail)

    def after(self, offset: int) -> bytes:
        """What is kept of the bytes from `offset` on."""
        self._trim()
        tail_from = self.total - len(self._tail)
        return bytes(self._head[max(0, offset) :] + self._tail[max(0, offset - tail_from) :])

    def _trim(self) -> None:
        if len(self._tail) > self._tail_most:
            del self._tail[: len(self._tail) - self._tail_most]
