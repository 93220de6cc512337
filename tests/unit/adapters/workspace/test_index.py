"""What is known of a directory, written to the disk and read again."""

from pathlib import Path

import pytest

from ostiary.adapters.workspace.index import Index, Pending, load, save
from ostiary.adapters.workspace.tree import Found
from ostiary.contracts.workspace import Use
from tests.unit.adapters.workspace.support import OWN, WEB

USE = Use(author="me", turn="turn_1", at=5.0, label=WEB)


def index(count: int) -> Index:
    made = Index()
    for number in range(count):
        made.see(f"f{number}", "d", Found(number, 1, 1, 1, number % 2 == 0), now_ns=10**9)
    made.hand_out({"f1": Pending(digest="d", after=3)}, USE)
    made.leave(OWN, ("a link",))
    return made


def facts(found: Index | None) -> tuple[object, ...]:
    assert found is not None
    return (found.files, found.pending, found.use, found.residue, found.left)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    written = index(10)
    save(written, tmp_path / "i.json")
    assert facts(load(tmp_path / "i.json")) == facts(written)


def test_a_small_change_is_written_as_a_small_line(tmp_path: Path) -> None:
    written = index(100)
    save(written, tmp_path / "i.json")
    whole = (tmp_path / "i.json").stat().st_size
    written.see("f3", "other", Found(3, 9, 9, 9, False), now_ns=9)
    written.forget("f4")
    written.hand_out({}, None)
    save(written, tmp_path / "i.json")
    assert (tmp_path / "i.json").stat().st_size - whole < whole / 10
    assert facts(load(tmp_path / "i.json")) == facts(written)


def test_the_file_does_not_grow_for_ever(tmp_path: Path) -> None:
    written = index(100)
    for number in range(200):
        written.see("f3", str(number), Found(3, 9, 9, 9, False), now_ns=9)
        save(written, tmp_path / "i.json")
    assert (tmp_path / "i.json").read_text().count("\n") <= 64
    assert facts(load(tmp_path / "i.json")) == facts(written)


@pytest.mark.parametrize("cut", [1, 20])
def test_a_torn_last_line_never_was(tmp_path: Path, cut: int) -> None:
    written = index(100)
    save(written, tmp_path / "i.json")
    before = facts(load(tmp_path / "i.json"))
    written.forget("f4")
    save(written, tmp_path / "i.json")
    (tmp_path / "i.json").write_bytes((tmp_path / "i.json").read_bytes()[:-cut])
    torn = load(tmp_path / "i.json")
    assert facts(torn) == before
    torn = torn or Index()
    torn.forget("f5")
    save(torn, tmp_path / "i.json")
    assert facts(load(tmp_path / "i.json")) == facts(torn)
