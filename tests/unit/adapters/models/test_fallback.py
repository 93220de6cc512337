from collections.abc import Iterable, Mapping

import anyio
import pytest

from ostiary.adapters.models.fallback import Fallback, Limits, nearest_level
from ostiary.adapters.models.profiles import Profile, Profiles
from ostiary.contracts.errors import (
    ContextOverflow,
    ModelBilling,
    ModelError,
    ModelMisconfigured,
    ModelRateLimited,
    ModelRejected,
    ModelUnauthorized,
    ModelUnavailable,
    RoleOrdering,
    ThinkingUnsupported,
)
from ostiary.contracts.model import (
    Answered,
    ModelChoice,
    ModelEvent,
    ModelRef,
    ModelRequest,
    Restarted,
    TextDelta,
    ThinkingLevel,
)
from ostiary.kit.clock import ManualClock
from ostiary.kit.models import Script, ScriptedWire, always, cut, fail, say

A, B, C = "acme/big", "acme/small", "other/one"


class InstantClock(ManualClock):
    """Sleeping takes no time but is written down."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


class Bench:
    """A Fallback over scripted models, with keys `acme:1`, `acme:2` and `other:1`."""

    def __init__(self, scripts: Mapping[str, Iterable[Script]], *, keys: Iterable[str] = ("acme:1", "acme:2", "other:1")) -> None:
        self.wire = ScriptedWire(scripts)
        self.clock = InstantClock()
        self.lent: list[tuple[str, str]] = []
        self.profiles = Profiles([_profile(key) for key in keys], self.clock)
        self.client = Fallback(
            wire=lambda ref: self.wire,
            profiles=self.profiles,
            clock=self.clock,
            keyless=lambda provider: provider == "local",
            limits=Limits(attempts=6),
            jitter=lambda: 0.5,
            lent=lambda profile, provider: self.lent.append((profile, provider)),
        )

    async def ask(self, *refs: str, profile: str = "", session: str = "", thinking: ThinkingLevel = "off") -> list[ModelEvent]:
        primary, *rest = (ModelRef.parse(ref) for ref in refs)
        choice = ModelChoice(primary=primary, fallbacks=tuple(rest), profile=profile)
        request = ModelRequest(choice=choice, system=(), messages=(), session=session, thinking=thinking)
        async with self.client.stream(request) as events:
            return [event async for event in events]


def _profile(key: str) -> Profile:
    return Profile(id=key, provider=key.partition(":")[0], kind="api_key", secret=lambda: f"secret of {key}")


def answer(events: list[ModelEvent]) -> Answered:
    last = events[-1]
    assert isinstance(last, Answered)
    return last


async def test_the_primary_answers_and_nobody_else_is_asked() -> None:
    bench = Bench({A: [say("hel", "lo")]})
    events = await bench.ask(A, C)
    assert events[:2] == [TextDelta("hel"), TextDelta("lo")]
    assert (answer(events).model, answer(events).profile) == (A, "acme:1")
    assert bench.wire.calls == [(A, "secret of acme:1")]


@pytest.mark.parametrize("error", [ModelUnauthorized("no"), ModelRateLimited("slow"), ModelBilling("pay")])
async def test_a_key_that_fails_hands_over_to_the_next_key(error: ModelError) -> None:
    bench = Bench({A: [fail(error), say("hi")]})
    events = await bench.ask(A)
    assert answer(events).profile == "acme:2"
    assert [secret for _, secret in bench.wire.calls] == ["secret of acme:1", "secret of acme:2"]


async def test_when_every_key_failed_the_next_model_is_asked() -> None:
    bench = Bench({A: always(fail(ModelRateLimited("slow"))), C: [say("hi")]})
    events = await bench.ask(A, C)
    assert answer(events).model == C
    assert Restarted(model=C, reason=f"{A} (acme:2) is rate limited") in events


async def test_what_was_streamed_becomes_void_before_the_next_attempt_speaks() -> None:
    bench = Bench({A: [cut("half an ans"), say("whole")]})
    events = await bench.ask(A)
    assert [type(event) for event in events] == [TextDelta, Restarted, TextDelta, Answered]


async def test_a_hiccup_is_repeated_once_after_a_jittered_pause() -> None:
    bench = Bench({A: [fail(ModelUnavailable("503")), say("hi")]})
    events = await bench.ask(A)
    assert bench.clock.slept == [1.0]
    assert answer(events).profile == "acme:1"
    assert bench.profiles.standing("acme:1").failures == 0


async def test_a_dead_provider_gives_way_to_the_fallback() -> None:
    bench = Bench({A: always(fail(ModelUnavailable("down"))), C: [say("hi")]})
    assert answer(await bench.ask(A, C)).model == C


async def test_after_a_failure_the_next_turn_goes_to_the_fallback_at_once_and_says_so() -> None:
    bench = Bench({A: always(fail(ModelRateLimited("slow"))), C: always(say("hi"))}, keys=["acme:1", "other:1"])
    await bench.ask(A, C)
    bench.wire.calls.clear()
    events = await bench.ask(A, C)
    assert [ref for ref, _ in bench.wire.calls] == [C]
    assert events[0] == Restarted(model=C, reason=f"{A} (acme:1) is rate limited for 1 more min")


async def test_a_blocked_fallback_is_no_news_while_the_primary_answers() -> None:
    bench = Bench({A: [say("hi")], C: always(fail(ModelRateLimited("slow")))}, keys=["acme:1", "other:1"])
    with pytest.raises(ModelRateLimited):
        await bench.ask(C)
    assert [type(event) for event in await bench.ask(A, C)] == [TextDelta, Answered]


async def test_an_overloaded_model_still_lets_its_smaller_sibling_answer_with_the_same_key() -> None:
    bench = Bench({A: always(fail(ModelUnavailable("overloaded"))), B: [say("hi")]}, keys=["acme:1"])
    assert answer(await bench.ask(A, B)).model == B


async def test_a_turn_costs_a_profile_one_step_of_cooldown_however_many_models_it_tried() -> None:
    bench = Bench({A: always(fail(ModelRateLimited("slow"))), B: always(fail(ModelUnavailable("down")))}, keys=["acme:1"])
    with pytest.raises(ModelError):
        await bench.ask(A, B)
    assert bench.profiles.standing("acme:1").failures == 1


async def test_a_refused_key_is_not_tried_again_with_a_sibling_model() -> None:
    bench = Bench({A: always(fail(ModelUnauthorized("no"))), B: [say("never")], C: [say("hi")]}, keys=["acme:1", "other:1"])
    assert answer(await bench.ask(A, B, C)).model == C
    assert [ref for ref, _ in bench.wire.calls] == [A, C]


@pytest.mark.parametrize(
    "error", [ModelRejected("bad"), ContextOverflow("long"), RoleOrdering("order"), ModelMisconfigured("no such model")]
)
async def test_a_request_that_is_wrong_goes_up_at_once(error: ModelError) -> None:
    bench = Bench({A: [fail(error)], C: [say("never")]})
    with pytest.raises(type(error)) as raised:
        await bench.ask(A, C)
    assert raised.value is error
    assert len(bench.wire.calls) == 1
    assert bench.profiles.standing("acme:1").failures == 0


async def test_an_unsupported_thinking_level_is_lowered_and_remembered() -> None:
    refusal = fail(ThinkingUnsupported("no", supported=("low", "medium")))
    bench = Bench({A: [refusal, say("hi"), say("again")]})
    await bench.ask(A, thinking="high")
    await bench.ask(A, thinking="xhigh")
    assert [request.thinking for request in bench.wire.requests(A)] == ["high", "medium", "medium"]


async def test_a_model_that_refuses_its_own_levels_is_not_asked_forever() -> None:
    bench = Bench({A: always(fail(ThinkingUnsupported("no", supported=("low",))))})
    with pytest.raises(ThinkingUnsupported):
        await bench.ask(A, thinking="high")
    assert len(bench.wire.calls) == 2


async def test_a_pinned_profile_never_rotates_but_the_next_model_may_answer() -> None:
    bench = Bench({A: always(fail(ModelRateLimited("slow"))), C: [say("hi")]})
    events = await bench.ask(A, C, profile="acme:2")
    assert bench.wire.calls == [(A, "secret of acme:2"), (C, "secret of other:1")]
    assert answer(events).profile == "other:1"


async def test_an_unknown_pin_is_a_matter_for_the_owner() -> None:
    with pytest.raises(ModelMisconfigured):
        await Bench({A: []}).ask(A, profile="acme:9")


async def test_a_session_stays_with_the_profile_that_answered() -> None:
    bench = Bench({A: always(say("hi"))})
    await bench.ask(A, session="s1")
    await bench.ask(A, session="s2")
    await bench.ask(A, session="s1")
    assert [secret[-6:] for _, secret in bench.wire.calls] == ["acme:1", "acme:2", "acme:1"]


async def test_a_local_provider_needs_no_key() -> None:
    bench = Bench({"local/llama": [say("hi")]})
    assert answer(await bench.ask("local/llama")).model == "local/llama"
    assert bench.wire.calls == [("local/llama", "")]


async def test_a_missing_key_falls_back_and_is_named_when_nobody_answers() -> None:
    bench = Bench({C: [say("hi")]})
    assert answer(await bench.ask("nokey/x", C)).model == C
    with pytest.raises(ModelUnauthorized) as raised:
        await bench.ask("nokey/x")
    assert raised.value.hint == "Run: ostiary models auth add nokey"


async def test_the_final_error_says_what_was_tried_in_one_sentence() -> None:
    bench = Bench({A: always(fail(ModelUnauthorized("no"))), C: always(fail(ModelBilling("pay")))}, keys=["acme:1", "other:1"])
    with pytest.raises(ModelError) as raised:
        await bench.ask(A, C)
    assert str(raised.value) == f"No model answered: {A} (acme:1) refused the key, {C} (other:1) is out of credit"
    assert raised.value.hint


async def test_a_lone_failure_keeps_the_providers_own_words() -> None:
    error = ModelUnauthorized("invalid x-api-key")
    bench = Bench({A: [fail(error)]}, keys=["acme:1"])
    with pytest.raises(ModelUnauthorized, match="invalid x-api-key"):
        await bench.ask(A)


async def test_everything_rate_limited_says_when_to_come_back() -> None:
    bench = Bench({A: always(fail(ModelRateLimited("slow", retry_after=120)))}, keys=["acme:1"])
    with pytest.raises(ModelRateLimited):
        await bench.ask(A)
    with pytest.raises(ModelRateLimited) as raised:
        await bench.ask(A)
    assert raised.value.retry_after == 120


async def test_a_short_rate_limit_is_sat_out_when_nobody_else_is_left() -> None:
    bench = Bench({A: [fail(ModelRateLimited("slow", retry_after=4)), say("hi")]}, keys=["acme:1"])
    assert answer(await bench.ask(A)).model == A
    assert bench.clock.slept == [4]


async def test_a_server_that_was_down_is_asked_again_rather_than_refused() -> None:
    down = fail(ModelUnavailable("refused"))
    bench = Bench({"local/llama": [down, down, say("back")]})
    with pytest.raises(ModelUnavailable):
        await bench.ask("local/llama")
    assert answer(await bench.ask("local/llama")).model == "local/llama"


async def test_attempts_are_bounded() -> None:
    keys = [f"acme:{number}" for number in range(50)]
    bench = Bench({A: always(fail(ModelRateLimited("slow")))}, keys=keys)
    with pytest.raises(ModelRateLimited):
        await bench.ask(A)
    assert len(bench.wire.calls) == 6


async def test_cancelling_passes_through_and_blames_nobody() -> None:
    never, reached = anyio.Event(), anyio.Event()
    bench = Bench({A: [say("half").held(never)], C: [say("never")]})
    request = ModelRequest(choice=ModelChoice(primary=ModelRef.parse(A), fallbacks=(ModelRef.parse(C),)), system=(), messages=())

    async def listen() -> None:
        async with bench.client.stream(request) as events:
            async for _ in events:
                reached.set()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(listen)
            await reached.wait()
            group.cancel_scope.cancel()
    assert [ref for ref, _ in bench.wire.calls] == [A]
    assert bench.profiles.standing("acme:1").failures == 0


async def test_a_listener_may_leave_in_the_middle() -> None:
    bench = Bench({A: [say("a", "b", "c")]})
    request = ModelRequest(choice=ModelChoice(primary=ModelRef.parse(A)), system=(), messages=())
    async with bench.client.stream(request) as events:
        assert await anext(events) == TextDelta("a")
    assert len(bench.wire.calls) == 1


@pytest.mark.parametrize(
    ("wanted", "supported", "expected"),
    [
        ("high", ("low", "medium"), "medium"),
        ("minimal", ("low", "high"), "low"),
        ("medium", (), "off"),
        ("xhigh", ("nonsense",), "off"),
        ("low", ("off", "high"), "off"),
    ],
)
def test_the_nearest_level_never_exceeds_what_was_wanted_if_it_can(
    wanted: ThinkingLevel, supported: tuple[str, ...], expected: str
) -> None:
    assert nearest_level(wanted, supported) == expected


async def test_every_key_that_is_lent_is_told_and_a_provider_without_one_is_not() -> None:
    bench = Bench({A: [fail(ModelUnauthorized("no"))], "local/tiny": [say("hi")], C: [say("there")]}, keys=("acme:1", "other:1"))
    await bench.ask(A, C)
    await bench.ask("local/tiny")
    assert bench.lent == [("acme:1", "acme"), ("other:1", "other")]
