"""One budget of wrong secrets for the whole door: every path, every kind of secret, HTTP and sockets."""

from collections import OrderedDict, deque
from collections.abc import Callable

from ostiary.gateway.auth.rules import FailureRules


class _Record:
    """One address's wrong tries."""

    __slots__ = ("closed_until", "last", "times")

    def __init__(self, size: int) -> None:
        self.times: deque[float] = deque(maxlen=size)
        self.closed_until = 0.0
        self.last = b""


class FailureBudget:
    """Counts per address and over all. Addresses are forgotten, the longest quiet first, when there are too many."""

    def __init__(
        self,
        rules: Callable[[], FailureRules],
        monotonic: Callable[[], float],
        on_failure: Callable[[str], None] = lambda address: None,
    ) -> None:
        self._rules = rules
        self._on_failure = on_failure
        self._monotonic = monotonic
        self._records: OrderedDict[str, _Record] = OrderedDict()
        self._all = _Record(1)

    def wait(self, address: str) -> int:
        """Seconds until secrets that a person chose are compared again for this address; 0 if they are."""
        now = self._monotonic()
        record = self._records.get(address)
        until = max(self._all.closed_until, record.closed_until if record else 0.0)
        return max(1, int(until - now)) if until > now else 0

    def count(self, address: str, mark: bytes = b"") -> int:
        """One wrong try; gives `wait` as it was before it. The same `mark` again in a row is no new guess and costs nothing."""
        rules = self._rules()
        record = self._record(address, rules)
        barred = self.wait(address)
        if barred or (mark and mark == record.last):
            return barred
        record.last = mark
        self._on_failure(address)
        _add(record, rules.attempts, rules, self._monotonic())
        _add(self._all, rules.attempts_of_all, rules, self._monotonic())
        return 0

    def __len__(self) -> int:
        return len(self._records)

    def _record(self, address: str, rules: FailureRules) -> _Record:
        record = self._records.get(address)
        if record is None:
            record = self._records[address] = _Record(rules.attempts)
            if len(self._records) > rules.addresses:
                self._records.popitem(last=False)
        self._records.move_to_end(address)
        return record


def _add(record: _Record, attempts: int, rules: FailureRules, now: float) -> None:
    if record.times.maxlen != attempts:
        record.times = deque(record.times, maxlen=attempts)
    record.times.append(now)
    if len(record.times) == attempts and now - record.times[0] < rules.window:
        record.closed_until = now + rules.lockout
        record.times.clear()
