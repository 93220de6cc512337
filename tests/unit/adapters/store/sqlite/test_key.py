import os
from pathlib import Path

import pytest

from ostiary.adapters.store.sqlite import load_or_create_key
from ostiary.contracts.errors import StoreRefused


def test_the_first_start_makes_a_random_key_that_only_its_owner_reads(tmp_path: Path) -> None:
    first, other = load_or_create_key(tmp_path / "a" / "key"), load_or_create_key(tmp_path / "b" / "key")
    assert len(first) == 32
    assert first != other
    assert (tmp_path / "a" / "key").stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path / "a") == ["key"]


def test_later_starts_read_the_same_key(tmp_path: Path) -> None:
    assert load_or_create_key(tmp_path / "key") == load_or_create_key(tmp_path / "key")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666, 0o700 | 0o010])
def test_a_key_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    load_or_create_key(tmp_path / "key")
    (tmp_path / "key").chmod(mode)
    with pytest.raises(StoreRefused) as refused:
        load_or_create_key(tmp_path / "key")
    assert "chmod 600" in refused.value.hint


@pytest.mark.parametrize("size", [0, 31, 33, 5000])
def test_a_key_of_another_size_is_refused(tmp_path: Path, size: int) -> None:
    (tmp_path / "key").write_bytes(b"k" * size)
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(StoreRefused, match="32 bytes"):
        load_or_create_key(tmp_path / "key")


def test_a_link_or_a_folder_in_the_place_of_the_key_is_refused(tmp_path: Path) -> None:
    load_or_create_key(tmp_path / "real" / "key")
    (tmp_path / "link").symlink_to(tmp_path / "real" / "key")
    (tmp_path / "folder").mkdir(mode=0o700)
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("link", "folder", "pipe"):
        with pytest.raises(StoreRefused):
            load_or_create_key(tmp_path / name)


def test_a_key_missing_beside_its_database_is_never_made_anew(tmp_path: Path) -> None:
    (tmp_path / "store.db").touch()
    with pytest.raises(StoreRefused, match="missing"):
        load_or_create_key(tmp_path / "key")
    assert not (tmp_path / "key").exists()


def test_a_key_missing_for_a_database_elsewhere_is_never_made_anew(tmp_path: Path) -> None:
    database = tmp_path / "bots" / "main" / "store.db"
    database.parent.mkdir(parents=True)
    database.touch()
    with pytest.raises(StoreRefused, match="missing"):
        load_or_create_key(tmp_path / "key", unlocks=[database])
    assert not (tmp_path / "key").exists()
