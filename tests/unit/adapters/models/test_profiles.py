import pytest

from ostiary.adapters.models.profiles import Profile, ProfileKind, Profiles
from ostiary.contracts.errors import BadInput, ModelBilling, ModelRateLimited, ModelUnauthorized
from ostiary.kit.clock import ManualClock

MINUTE = 60.0
HOUR = 3600.0


class Kept:
    """A state that outlives the Profiles that wrote it."""

    def __init__(self) -> None:
        self.state = b""
        self.saves = 0

    def load(self) -> bytes:
        return self.state

    def save(self, state: bytes) -> None:
        self.state = state
        self.saves += 1


class Broken(Kept):
    def save(self, state: bytes) -> None:
        raise OSError("disk full")


def profile(name: str, kind: ProfileKind = "api_key", provider: str = "acme", key: str = "key") -> Profile:
    return Profile(id=f"{provider}:{name}", provider=provider, kind=kind, secret=lambda: key)


def line(profiles: Profiles, session: str = "", pinned: str = "") -> list[str]:
    return [candidate.profile.id for candidate in profiles.candidates("acme", session, pinned)]


def wait_minutes(profiles: Profiles) -> float:
    return profiles.candidates("acme")[0].wait / MINUTE


def test_oauth_goes_before_tokens_before_keys() -> None:
    profiles = Profiles([profile("key"), profile("token", "token"), profile("login", "oauth")], ManualClock())
    assert line(profiles) == ["acme:login", "acme:token", "acme:key"]


async def test_the_least_recently_used_of_a_kind_goes_first() -> None:
    clock = ManualClock()
    first, second = profile("a"), profile("b")
    profiles = Profiles([first, second], clock)
    profiles.started(first)
    await clock.advance(1)
    assert line(profiles) == ["acme:b", "acme:a"]
    profiles.started(second)
    assert line(profiles) == ["acme:a", "acme:b"]


def test_the_owners_order_wins_and_leaves_out_who_is_not_named() -> None:
    profiles = Profiles(
        [profile("a"), profile("b"), profile("login", "oauth")], ManualClock(), order={"acme": ["acme:b", "acme:gone", "acme:a"]}
    )
    assert line(profiles) == ["acme:b", "acme:a"]


def test_a_session_keeps_the_profile_that_answered_it() -> None:
    first, second = profile("a"), profile("b")
    profiles = Profiles([first, second], ManualClock())
    profiles.started(second)
    profiles.succeeded(second, "s1")
    assert line(profiles, "s1") == ["acme:b", "acme:a"]
    assert line(profiles, "s2") == ["acme:a", "acme:b"]


def test_a_released_session_may_begin_with_any_profile() -> None:
    first, second = profile("a"), profile("b")
    profiles = Profiles([first, second], ManualClock())
    profiles.started(second)
    profiles.succeeded(second, "s1")
    profiles.release("s1")
    assert line(profiles, "s1") == ["acme:a", "acme:b"]


def test_a_pinned_profile_stands_alone_even_while_it_cools_down() -> None:
    first = profile("a")
    profiles = Profiles([first, profile("b")], ManualClock())
    profiles.failed(first, ModelRateLimited("slow down"))
    assert line(profiles, pinned="acme:a") == ["acme:a"]


def test_a_pin_says_nothing_about_another_provider() -> None:
    profiles = Profiles([profile("a"), profile("x", provider="other")], ManualClock())
    assert line(profiles, pinned="other:x") == ["acme:a"]


def test_an_unknown_pin_names_the_profiles_there_are() -> None:
    with pytest.raises(BadInput) as raised:
        Profiles([profile("a")], ManualClock()).candidates("acme", pinned="acme:zzz")
    assert "acme:a" in raised.value.hint


async def test_cooldowns_grow_from_one_minute_to_an_hour() -> None:
    clock = ManualClock()
    only = profile("a")
    profiles = Profiles([only], clock)
    seen = []
    for _ in range(5):
        profiles.failed(only, ModelUnauthorized("no"))
        seen.append(wait_minutes(profiles))
        await clock.advance(61 * MINUTE)
    assert seen == [1, 5, 25, 60, 60]


async def test_a_cooled_down_profile_is_usable_again() -> None:
    clock = ManualClock()
    only = profile("a")
    profiles = Profiles([only], clock)
    profiles.failed(only, ModelRateLimited("slow down"))
    await clock.advance(MINUTE)
    assert wait_minutes(profiles) == 0


def test_a_rate_limit_that_asks_for_more_gets_more() -> None:
    only = profile("a")
    profiles = Profiles([only], ManualClock())
    profiles.failed(only, ModelRateLimited("slow down", retry_after=600))
    assert wait_minutes(profiles) == 10


async def test_an_empty_account_is_left_alone_for_five_hours_doubling_to_a_day() -> None:
    clock = ManualClock()
    only = profile("a")
    profiles = Profiles([only], clock)
    seen = []
    for _ in range(4):
        profiles.failed(only, ModelBilling("pay"))
        seen.append(wait_minutes(profiles) / 60)
        await clock.advance(24 * HOUR)
    assert seen == [5, 10, 20, 24]


async def test_a_day_without_failure_is_forgiven() -> None:
    clock = ManualClock()
    only = profile("a")
    profiles = Profiles([only], clock)
    profiles.failed(only, ModelUnauthorized("no"))
    profiles.failed(only, ModelUnauthorized("no"))
    await clock.advance(24 * HOUR + 1)
    profiles.failed(only, ModelUnauthorized("no"))
    assert wait_minutes(profiles) == 1


def test_an_answer_forgives_everything() -> None:
    only = profile("a")
    profiles = Profiles([only], ManualClock())
    profiles.failed(only, ModelBilling("pay"))
    profiles.succeeded(only)
    assert wait_minutes(profiles) == 0
    profiles.failed(only, ModelUnauthorized("no"))
    assert wait_minutes(profiles) == 1


def test_blocked_profiles_go_last_by_who_is_free_soonest() -> None:
    first, second, third = profile("a"), profile("b"), profile("c")
    profiles = Profiles([first, second, third], ManualClock())
    profiles.failed(first, ModelBilling("pay"))
    profiles.failed(second, ModelUnauthorized("no"))
    assert line(profiles) == ["acme:c", "acme:b", "acme:a"]


def test_cooldowns_survive_a_restart() -> None:
    clock, kept, only = ManualClock(), Kept(), profile("a")
    Profiles([only], clock, state=kept).failed(only, ModelBilling("pay"))
    assert wait_minutes(Profiles([only], clock, state=kept)) == 300


def test_another_key_under_the_same_name_starts_clean() -> None:
    clock, kept, old = ManualClock(), Kept(), profile("a", key="old")
    Profiles([old], clock, state=kept).failed(old, ModelUnauthorized("no"))
    assert wait_minutes(Profiles([profile("a", key="new")], clock, state=kept)) == 0


def test_the_saved_state_holds_no_key() -> None:
    kept, only = Kept(), profile("a", key="sk-very-secret-value")
    Profiles([only], ManualClock(), state=kept).failed(only, ModelUnauthorized("no"))
    assert b"acme:a" in kept.state
    assert b"very-secret" not in kept.state


def test_a_healthy_call_writes_nothing() -> None:
    kept, only = Kept(), profile("a")
    profiles = Profiles([only], ManualClock(), state=kept)
    profiles.started(only)
    profiles.succeeded(only, "s1")
    assert kept.saves == 0


def test_an_unreadable_state_begins_anew() -> None:
    kept = Kept()
    kept.state = b"{not json"
    assert line(Profiles([profile("a")], ManualClock(), state=kept)) == ["acme:a"]


def test_a_state_that_cannot_be_written_does_not_stop_the_turn() -> None:
    only = profile("a")
    profiles = Profiles([only], ManualClock(), state=Broken())
    profiles.failed(only, ModelUnauthorized("no"))
    assert wait_minutes(profiles) == 1


def test_a_clock_set_back_does_not_lock_a_profile_out() -> None:
    clock, only = ManualClock(), profile("a")
    profiles = Profiles([only], clock)
    profiles.failed(only, ModelUnauthorized("no"))
    clock.jump(-30 * 24 * HOUR)
    assert wait_minutes(profiles) == 0
