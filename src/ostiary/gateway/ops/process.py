"""What the system says about this process."""

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path

_SELF = Path("/proc/self")
_LAG_SECONDS = 1.0
_LAG_WINDOW = 60


def resident_bytes() -> int:
    """Where the system does not tell the present size, the largest so far."""
    try:
        return int((_SELF / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        import resource

        largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return largest if sys.platform == "darwin" else largest * 1024


def open_files() -> int:
    """Without the one that is open for counting."""
    try:
        return len(os.listdir("/dev/fd")) - 1
    except OSError:
        return 0


def cpu_seconds() -> float:
    return time.process_time()


def threads() -> int:
    return threading.active_count()


class LoopLag:
    """How late the event loop woke a sleeper: the largest delay of the last minute."""

    def __init__(self, *, monotonic: Callable[[], float], sleep: Callable[[float], Awaitable[None]]) -> None:
        self._monotonic = monotonic
        self._sleep = sleep
        self._seen: deque[float] = deque(maxlen=_LAG_WINDOW)

    @property
    def seconds(self) -> float:
        return max(self._seen, default=0.0)

    async def measure(self) -> None:
        """Until cancelled."""
        while True:
            begun = self._monotonic()
            await self._sleep(_LAG_SECONDS)
            self._seen.append(max(0.0, self._monotonic() - begun - _LAG_SECONDS))
