"""What a call costs, from a table that ships: one small file per provider, read when its first answer is priced.

The table is made from the genai-prices package, which only developers need:

    python -m ostiary.adapters.models.prices --update
"""

import re
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ostiary.adapters.models.providers import Cost, builtin_providers
from ostiary.contracts.model import ModelRef, Usage
from ostiary.contracts.records import dataclass

_DATA = Path(__file__).with_name("data") / "prices"
_MILLION = 1_000_000.0

Price = float | tuple[float, tuple[tuple[int, float], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """USD per million tokens; `call` is USD per call. A tiered price is (base, ((above, price), ...)).

    `since` (a date) or `daily` (two times of day) say when they hold, in UTC.
    """

    input: Price | None = None
    output: Price | None = None
    cache_read: Price | None = None
    cache_write: Price | None = None
    call: float = 0.0
    since: str = ""
    daily: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """A model: which names are its, and its rates, of which the last that holds counts."""

    match: dict[str, object]
    rates: tuple[Rates, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """One provider. What it does not list may be priced as at the providers of `like`."""

    models: tuple[Priced, ...]
    like: tuple[str, ...] = ()


class Prices:
    """`own(ref)` is the owner's price and wins; `table(provider)` is a provider's name in the table, "" if it has none.

    `free(provider)` says that calls cost nothing, such as to a model on this machine. A price that is not known is None.
    """

    def __init__(
        self,
        *,
        own: Callable[[ModelRef], Cost | None] = lambda ref: None,
        table: Callable[[str], str] | None = None,
        free: Callable[[str], bool] = lambda provider: False,
        directory: Path = _DATA,
    ) -> None:
        self._own = own
        self._table = table or _built_in_table
        self._free = free
        self._directory = directory
        self._lists: dict[str, PriceList | None] = {}
        self._found: dict[ModelRef, tuple[Rates, ...]] = {}

    def cost(self, ref: ModelRef, usage: Usage, at: float) -> float | None:
        """USD of one call at the UTC time `at`."""
        own = self._own(ref)
        if own is not None:
            rates = Rates(input=own.input, output=own.output, cache_read=own.cache_read, cache_write=own.cache_write)
            return total(rates, usage)
        if self._free(ref.provider):
            return 0.0
        known = self._found.get(ref)
        if known is None:
            known = self._found[ref] = self._look_up(ref)
        return total(_holding(known, at), usage) if known else None

    def _look_up(self, ref: ModelRef) -> tuple[Rates, ...]:
        name = self._table(ref.provider)
        listed = self._list(name)
        if listed is None:
            return ()
        for source in (listed, *(self._list(other) for other in listed.like)):
            for priced in source.models if source is not None else ():
                if _matches(priced.match, ref.model.lower()):
                    return priced.rates
        return ()

    def _list(self, name: str) -> PriceList | None:
        if name and name not in self._lists:
            path = self._directory / f"{name}.json"
            self._lists[name] = msgspec.json.decode(path.read_bytes(), type=PriceList) if path.is_file() else None
        return self._lists.get(name)


def _built_in_table(provider: str) -> str:
    known = builtin_providers().get(provider)
    return known.prices if known is not None else ""


def total(rates: Rates, usage: Usage) -> float:
    """Tokens of a cache without a price of its own cost as much as any other input."""
    whole = usage.input + usage.cache_read + usage.cache_write
    plain = usage.input
    cost = rates.call
    for price, count in ((rates.cache_read, usage.cache_read), (rates.cache_write, usage.cache_write)):
        if price is None:
            plain += count
        else:
            cost += _at(price, whole) * count / _MILLION
    if rates.input is not None:
        cost += _at(rates.input, whole) * plain / _MILLION
    if rates.output is not None:
        cost += _at(rates.output, whole) * usage.output / _MILLION
    return cost


def _at(price: Price, whole: int) -> float:
    if not isinstance(price, tuple):
        return price
    base, tiers = price
    return next((rate for above, rate in reversed(tiers) if whole > above), base)


def _holding(rates: tuple[Rates, ...], at: float) -> Rates:
    moment = datetime.fromtimestamp(at, UTC)
    day, time = moment.date().isoformat(), moment.time().isoformat("microseconds")
    return next((rate for rate in reversed(rates) if _holds(rate, day, time)), rates[0])


def _holds(rates: Rates, day: str, time: str) -> bool:
    if rates.since and day < rates.since:
        return False
    if rates.daily is None:
        return True
    start, end = rates.daily
    return start <= time < end if start <= end else time >= start or time < end


def _matches(clause: Mapping[str, object], name: str) -> bool:
    [(kind, wanted)] = clause.items()
    if isinstance(wanted, str):
        return _TESTS[kind](name, wanted)
    clauses = wanted if isinstance(wanted, list) else []
    found = (_matches(each, name) for each in clauses)
    return any(found) if kind == "or" else all(found)


_TESTS: Mapping[str, Callable[[str, str], bool]] = {
    "is": lambda name, wanted: name == wanted,
    "starts": lambda name, wanted: name.startswith(wanted),
    "ends": lambda name, wanted: name.endswith(wanted),
    "has": lambda name, wanted: wanted in name,
    "like": lambda name, wanted: re.search(wanted, name) is not None,
}

if __name__ == "__main__":
    from ostiary.adapters.models.price_source import main

    sys.exit(main(sys.argv[1:], _DATA))
