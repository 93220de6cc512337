"""How many deliveries a hook takes in a while; more are told to come back."""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ostiary.gateway.errors import ApiError

_MOST_AT_ONCE = 32
_MOST_OF_ONE = 8


class Throttle:
    """A window for each hook's name, and the number of bodies being read, by address: both are known before a body is."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._windows: dict[str, deque[float]] = {}
        self._reading: Counter[str] = Counter()

    def take(self, name: str, *, requests: int, window: float) -> None:
        """Raises ApiError 429. `name` must come from the configuration: a stranger's would fill the memory."""
        now = self._monotonic()
        times = self._windows.get(name)
        if times is None or times.maxlen != requests:
            times = self._windows[name] = deque(times or (), maxlen=requests)
        if len(times) == requests and now - times[0] < window:
            wait = max(1, int(window - (now - times[0])))
            raise ApiError(429, "Too many deliveries; wait before the next.", code="rate_limit_exceeded", retry_after=wait)
        times.append(now)

    @contextmanager
    def reading(self, address: str) -> Iterator[None]:
        """While a body comes in. Raises ApiError 503: nobody holds all places by sending slowly."""
        if self._reading[address] >= _MOST_OF_ONE or self._reading.total() >= _MOST_AT_ONCE:
            raise ApiError(503, "Too many deliveries at once.", code="busy", retry_after=1)
        self._reading[address] += 1
        try:
            yield
        finally:
            self._reading[address] -= 1
            if not self._reading[address]:
                del self._reading[address]
