"""Control groups of both versions, on a directory that looks like theirs."""

from pathlib import Path

import pytest

from ostiary.adapters.sandbox.cgroups import Groups, open_groups
from ostiary.contracts.sandbox import SandboxLimits

LIMITS = SandboxLimits(memory_bytes=1000, processes=10)
OWN = "3:memory:/service\n2:cpu,pids:/service\n0::/\n"


def test_the_second_version_bounds_memory_swap_and_processes(tmp_path: Path) -> None:
    group = Groups(parents=(tmp_path,), version=2)
    (tmp_path / "run").mkdir()
    made = group.make(LIMITS)
    assert len(made.directories) == 1
    assert made.directories[0].parent == tmp_path


def test_settings_are_written_where_the_controller_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["memory.max", "memory.swap.max", "memory.oom.group", "pids.max"]
    mkdir = Path.mkdir

    def with_files(path: Path, *arguments: object) -> None:
        mkdir(path)
        for name in names:
            (path / name).touch()

    monkeypatch.setattr(Path, "mkdir", with_files)
    made = Groups(parents=(tmp_path,), version=2).make(LIMITS)
    assert [(made.directories[0] / name).read_text() for name in names] == ["1000", "0", "1", "15"]


def test_the_first_version_has_a_group_for_each_controller(tmp_path: Path) -> None:
    for controller in ("memory", "pids"):
        (tmp_path / controller / "service").mkdir(parents=True)
    (tmp_path / "own").write_text(OWN)
    groups = open_groups(tmp_path, tmp_path / "own")
    assert groups is not None
    made = groups.make(LIMITS)
    assert [path.relative_to(tmp_path).parts[:2] for path in made.directories] == [("memory", "service"), ("pids", "service")]
    made.remove()
    groups.close()
    assert list((tmp_path / "memory" / "service").iterdir()) == []


def test_without_the_controllers_there_are_no_groups(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids")
    (tmp_path / "cgroup.subtree_control").write_text("cpu")
    assert open_groups(tmp_path) is None


def test_where_nothing_may_be_made_there_are_no_groups(tmp_path: Path) -> None:
    (tmp_path / "own").write_text(OWN)
    assert open_groups(tmp_path / "absent", tmp_path / "own") is None
    assert open_groups(tmp_path, tmp_path / "absent") is None


def test_a_process_that_cannot_be_added_is_told(tmp_path: Path) -> None:
    made = Groups(parents=(tmp_path,), version=2).make(LIMITS)
    made.directories[0].rmdir()
    assert made.add(1) is False
