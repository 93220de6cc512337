import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from ostiary.assembly.keys import sources
from ostiary.cli.app import run
from tests.unit.assembly.houses import contents, make_house


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("OSTIARY_RECOVERY_KEY", "OSTIARY_PASSPHRASE", "OSTIARY_BACKUP_PASSPHRASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OSTIARY_HOME", str(tmp_path / "home"))
    anyio.run(make_house, tmp_path / "home")
    return tmp_path / "home"


def told(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """What a command prints as JSON."""
    capsys.readouterr()
    run([*words, "--json"])
    return json.loads(capsys.readouterr().out)


def test_from_the_first_backup_to_a_house_elsewhere(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = told(capsys, "backup", "create", "--to", str(tmp_path / "f"))
    again = told(capsys, "backup", "create", "--to", str(tmp_path / "f"), "--incremental")
    assert ("recoveryKey" in made, "recoveryKey" in again) == (True, False)
    assert again["stored"] < made["stored"]
    assert [row["id"] for row in told(capsys, "backup", "list", "--from", str(tmp_path / "f"))] == [made["id"], again["id"]]
    assert told(capsys, "backup", "verify", "--from", str(tmp_path / "f"))["ok"] is True
    before = contents(home)
    monkeypatch.setenv("OSTIARY_RECOVERY_KEY", made["recoveryKey"])
    monkeypatch.setenv("OSTIARY_HOME", str(tmp_path / "nowhere"))
    assert run(["backup", "restore", str(tmp_path / "f"), "--home", str(tmp_path / "new")]) == 0
    assert contents(tmp_path / "new") == before


def test_a_passphrase_for_backups_restores_too(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OSTIARY_BACKUP_PASSPHRASE", "four random words")
    assert run(["backup", "create", "--to", str(tmp_path / "x.backup"), "--passphrase"]) == 0
    assert run(["backup", "restore", str(tmp_path / "x.backup"), "--home", str(tmp_path / "new"), "--passphrase"]) == 0
    monkeypatch.setenv("OSTIARY_BACKUP_PASSPHRASE", "four other words")
    assert run(["backup", "restore", str(tmp_path / "x.backup"), "--home", str(tmp_path / "b"), "--passphrase"]) == 1
    assert "this is not the recovery key or the passphrase" in capsys.readouterr().err


def test_the_recovery_key_is_shown_with_what_to_do_with_it(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["backup", "create"]) == 0
    out = capsys.readouterr().out
    assert "Recovery key:" in out
    assert "Write it down" in out


def test_a_damaged_backup_is_named_and_the_exit_code_says_so(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["backup", "create"])
    next(path for path in (home / "backups" / "pieces").rglob("*") if path.is_file()).write_bytes(b"")
    assert run(["backup", "verify"]) == 1
    assert "is damaged" in capsys.readouterr().err
    assert run(["vault", "verify"]) == 1


def test_old_backups_are_pruned(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["backup", "create"])
    assert told(capsys, "backup", "prune", "--keep-days", "0")["removed"] == []


def test_where_there_is_no_house_or_no_backup_it_says_so(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["backup", "list"]) == 0
    assert "no backups" in capsys.readouterr().out
    assert run(["backup", "restore", str(tmp_path), "--home", str(tmp_path / "new")]) == 1
    monkeypatch.setenv("OSTIARY_HOME", str(tmp_path / "empty"))
    assert run(["backup", "create"]) == 1
    assert "there is no house" in capsys.readouterr().err


def test_a_house_is_verified_rekeyed_and_verified_again(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "vault", "verify")["ok"] is True
    before = contents(home)
    assert "bots/main/store.db" in told(capsys, "vault", "rekey")["files"]
    assert told(capsys, "vault", "verify")["ok"] is True
    assert contents(home) == before


def test_the_key_is_shown_and_moved(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "vault", "key", "show") == {"kept": ["file"], "configured": "file"}
    monkeypatch.setenv("OSTIARY_PASSPHRASE", "four random words")
    assert run(["vault", "key", "move", "--to", "passphrase"]) == 0
    assert sources(home) == ("passphrase",)
    assert run(["vault", "key", "move", "--to", "the moon"]) == 1
    assert "no place for a key" in capsys.readouterr().err
