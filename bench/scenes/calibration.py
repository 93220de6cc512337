"""How fast this machine is just now."""

from collections.abc import Iterator

from bench.machine import calibrate
from bench.rows import Row
from bench.stage import Stage


def calibration(stage: Stage) -> Iterator[Row]:
    values = tuple(calibrate() for _ in range(3 if stage.quick else 9))
    yield Row("calibration", "calibration: a fixed loop of plain Python", "ms CPU", values, "to compare machines as ratios")
