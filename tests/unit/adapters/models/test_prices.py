from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from genai_prices import Usage as TheirUsage
from genai_prices import calc_price
from genai_prices.data import providers as their_providers

from ostiary.adapters.models import price_source
from ostiary.adapters.models.prices import _DATA, Prices, Rates, total
from ostiary.adapters.models.providers import Cost, builtin_providers
from ostiary.contracts.model import ModelRef, Usage

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
THEIRS = {provider.prices: provider.name for provider in builtin_providers().values() if provider.prices}
PLAIN = Usage(input=1200, output=300)
CACHED = Usage(input=700, output=250, cache_read=5000, cache_write=900)
LONG = Usage(input=150_000, output=4000, cache_read=200_000, cache_write=10_000)


def their_cost(provider: str, model: str, usage: Usage, at: datetime) -> Decimal:
    """What genai-prices itself says; its input counts the caches too."""
    everything = usage.input + usage.cache_read + usage.cache_write
    theirs = TheirUsage(
        input_tokens=everything,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
    )
    return calc_price(theirs, model, provider_id=provider, genai_request_timestamp=at).total_price


def test_the_table_is_the_one_that_the_installed_genai_prices_gives() -> None:
    assert price_source.main([], _DATA) == 0, "run: python -m ostiary.adapters.models.prices --update"


def test_the_table_is_small() -> None:
    assert sum(path.stat().st_size for path in _DATA.glob("*.json")) < 400_000


def test_updating_writes_the_whole_table_and_removes_what_is_gone(tmp_path: Path) -> None:
    (tmp_path / "gone.json").write_text("{}")
    assert price_source.main([], tmp_path) == 1
    assert price_source.main(["--update"], tmp_path) == 0
    assert price_source.main([], tmp_path) == 0


@pytest.mark.parametrize("usage", [PLAIN, CACHED, LONG], ids=["plain", "cached", "long"])
@pytest.mark.parametrize("theirs", THEIRS)
def test_costs_are_those_of_genai_prices_over_the_models_of_a_provider(theirs: str, usage: Usage) -> None:
    [provider] = [provider for provider in their_providers if provider.id == theirs]
    prices = Prices()
    prefix = {"fireworks": "accounts/fireworks/models/"}.get(theirs, "")
    every = 1 + len(provider.models) // 200
    names = [f"{prefix}{model.id}" for model in provider.models[::every]]
    priced = [
        (name, cost)
        for name in names
        if (cost := prices.cost(ModelRef(THEIRS[theirs], name), usage, NOW.timestamp())) is not None
    ]
    expected = [(model, float(their_cost(theirs, model, usage, NOW))) for model, _ in priced]
    assert len(priced) >= 5
    assert [model for model, _ in priced] == [model for model, _ in expected]
    assert [cost for _, cost in priced] == pytest.approx([cost for _, cost in expected], rel=1e-9)


@pytest.mark.parametrize("hour", [0, 4, 8, 12, 16, 20])
@pytest.mark.parametrize("year", [2025, 2026])
def test_prices_that_change_with_the_day_or_the_hour_follow(year: int, hour: int) -> None:
    at = datetime(year, 7, 15, hour, 30, tzinfo=UTC)
    prices = Prices()
    for model in ("deepseek-chat", "deepseek-reasoner"):
        cost = prices.cost(ModelRef("deepseek", model), CACHED, at.timestamp())
        assert cost == pytest.approx(float(their_cost("deepseek", model, CACHED, at)), rel=1e-9)


def test_every_built_in_default_model_of_a_priced_provider_has_a_price() -> None:
    prices = Prices()
    without = [
        provider.name
        for provider in builtin_providers().values()
        if provider.prices
        and provider.default
        and prices.cost(ModelRef(provider.name, provider.default), PLAIN, NOW.timestamp()) is None
    ]
    assert without == []


@pytest.mark.parametrize(
    "ref",
    ["anthropic/claude-unheard-of", "venice/anything", "nosuch/model", "openai/whisper-1", "huggingface/openai/gpt-oss-120b"],
)
def test_what_is_not_known_is_none_and_never_zero(ref: str) -> None:
    assert Prices().cost(ModelRef.parse(ref), PLAIN, NOW.timestamp()) is None


def test_a_free_model_costs_nothing() -> None:
    assert Prices().cost(ModelRef("openrouter", "meta-llama/llama-3.3-70b-instruct:free"), PLAIN, NOW.timestamp()) == 0


def test_a_provider_on_this_machine_costs_nothing() -> None:
    assert Prices(free=lambda provider: provider == "ollama").cost(ModelRef("ollama", "llama3.3"), PLAIN, NOW.timestamp()) == 0


def test_the_owners_price_wins() -> None:
    prices = Prices(own=lambda ref: Cost(input=1, output=10, cache_read=0.5), free=lambda provider: True)
    usage = Usage(input=1_000_000, output=1_000_000, cache_read=1_000_000, cache_write=1_000_000)
    assert prices.cost(ModelRef("anthropic", "claude-opus-5"), usage, NOW.timestamp()) == pytest.approx(1 + 10 + 0.5 + 1)


def test_crossing_a_tier_prices_every_token_at_it() -> None:
    rates = Rates(input=(1.0, ((200_000, 2.0),)), output=(5.0, ((200_000, 8.0),)))
    assert total(rates, Usage(input=200_000, output=1_000_000)) == pytest.approx(0.2 + 5)
    assert total(rates, Usage(input=100_000, cache_read=100_001, output=1_000_000)) == pytest.approx(0.400002 + 8)
