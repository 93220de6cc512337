import pytest

from ostiary.adapters.models.metered import Metered
from ostiary.adapters.models.prices import Prices
from ostiary.adapters.models.providers import Cost
from ostiary.contracts.errors import ModelUnavailable
from ostiary.contracts.model import Answered, ModelChoice, ModelEvent, ModelRef, ModelRequest, TextDelta, Usage
from ostiary.kit.clock import ManualClock
from ostiary.kit.models import ScriptedModel, Step, fail, say

REQUEST = ModelRequest(choice=ModelChoice(primary=ModelRef("acme", "one")), system=(), messages=())
PRICES = Prices(own=lambda ref: Cost(input=2, output=10) if ref == ModelRef("acme", "one") else None)


async def ask(step: Step, *, model: str = "") -> list[ModelEvent]:
    client = Metered(ScriptedModel([step], model=model), PRICES, ManualClock())
    async with client.stream(REQUEST) as events:
        return [event async for event in events]


def cost(events: list[ModelEvent]) -> float | None:
    last = events[-1]
    assert isinstance(last, Answered)
    return last.usage.cost


async def test_an_answer_carries_its_price_and_everything_else_passes() -> None:
    events = await ask(say("a", "b", usage=Usage(input=1_000_000, output=500_000)))
    assert events[:2] == [TextDelta("a"), TextDelta("b")]
    assert cost(events) == pytest.approx(7.0)


async def test_a_price_the_provider_reported_stays() -> None:
    assert cost(await ask(say("a", usage=Usage(input=10, output=10, cost=0.5)))) == 0.5


async def test_an_answer_without_a_price_says_none() -> None:
    assert cost(await ask(say("a"), model="acme/unknown")) is None


async def test_tokens_that_were_not_reported_are_not_free() -> None:
    assert cost(await ask(say("a", usage=Usage()))) is None


async def test_a_model_name_that_is_no_ref_is_not_priced() -> None:
    assert cost(await ask(say("a"), model="strange")) is None


async def test_errors_pass_through() -> None:
    with pytest.raises(ModelUnavailable):
        await ask(fail(ModelUnavailable("down"), "half"))
