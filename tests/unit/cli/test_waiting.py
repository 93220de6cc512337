import os
import subprocess
import sys
from pathlib import Path

import pytest

from ostiary.adapters.store.sqlite.lock import hold_writer_lock
from ostiary.cli.waiting import in_turn
from ostiary.contracts.errors import StoreHeld


async def test_who_holds_the_state_directory_for_a_moment_is_waited_for_and_that_is_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, tries = tmp_path / "store.db", 0
    lock = hold_writer_lock(path)

    async def act() -> None:
        nonlocal tries
        tries += 1
        os.closerange(lock, lock + (tries == 3))
        os.close(hold_writer_lock(path))

    await in_turn(tmp_path, act)
    assert (tries, capsys.readouterr().err) == (3, "Waiting for another ostiary command to finish …\n")


async def test_who_holds_it_for_too_long_is_named(tmp_path: Path) -> None:
    lock = hold_writer_lock(tmp_path / "store.db")

    async def act() -> None:
        os.close(hold_writer_lock(tmp_path / "store.db"))

    with pytest.raises(StoreHeld, match=f"pid {os.getpid()}"):
        await in_turn(tmp_path, act, seconds=-1.0)
    os.close(lock)


def test_the_holder_is_named_by_its_command_and_never_by_its_arguments(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    code = (
        "import sys; from pathlib import Path; from ostiary.adapters.store.sqlite.lock import hold_writer_lock;"
        f"hold_writer_lock(Path({str(path)!r})); print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, "ostiary.cli", "vault", "import", "/home/ann/diary"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreHeld) as refused:
            hold_writer_lock(path)
        holder.communicate(timeout=10)
    assert f"(pid {holder.pid}: ostiary vault import)" in str(refused.value)
