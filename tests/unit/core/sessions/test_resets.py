from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.contracts.errors import BadInput
from ostiary.core.sessions.resets import ResetPolicy, ResetRules, expired, next_daily, policy_from, type_of
from tests.unit.core.routing.inbound import direct, group, quick

BERLIN = ZoneInfo("Europe/Berlin")
DAILY = ResetPolicy()
IDLE = ResetPolicy(at_hour=None, idle_minutes=60)
BOTH = ResetPolicy(idle_minutes=60)


def moment(text: str, zone: tzinfo = BERLIN, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).timestamp()


@pytest.mark.parametrize(
    ("last", "now", "policy", "reason"),
    [
        ("2026-06-01 03:59", "2026-06-01 04:00", DAILY, "daily"),
        ("2026-06-01 03:58", "2026-06-01 03:59", DAILY, None),
        ("2026-06-01 04:00", "2026-06-02 03:59", DAILY, None),
        ("2026-06-01 04:00", "2026-06-02 04:00", DAILY, "daily"),
        ("2026-06-01 12:00", "2026-07-01 12:00", DAILY, "daily"),
        ("2026-06-01 12:00", "2026-06-01 12:59", IDLE, None),
        ("2026-06-01 12:00", "2026-06-01 13:00", IDLE, "idle"),
        ("2026-06-01 03:30", "2026-06-01 05:00", BOTH, "daily"),
        ("2026-06-01 02:30", "2026-06-01 05:00", BOTH, "idle"),
        ("2026-06-01 12:00", "2026-07-01 12:00", ResetPolicy(at_hour=None), None),
        ("2026-06-01 23:59", "2026-06-02 00:00", ResetPolicy(at_hour=0), "daily"),
    ],
)
def test_a_conversation_ends_at_the_hour_or_after_idling_whichever_is_first(
    last: str, now: str, policy: ResetPolicy, reason: str | None
) -> None:
    assert expired(moment(last), moment(now), policy, BERLIN) == reason


def test_the_hour_is_that_of_the_given_zone() -> None:
    last, now = moment("2026-06-01 03:00", UTC), moment("2026-06-01 05:00", UTC)
    assert expired(last, now, DAILY, UTC) == "daily"
    assert expired(last, now, DAILY, BERLIN) is None


@pytest.mark.parametrize("last", [0.0, -5.0, 2_000_000_000.0, float("nan"), float("inf")])
def test_a_clock_that_went_back_or_a_time_that_cannot_be_ends_nothing(last: float) -> None:
    assert expired(last, 1_900_000_000.0, BOTH, BERLIN) is None


@pytest.mark.parametrize("now", [float("nan"), float("inf"), 1e18])
def test_a_present_that_cannot_be_ends_nothing(now: float) -> None:
    assert expired(1_800_000_000.0, now, BOTH, BERLIN) is None


def test_an_hour_that_summer_time_skips_counts_from_the_change() -> None:
    change = moment("2026-03-29 03:00")
    assert next_daily(moment("2026-03-28 12:00"), 2, BERLIN) == change
    assert expired(change - 1, change, ResetPolicy(at_hour=2), BERLIN) == "daily"
    assert expired(change, change + 3600, ResetPolicy(at_hour=2), BERLIN) is None


def test_an_hour_that_comes_twice_resets_once() -> None:
    first, second = moment("2026-10-25 02:00", fold=0), moment("2026-10-25 02:00", fold=1)
    assert second - first == 3600
    assert next_daily(moment("2026-10-24 12:00"), 2, BERLIN) == first
    assert expired(first, second + 60, ResetPolicy(at_hour=2), BERLIN) is None


def test_a_day_that_a_country_skipped_is_survived() -> None:
    apia = ZoneInfo("Pacific/Apia")
    last = moment("2011-12-29 12:00", apia)
    assert last < next_daily(last, 4, apia) <= last + 86_400


@quick
@given(
    st.floats(min_value=1, max_value=4_000_000_000),
    st.integers(0, 23),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu"]),
)
def test_the_next_reset_is_always_ahead_and_never_more_than_two_days(after: float, hour: int, zone: str) -> None:
    assert after < next_daily(after, hour, ZoneInfo(zone)) <= after + 50 * 3600


def test_a_channels_policy_beats_a_types_which_beats_the_general_one() -> None:
    rules = ResetRules(by_type={"group": IDLE}, by_channel={"discord": BOTH})
    assert rules.policy_for("group", "discord") is BOTH
    assert rules.policy_for("group", "telegram") is IDLE
    assert rules.policy_for("direct", "telegram") == DAILY


def test_a_thread_is_a_thread_wherever_it_hangs() -> None:
    assert type_of(direct()) == "direct"
    assert type_of(group()) == "group"
    assert type_of(group(thread="7")) == "thread"
    assert type_of(direct(thread="7")) == "thread"


def test_configuration_words_become_policies() -> None:
    assert policy_from(None, None, None) == DAILY
    assert policy_from(None, None, 30) == ResetPolicy(at_hour=None, idle_minutes=30)
    assert policy_from("daily", 6, 30) == ResetPolicy(at_hour=6, idle_minutes=30)
    assert policy_from("idle", 6, None) == IDLE
    assert policy_from("off", 6, 30) == ResetPolicy(at_hour=None)


@pytest.mark.parametrize(
    ("mode", "hour", "idle"), [("weekly", None, None), ("daily", 24, None), ("daily", -1, None), ("idle", None, 0)]
)
def test_policies_that_cannot_be_are_refused(mode: str, hour: int | None, idle: int | None) -> None:
    with pytest.raises(BadInput):
        policy_from(mode, hour, idle)
