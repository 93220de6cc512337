import pytest

from ostiary.gateway.errors import ApiError
from ostiary.gateway.hooks.throttle import Throttle


def test_nobody_holds_all_places_by_sending_slowly() -> None:
    throttle = Throttle(lambda: 0.0)
    held = [throttle.reading("203.0.113.9") for _ in range(8)]
    for each in held:
        each.__enter__()
    with pytest.raises(ApiError) as refusal, throttle.reading("203.0.113.9"):
        pass
    assert refusal.value.status == 503
    with throttle.reading("198.51.100.7"):
        pass
    held.pop().__exit__(None, None, None)
    with throttle.reading("203.0.113.9"):
        pass


def test_all_together_hold_a_bounded_number_of_places() -> None:
    throttle = Throttle(lambda: 0.0)
    held = [throttle.reading(f"10.0.0.{number}") for number in range(32)]
    for each in held:
        each.__enter__()
    with pytest.raises(ApiError), throttle.reading("10.0.1.1"):
        pass


def test_a_window_moves_on() -> None:
    times = iter([0.0, 10.0, 20.0, 61.0])
    throttle = Throttle(lambda: next(times))
    throttle.take("a", requests=2, window=60.0)
    throttle.take("a", requests=2, window=60.0)
    with pytest.raises(ApiError) as refusal:
        throttle.take("a", requests=2, window=60.0)
    assert (refusal.value.status, refusal.value.retry_after) == (429, 40)
    throttle.take("a", requests=2, window=60.0)
