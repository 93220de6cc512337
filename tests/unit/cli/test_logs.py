"""Following the log: whole lines, also across the turning over, and none lost between."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ostiary.cli import logs


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "ostiary.log"
    place.write_text("before\n")
    return place


class Log:
    """Does the next of `acts` whenever the follower has nothing to read and would wait."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = path
        self.acts: list[tuple[str, ...]] = []
        monkeypatch.setattr(logs.time, "sleep", lambda seconds: self._act())

    def _act(self) -> None:
        for step in self.acts.pop(0):
            kind, _, text = step.partition(":")
            {"write": self._write, "turn over": self._turn_over}[kind](text)

    def _write(self, text: str) -> None:
        with self.path.open("a") as file:
            file.write(text)

    def _turn_over(self, text: str) -> None:
        self.path.rename(self.path.with_suffix(".log.1"))


@pytest.fixture
def log(path: Path, monkeypatch: pytest.MonkeyPatch) -> Log:
    return Log(path, monkeypatch)


def taken(lines: Iterator[str], count: int) -> list[str]:
    return [next(lines) for _ in range(count)]


def test_only_what_comes_later_is_followed(log: Log) -> None:
    log.acts = [("write:one\ntwo\n",), ("write:three\n",)]
    assert taken(logs.following(log.path), 3) == ["one", "two", "three"]


def test_a_line_is_shown_when_it_is_whole(log: Log) -> None:
    log.acts = [("write:half",), ("write: a line\n",)]
    assert taken(logs.following(log.path), 1) == ["half a line"]


def test_lines_written_just_before_the_turning_over_are_not_lost(log: Log) -> None:
    log.acts = [("write:last of the old\n", "turn over", "write:first of the new\n"), ("write:second\n",)]
    assert taken(logs.following(log.path), 3) == ["last of the old", "first of the new", "second"]


def test_the_moment_without_a_file_is_waited_out(log: Log) -> None:
    log.acts = [("turn over",), ("write:new\n",)]
    assert taken(logs.following(log.path), 1) == ["new"]
