"""The fork server's program: made once, trusted only if it is ours, done without where it cannot be made."""

import os
import shutil
from pathlib import Path

import pytest

from ostiary.adapters.sandbox.native import server_program


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = server_program(tmp_path_factory.mktemp("native") / "state")
    assert program is not None
    return program


def test_it_is_made_once(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = made.stat().st_mtime_ns
    monkeypatch.setenv("PATH", "/nowhere")
    assert server_program(made.parent) == made
    assert made.stat().st_mtime_ns == before


def test_nothing_else_is_left_beside_it(made: Path) -> None:
    assert [path.name for path in made.parent.iterdir()] == [made.name]
    assert made.stat().st_mode & 0o777 == 0o555


def test_without_a_compiler_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert server_program(tmp_path / "state") is None


def test_a_compiler_that_fails_is_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cc").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert server_program(tmp_path / "state") is None


def test_where_the_library_can_only_be_shared_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = shutil.which("cc")
    (tmp_path / "cc").write_text(f'#!/bin/sh\ncase "$*" in *-static*) exit 1 ;; esac\nexec {found} "$@"\n')
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert server_program(tmp_path / "state") is not None


@pytest.mark.parametrize("mode", [0o757, 0o775])
def test_a_program_others_could_have_changed_is_not_used(
    mode: int, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    (state / made.name).write_bytes(b"something else")
    (state / made.name).chmod(mode)
    monkeypatch.setenv("PATH", "/nowhere")
    assert server_program(state) is None


def test_a_program_in_a_folder_others_may_write_is_not_used(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / made.name).write_bytes(made.read_bytes())
    (tmp_path / made.name).chmod(0o555)
    tmp_path.chmod(0o777)
    monkeypatch.setenv("PATH", "/nowhere")
    assert server_program(tmp_path) is None


def test_a_link_is_not_followed(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.symlink(made, tmp_path / made.name)
    monkeypatch.setenv("PATH", "/nowhere")
    assert server_program(tmp_path) is None
