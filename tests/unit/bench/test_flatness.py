"""A leak is told from noise."""

import pytest
from bench.flatness import Series, as_svg, sketch, slope


def series(*values: float, allowed: float = 2.0) -> Series:
    return Series("memory", "MB", tuple(float(5 * number) for number in range(len(values))), values, allowed)


def test_the_slope_is_that_of_the_line_with_the_least_squares() -> None:
    assert slope((0, 1, 2, 3), (1, 3, 5, 7)) == pytest.approx(2)
    assert slope((0, 1, 2, 3), (4, 4, 4, 4)) == 0


def test_one_moment_makes_no_line() -> None:
    with pytest.raises(ValueError, match="two moments"):
        slope((1, 1), (2, 3))


def test_noise_is_level_and_a_steady_rise_is_not() -> None:
    assert series(70, 71, 70, 71, 70, 71).is_level
    assert not series(*(70 + 0.5 * number for number in range(20))).is_level


def test_falling_is_level() -> None:
    assert series(80, 75, 70, 60).is_level


def test_the_rise_is_over_the_whole_time() -> None:
    assert series(10, 11, 12, 13, 14).rise == pytest.approx(4)


def test_a_sketch_goes_from_the_lowest_to_the_highest() -> None:
    assert sketch((1, 2, 8)) == "▁▂█"
    assert sketch((3, 3, 3)) == "▁▁▁"
    assert len(sketch(tuple(range(1000)))) <= 60


def test_the_plot_is_one_svg_with_a_line_for_each_series() -> None:
    text = as_svg([series(1, 2, 3), series(4, 4, 4)])
    assert text.startswith("<svg ")
    assert text.count("<polyline") == 2
    assert text.rstrip().endswith("</svg>")
