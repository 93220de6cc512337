"""At least 300 seeded kills that struck mid-turn; the same with the disk full and with a torn log."""

from pathlib import Path

import pytest

from tests.crash.random_kills import run


@pytest.mark.parametrize(
    ("kills", "torn", "full", "seed"),
    [(150, 0.0, 0.0, 1), (100, 1.0, 0.0, 2), (60, 0.0, 0.6, 3)],
    ids=["kills", "torn log", "full disk"],
)
def test_random_kills_lose_and_repeat_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kills: int, torn: float, full: float, seed: int
) -> None:
    report = run(tmp_path, kills, seed=seed, torn=torn, full=full)
    with capsys.disabled():
        print(f"\n{report}")
    assert report.violations == []
    assert report.kills == kills
    assert len(report.phases) >= 2
    assert (report.torn > 0) == (torn > 0)
    assert (report.full > 0) == (full > 0)
