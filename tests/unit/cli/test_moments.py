from datetime import datetime

import pytest

from ostiary.cli.moments import parse_moment
from ostiary.contracts.errors import BadInput

NOW = datetime(2026, 11, 16, 10, 30).astimezone().timestamp()


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("now", "2026-11-16 10:30:00"),
        ("2h ago", "2026-11-16 08:30:00"),
        ("90 minutes ago", "2026-11-16 09:00:00"),
        ("3 days ago", "2026-11-13 10:30:00"),
        ("1 week ago", "2026-11-09 10:30:00"),
        ("yesterday", "2026-11-15 23:59:59"),
        ("Yesterday 09:05", "2026-11-15 09:05:00"),
        ("today 09:05", "2026-11-16 09:05:00"),
        ("09:05", "2026-11-16 09:05:00"),
        ("2026-11-14", "2026-11-14 23:59:59"),
        ("2026-11-16", "2026-11-16 10:30:00"),
        ("2026-11-14 07:08", "2026-11-14 07:08:00"),
        ("2026-11-14T07:08:09", "2026-11-14 07:08:09"),
    ],
)
def test_moments_are_understood_as_people_write_them(said: str, meant: str) -> None:
    assert f"{datetime.fromtimestamp(parse_moment(said, NOW)).astimezone():%Y-%m-%d %H:%M:%S}" == meant


def test_a_zone_that_is_named_counts() -> None:
    assert parse_moment("2026-11-14T07:08:09Z", NOW) == 1794640089.0


@pytest.mark.parametrize("said", ["", "soon", "25:00", "yesterday 9", "2026-13-01", "tomorrow", "99999 ago"])
def test_what_is_no_moment_is_refused_with_examples(said: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_moment(said, NOW)
    assert "yesterday" in refused.value.hint


@pytest.mark.parametrize("said", ["2030-01-01", "today 23:00"])
def test_the_future_is_refused(said: str) -> None:
    with pytest.raises(BadInput, match="future"):
        parse_moment(said, NOW)
