"""What root gives away, and what it must not."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostiary.adapters.sandbox.ownership import give, lend

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
