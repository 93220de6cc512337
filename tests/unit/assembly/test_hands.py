"""What the house does with the directories of commands when it starts."""

from pathlib import Path

from ostiary.assembly.hands import UNUSED_SECONDS, _recover
from ostiary.kit.clock import ManualClock
from tests.unit.adapters.workspace.support import workspace
from tests.unit.adapters.workspace.test_workspace import house, ran


async def test_directories_that_nobody_came_back_to_are_gone_after_a_start(tmp_path: Path) -> None:
    held = workspace(house(), tmp_path)
    await ran(held)
    used = max(path.stat().st_mtime for path in (tmp_path / "workspaces").rglob("*.json"))
    await _recover(held, ManualClock(used + UNUSED_SECONDS - 60))
    assert len(list((tmp_path / "workspaces").iterdir())) == 1
    await _recover(held, ManualClock(used + UNUSED_SECONDS + 60))
    assert list((tmp_path / "workspaces").iterdir()) == []
