"""What root gives away, and what it must not."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostiary.adapters.sandbox import ownership
from ostiary.adapters.sandbox.ownership import give, lend
from ostiary.contracts.errors import ToolError

ME = os.getuid()


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "w").mkdir(mode=0o700)
    fd = os.open(tmp_path / "w", os.O_PATH)
    yield fd
    os.close(fd)


def test_what_is_private_becomes_readable_for_the_group_and_nobody_else(tmp_path: Path, opened: int) -> None:
    (tmp_path / "w" / "deep").mkdir(mode=0o700)
    for name, mode in (("file", 0o600), ("deep/tool", 0o700), ("open", 0o644)):
        (tmp_path / "w" / name).touch(mode=mode)
    lend(opened, os.getgid())
    modes = {name: oct((tmp_path / "w" / name).stat().st_mode & 0o777) for name in (".", "file", "deep", "deep/tool", "open")}
    assert modes == {".": "0o750", "file": "0o640", "deep": "0o750", "deep/tool": "0o750", "open": "0o644"}


def test_links_and_second_names_are_left_alone(tmp_path: Path, opened: int) -> None:
    (tmp_path / "outside").touch(mode=0o600)
    (tmp_path / "folder").mkdir(mode=0o700)
    (tmp_path / "w" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "w" / "way").symlink_to(tmp_path / "folder")
    (tmp_path / "w" / "second").hardlink_to(tmp_path / "outside")
    lend(opened, os.getgid())
    give(opened, ME)
    assert (tmp_path / "outside").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o700


def test_pipes_and_sockets_are_not_opened(tmp_path: Path, opened: int) -> None:
    os.mkfifo(tmp_path / "w" / "pipe", 0o600)
    lend(opened, os.getgid())
    give(opened, ME)
    assert (tmp_path / "w" / "pipe").stat().st_mode & 0o777 == 0o600


def test_a_name_that_leads_elsewhere_meanwhile_is_left_alone(
    tmp_path: Path, opened: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outside").touch(mode=0o600)
    (tmp_path / "w" / "file").touch(mode=0o600)
    whole = os.stat

    def slow(path: str, **named: Any) -> os.stat_result:
        found = whole(path, **named)
        (tmp_path / "w" / "file").unlink(missing_ok=True)
        (tmp_path / "w" / "file").symlink_to(tmp_path / "outside")
        return found

    monkeypatch.setattr(os, "stat", slow)
    lend(opened, os.getgid())
    monkeypatch.undo()
    assert (tmp_path / "outside").stat().st_mode & 0o777 == 0o600


def test_nobody_looks_without_end_into_the_depth(tmp_path: Path, opened: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "_DEEPEST", 1)
    (tmp_path / "w/a/b/c").mkdir(parents=True)
    for path in ("w/a", "w/a/b", "w/a/b/c"):
        (tmp_path / path).chmod(0o700)
    lend(opened, os.getgid())
    assert [(tmp_path / path).stat().st_mode & 0o777 for path in ("w/a", "w/a/b", "w/a/b/c")] == [0o750, 0o750, 0o700]


def test_too_much_is_refused(tmp_path: Path, opened: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "_MOST_ENTRIES", 3)
    (tmp_path / "w/a/b").mkdir(parents=True)
    (tmp_path / "w/a/c").touch()
    give(opened, ME)
    (tmp_path / "w/a/b/d").touch()
    with pytest.raises(ToolError, match="too many files"):
        give(opened, ME)
