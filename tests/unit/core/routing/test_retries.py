"""How soon a failed send is tried again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.core.routing.retries import DEFAULT, RetryPolicy, quick_wait, retry_policy


def test_three_attempts_and_no_more() -> None:
    waits = [quick_wait(DEFAULT, failed, retry_after=None, chance=0.0) for failed in (1, 2, 3, 4)]
    assert waits == [0.5, 1.0, None, None]


def test_telegram_begins_at_400_ms() -> None:
    assert quick_wait(retry_policy("telegram"), 1, retry_after=None, chance=0.0) == 0.4


def test_discord_is_tried_again_only_when_it_limits_the_rate() -> None:
    assert quick_wait(retry_policy("discord"), 1, retry_after=None, chance=0.0) is None
    assert quick_wait(retry_policy("discord"), 1, retry_after=0.1, chance=0.0) == 0.5


def test_jitter_adds_a_tenth_at_most() -> None:
    assert quick_wait(DEFAULT, 1, retry_after=None, chance=1.0) == pytest.approx(0.55)


@given(st.integers(1, 40), st.floats(0, 1))
def test_a_wait_never_passes_the_cap(failed: int, chance: float) -> None:
    wait = quick_wait(RetryPolicy(attempts=100), failed, retry_after=None, chance=chance)
    assert wait is not None
    assert 0.5 <= wait <= 33.0


@given(st.floats(0, 4000), st.integers(1, 2), st.floats(0, 1))
def test_what_the_platform_asks_for_is_never_undercut(retry_after: float, failed: int, chance: float) -> None:
    wait = quick_wait(DEFAULT, failed, retry_after=retry_after, chance=chance)
    assert wait is not None
    assert wait >= retry_after
