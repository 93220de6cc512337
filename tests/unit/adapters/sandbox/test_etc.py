"""The /etc that commands see: a copy of what everybody may read, made anew when the system's changes, gone with its owner."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostiary.adapters.sandbox.etc import Etc
from ostiary.contracts.errors import SandboxUnavailable


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "etc/ssl/certs/deep").mkdir(parents=True)
    (folder / "etc/ssl/certs/deep/one.pem").write_text("one")
    (folder / "etc/ssl/certs/two.pem").symlink_to("deep/one.pem")
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
    assert entries(found) == {"passwd", "group", "hosts", "nsswitch.conf", "ssl/certs/deep/one.pem", "ssl/certs/two.pem"}
    assert Path(found, "ssl/certs/two.pem").read_text() == "one"
    assert os.readlink(Path(found, "ssl/certs/two.pem")) == "deep/one.pem"


def test_nobody_of_the_host_is_named(etc: Etc) -> None:
    said = Path(etc.directory("/workspace"), "passwd").read_text()
    assert "owner" not in said
    assert ":/workspace:" in said


def test_another_home_has_another_one(etc: Etc) -> None:
    assert ":/tmp:" in Path(etc.directory("/tmp"), "passwd").read_text()
    assert etc.directory("/workspace") != etc.directory("/tmp")


def test_it_is_made_once(etc: Etc) -> None:
    assert etc.directory("/workspace") == etc.directory("/workspace")


@pytest.mark.parametrize("closed", ["etc/ssl/certs/deep/one.pem", "etc/ssl/certs/deep"])
def test_what_not_everybody_may_read_is_not_copied(closed: str, etc: Etc, root: Path) -> None:
    (root / closed).chmod(0o750)
    assert "ssl/certs/deep/one.pem" not in entries(etc.directory("/workspace"))


def test_everybody_may_read_the_copy_whatever_our_umask(etc: Etc) -> None:
    before = os.umask(0o077)
    found = Path(etc.directory("/workspace"))
    os.umask(before)
    assert {path.stat().st_mode & 0o005 for path in (found, found / "ssl", found / "ssl/certs/deep")} == {0o005}
    assert {path.stat().st_mode & 0o004 for path in (found / "passwd", found / "ssl/certs/deep/one.pem")} == {0o004}


@pytest.mark.parametrize("name", ["etc/nsswitch.conf", "etc/ssl/certs/deep/new.pem", "etc/services"])
def test_when_the_systems_has_changed_it_is_made_anew(name: str, etc: Etc, root: Path) -> None:
    before = etc.directory("/workspace")
    (root / name).write_text("changed")
    os.utime(root / name, ns=(1, 1))
    os.utime((root / name).parent, ns=(1, 1))
    after = etc.directory("/workspace")
    assert Path(after, name.removeprefix("etc/")).read_text() == "changed"
    assert Path(before, "passwd").exists()


def test_it_ends_with_its_owner(etc: Etc, tmp_path: Path) -> None:
    etc.directory("/workspace")
    etc.directory("/tmp")
    etc.close()
    assert list((tmp_path / "state").iterdir()) == []


def test_what_a_killed_gateway_left_is_taken_away_and_what_is_in_use_stays(etc: Etc, tmp_path: Path, root: Path) -> None:
    used = etc.directory("/workspace")
    (tmp_path / "state/etc-left").mkdir()
    other = Etc(tmp_path / "state", root)
    other.directory("/workspace")
    assert not (tmp_path / "state/etc-left").exists()
    assert Path(used, "passwd").exists()
    other.close()


def test_where_it_cannot_be_made_nothing_runs(tmp_path: Path, root: Path) -> None:
    (tmp_path / "state").write_text("no directory")
    with pytest.raises(SandboxUnavailable, match="cannot be made"):
        Etc(tmp_path / "state", root).directory("/workspace")
