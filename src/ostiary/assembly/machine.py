"""The machine's own clock and chance, behind the ports."""

import os
import time

import anyio


class SystemClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(max(seconds, 0))


_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class SortableIds:
    """`turn_01j…`: milliseconds first, then 60 random bits; sorts by time of making, also within a millisecond."""

    def __init__(self) -> None:
        self._last = 0
        self._chance = b""

    def new(self, kind: str) -> str:
        # One system call yields the randomness of many ids.
        chance = self._chance or os.urandom(1024)
        self._chance = chance[8:]
        made = max((time.time_ns() // 1_000_000) << 60 | int.from_bytes(chance[:8]) >> 4, self._last + 1)
        self._last = made
        return f"{kind}_{_spell(made)}"


def _spell(number: int) -> str:
    letters = []
    for _ in range(22):
        number, place = divmod(number, 32)
        letters.append(_ALPHABET[place])
    return "".join(reversed(letters))
