import pytest
from bench.stats import growth, median, percentile


def test_a_percentile_between_two_measurements_is_interpolated() -> None:
    assert percentile([40, 10, 30, 20], 50) == 25
    assert percentile([10, 20, 30, 40, 50], 95) == pytest.approx(48)


def test_the_ends_are_the_smallest_and_the_largest() -> None:
    assert (percentile([3, 1, 2], 0), percentile([3, 1, 2], 100)) == (1, 3)


def test_a_percentile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing"):
        median([])


def test_growth_compares_the_end_with_the_beginning_and_ignores_the_middle() -> None:
    assert growth([2, 2, 2, 900, 900, 3, 3, 3], first=3, last=3) == 1.5


def test_growth_of_too_few_measurements_is_refused() -> None:
    with pytest.raises(ValueError, match="no 3 and 3"):
        growth([1, 2, 3, 4, 5], first=3, last=3)
