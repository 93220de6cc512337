"""Where root gives other names to what only root can reach."""

from pathlib import Path

import pytest

from ostiary.adapters.sandbox import machine
from ostiary.contracts.errors import SandboxUnavailable


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    made = [tmp_path / "first", tmp_path / "second"]
    for place in made:
        (place / "workspace").mkdir(parents=True)
    monkeypatch.setattr(machine, "_MEETING_PLACES", (str(tmp_path / "absent"), *map(str, made)))
    return [str(place) for place in made]


def test_the_first_that_is_there_is_taken(places: list[str], tmp_path: Path) -> None:
    assert machine._meeting_place([str(tmp_path), "/workspace", places[0] + "-beside"]) == places[0]


def test_one_that_would_cover_what_is_wanted_is_not(places: list[str], tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(places[0])
    assert machine._meeting_place([f"{places[0]}/workspace"]) == places[1]
    assert machine._meeting_place([f"{tmp_path}/link/workspace"]) == places[1]


def test_where_each_would_nothing_runs(places: list[str]) -> None:
    with pytest.raises(SandboxUnavailable, match="lies below"):
        machine._meeting_place([f"{place}/workspace" for place in places])
