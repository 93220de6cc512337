"""The /etc that commands see: files everybody may read, made anew when the system's change, kept while somebody uses them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostiary.adapters.sandbox.etc import Etc
from ostiary.contracts.errors import SandboxUnavailable


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "etc/ssl/certs").mkdir(parents=True)
    (folder / "etc/ssl/certs/one.pem").write_text("one")
    (folder / "etc/ssl/openssl.cnf").write_text("settings")
    (folder / "etc/nsswitch.conf").write_text("hosts: files")
    (folder / "etc/shadow").write_text("root:secret")
    (folder / "etc/passwd").write_text("owner:x:1000:1000:A Person:/home/owner:/bin/sh")
    return folder


@pytest.fixture
def etc(tmp_path: Path, root: Path) -> Iterator[Etc]:
    made = Etc(tmp_path / "state", root)
    yield made
    made.close()


def entries(folder: str) -> set[str]:
    return {str(path.relative_to(folder)) for path in Path(folder).rglob("*") if not path.is_dir()}


def test_it_holds_what_programs_look_for_and_nothing_else(etc: Etc) -> None:
    found = etc.directory("/workspace")
    assert entries(found) == {"passwd", "group", "hosts", "nsswitch.conf", "ssl/openssl.cnf"}
    assert Path(found, "ssl/openssl.cnf").read_text() == "settings"


def test_there_is_a_place_for_each_folder_of_the_system(etc: Etc) -> None:
    assert etc.folders == ("ssl/certs",)
    assert list(Path(etc.directory("/workspace"), "ssl/certs").iterdir()) == []


def test_nobody_of_the_host_is_named(etc: Etc) -> None:
    said = Path(etc.directory("/workspace"), "passwd").read_text()
    assert "owner" not in said
    assert ":/workspace:" in said


def test_another_home_has_another_one(etc: Etc) -> None:
    assert ":/tmp:" in Path(etc.directory("/tmp"), "passwd").read_text()
    assert etc.directory("/workspace") != etc.directory("/tmp")


def test_it_is_made_once(etc: Etc) -> None:
    assert etc.directory("/workspace") == etc.directory("/workspace")


def test_what_not_everybody_may_read_is_not_copied(etc: Etc, root: Path) -> None:
    (root / "etc/nsswitch.conf").chmod(0o640)
    assert "nsswitch.conf" not in entries(etc.directory("/workspace"))


def test_everybody_may_read_the_copy_whatever_our_umask(etc: Etc) -> None:
    before = os.umask(0o077)
    found = Path(etc.directory("/workspace"))
    os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (found, found / "ssl", found / "ssl/certs")} == {0o755}
    assert {path.stat().st_mode & 0o777 for path in (found / "passwd", found / "ssl/openssl.cnf")} == {0o644}


@pytest.mark.parametrize("name", ["nsswitch.conf", "services"])
def test_when_the_systems_has_changed_it_is_made_anew(name: str, etc: Etc, root: Path) -> None:
    before = etc.directory("/workspace")
    (root / "etc" / name).write_text("changed")
    os.utime(root / "etc" / name, ns=(1, 1))
    after = etc.directory("/workspace")
    assert Path(after, name).read_text() == "changed"
    assert Path(before, "passwd").exists()


def test_the_next_gateway_finds_it(etc: Etc, tmp_path: Path, root: Path) -> None:
    before = etc.directory("/workspace")
    etc.close()
    next_one = Etc(tmp_path / "state", root)
    assert next_one.directory("/workspace") == before
    next_one.close()


def test_one_that_others_could_have_changed_is_not_used(etc: Etc, tmp_path: Path, root: Path) -> None:
    found = Path(etc.directory("/workspace"))
    etc.close()
    found.chmod(0o777)
    next_one = Etc(tmp_path / "state", root)
    Path(found, "passwd").write_text("not ours")
    assert Path(next_one.directory("/workspace"), "passwd").read_text() != "not ours"
    next_one.close()


def test_what_nobody_uses_any_more_is_taken_away_and_what_is_in_use_stays(etc: Etc, tmp_path: Path, root: Path) -> None:
    used = etc.directory("/workspace")
    (tmp_path / "state/etc-left").mkdir()
    other = Etc(tmp_path / "state", root)
    also = other.directory("/tmp")
    assert sorted((tmp_path / "state").iterdir()) == sorted([Path(used), Path(also)])
    other.close()


def test_where_it_cannot_be_made_nothing_runs(tmp_path: Path, root: Path) -> None:
    (tmp_path / "state").write_text("no directory")
    with pytest.raises(SandboxUnavailable, match="cannot be made"):
        Etc(tmp_path / "state", root).directory("/workspace")
