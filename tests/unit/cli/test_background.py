"""Only a gateway is ever signalled: a run file that a crash left behind names nobody."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ostiary.cli import background


def leave_run_file(home: Path, pid: object) -> None:
    (home / "run").mkdir()
    (home / "run" / "gateway.json").write_text(json.dumps({"pid": pid, "url": "http://127.0.0.1:9", "token": "x"}))


def test_no_run_file_is_no_gateway(tmp_path: Path) -> None:
    assert background.running(tmp_path) is None
    assert background.stop(tmp_path, seconds=0.0) is None


@pytest.mark.parametrize("pid", [0, 1, -1, "many", None, 2**22 + 1])
def test_a_pid_that_is_none_is_nobody(tmp_path: Path, pid: object) -> None:
    leave_run_file(tmp_path, pid)
    assert background.running(tmp_path) is None


def test_another_program_that_has_the_pid_now_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, cwd="/") as stranger:
        leave_run_file(tmp_path, stranger.pid)
        assert background.stop(tmp_path, seconds=0.0, force=True) is None
        assert stranger.poll() is None
        assert stranger.stdin is not None
        stranger.stdin.write(b"\n")
        stranger.stdin.flush()
    assert stranger.returncode == 0


def test_the_log_of_a_start_is_private(tmp_path: Path) -> None:
    with background._private(tmp_path / "logs" / "start.log") as handle:
        os.write(handle, b"x")
    assert (tmp_path / "logs" / "start.log").stat().st_mode & 0o777 == 0o600
