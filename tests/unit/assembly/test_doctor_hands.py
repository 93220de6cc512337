"""What doctor and status say of the fence, the browser, the workspaces and the audit log."""

from pathlib import Path

import anyio
import pytest

from ostiary.adapters.store.sqlite import load_or_create_key, open_store
from ostiary.assembly.audit import HEADS
from ostiary.assembly.doctor import Finding
from ostiary.assembly.doctor_hands import availability, check_audit, check_hands
from ostiary.assembly.vault import STORE, STORE_KEY
from ostiary.contracts.store import Audit
from ostiary.kit.clock import ManualClock

ABSENT = '{agents: {defaults: {sandbox: {backend: "podman"}}}, browser: {executablePath: "/nowhere/chromium"}}'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """On a machine where no program is installed."""
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / "ostiary.json5").write_text(ABSENT)
    return tmp_path / "home"


def found(home: Path, level: str) -> list[Finding]:
    return [each for each in check_hands(home, {}) if each.level == level]


def write_log(home: Path, entries: int) -> None:
    async def write() -> None:
        (home / STORE).parent.mkdir(parents=True, exist_ok=True)
        key = load_or_create_key(home / STORE_KEY, unlocks=(home / STORE,))
        async with open_store(home / STORE, key, clock=ManualClock()) as store:
            row = Audit(at=1.0, kind="login", actor="me", subject="page", outcome="ok", detail={})
            await store.commit([row] * entries)

    anyio.run(write)


def test_what_is_missing_is_said_with_what_to_do(home: Path) -> None:
    warned = found(home, "warning")
    assert [each.title for each in warned] == ["The assistant cannot run commands here", "The assistant has no browser here"]
    assert [bool(each.detail and each.fix) for each in warned] == [True, True]
    assert "/nowhere/chromium" in warned[1].detail


def test_examining_the_hands_leaves_nothing_behind(home: Path) -> None:
    assert found(home, "warning")
    assert [each.name for each in home.iterdir()] == ["ostiary.json5"]


def test_a_browser_that_is_not_wanted_is_not_missed(home: Path) -> None:
    (home / "ostiary.json5").write_text('{agents: {defaults: {sandbox: {backend: "podman"}}}, browser: {enabled: false}}')
    assert [each.title for each in found(home, "warning")] == ["The assistant cannot run commands here"]
    assert availability(home, {})["browser"] == "off"


def test_a_workspace_folder_that_is_none_is_an_error(home: Path) -> None:
    (home / "workspaces").write_text("")
    (error,) = found(home, "error")
    assert "is not a folder" in error.title


def test_a_workspace_folder_that_others_can_write_is_warned_of(home: Path) -> None:
    (home / "workspaces").mkdir()
    (home / "workspaces").chmod(0o777)
    assert f"chmod go-w {home / 'workspaces'}" in [each.fix for each in found(home, "warning")]


def test_an_invalid_configuration_is_left_to_the_check_that_says_so(home: Path) -> None:
    (home / "ostiary.json5").write_text("{nonsense: 1}")
    assert list(check_hands(home, {})) == []


def test_status_says_what_is_there_without_trying_it(home: Path) -> None:
    assert availability(home, {}) == {
        "sandbox": "unavailable: podman is not installed",
        "browser": "unavailable: there is no browser at /nowhere/chromium",
    }


def test_a_house_without_a_store_has_no_audit_log_to_look_at(home: Path) -> None:
    assert list(check_audit(home)) == []


def test_an_audit_log_that_holds_is_told_with_its_length(home: Path) -> None:
    write_log(home, 3)
    assert [(each.level, each.title) for each in check_audit(home)] == [("ok", "The audit log holds: 3 entries")]


def test_an_audit_log_that_was_cut_is_an_error(home: Path) -> None:
    write_log(home, 3)
    (home / HEADS).write_text('{"at": 1.0, "seq": 7, "chain": "00"}\n')
    (error,) = check_audit(home)
    assert (error.level, error.title) == ("error", "The audit log does not hold")
    assert "7" in error.detail
