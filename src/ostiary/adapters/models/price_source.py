"""Makes the price table from the genai-prices package. Only developers run this; the gateway never imports it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ostiary.adapters.models.prices import Priced, PriceList, Rates
from ostiary.adapters.models.providers import builtin_providers

_RATES = {"input": "input_mtok", "output": "output_mtok", "cache_read": "cache_read_mtok", "cache_write": "cache_write_mtok"}


def main(arguments: list[str], directory: Path) -> int:
    """`--update` writes the table; otherwise say whether it is current, by the exit code too."""
    fresh = table()
    if arguments == ["--update"]:
        directory.mkdir(parents=True, exist_ok=True)
        for old in directory.glob("*.json"):
            old.unlink()
        for name, content in fresh.items():
            (directory / name).write_bytes(content)
        return 0
    current = {path.name: path.read_bytes() for path in directory.glob("*.json")}
    return 0 if current == fresh else 1


def table() -> Mapping[str, bytes]:
    """File name to content, for every provider that one of ours names, and those it falls back to."""
    from genai_prices.data import providers

    by_id = {provider.id: provider for provider in providers}
    wanted = {provider.prices for provider in builtin_providers().values() if provider.prices}
    for name in tuple(wanted):
        wanted.update(by_id[name].fallback_model_providers or ())
    return {f"{name}.json": _encoded(_list(by_id[name])) for name in sorted(wanted)}


def _encoded(listed: PriceList) -> bytes:
    """One model a line, so that an update is a diff a person can read."""
    plain = msgspec.to_builtins(listed)
    lines = b",\n".join(msgspec.json.encode(_without_blanks(model)) for model in plain["models"])
    return b'{"like":' + msgspec.json.encode(plain["like"]) + b',"models":[\n' + lines + b"\n]}\n"


def _without_blanks(model: dict[str, Any]) -> dict[str, Any]:
    rates = [
        {key: value for key, value in each.items() if value not in (None, "", 0.0) or key in _RATES} for each in model["rates"]
    ]
    return {"match": model["match"], "rates": [{k: v for k, v in each.items() if v is not None} for each in rates]}


def _list(provider: Any) -> PriceList:
    models = tuple(_priced(provider))
    return PriceList(models=models, like=tuple(provider.fallback_model_providers or ()))


def _priced(provider: Any) -> Iterator[Priced]:
    for model in provider.models:
        conditional = [(each.constraint, each.prices) for each in model.prices] if isinstance(model.prices, list) else []
        rates = tuple(_rates(*each) for each in conditional or [(None, model.prices)])
        if model.id.endswith(":free"):
            rates = (Rates(input=0.0, output=0.0),)
        # Priced by hours, pages or letters only, or not at all: nothing is known of a token of it.
        if all(each.input is None and each.output is None and not each.call for each in rates):
            rates = ()
        yield Priced(match=_match(model.match), rates=rates)


def _rates(constraint: Any, prices: Any) -> Rates:
    found = {name: _price(getattr(prices, theirs)) for name, theirs in _RATES.items()}
    per_thousand = prices.requests_kcount
    return Rates(
        **found,
        call=float(per_thousand) / 1000 if per_thousand is not None else 0.0,
        since=constraint.start_date.isoformat() if hasattr(constraint, "start_date") else "",
        daily=(_utc(constraint.start_time), _utc(constraint.end_time)) if hasattr(constraint, "start_time") else None,
    )


def _utc(time: Any) -> str:
    from genai_prices.types import _utc_timetz

    return str(_utc_timetz(time).replace(tzinfo=None).isoformat("microseconds"))


def _price(price: Any) -> Any:
    if price is None:
        return None
    if hasattr(price, "tiers"):
        return float(price.base), tuple((tier.start, float(tier.price)) for tier in price.tiers)
    return float(price)


def _match(clause: Any) -> dict[str, object]:
    fields = {"equals": "is", "starts_with": "starts", "ends_with": "ends", "contains": "has"}
    for theirs, ours in fields.items():
        if hasattr(clause, theirs):
            return {ours: getattr(clause, theirs).lower()}
    if hasattr(clause, "regex"):
        return {"like": clause.regex}
    kind = "or" if hasattr(clause, "or_") else "and"
    return {kind: [_match(each) for each in getattr(clause, f"{kind}_")]}
