import csv
import io
import json
from pathlib import Path

import anyio
import pytest

from ostiary.adapters.store.sqlite import load_or_create_key, open_store
from ostiary.adapters.store.sqlite.connection import connect_writer
from ostiary.assembly.audit import Auditor
from ostiary.assembly.vault import STORE, STORE_KEY
from ostiary.cli.app import run
from ostiary.contracts.store import Audit
from ostiary.kit.clock import ManualClock


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory with three entries and their checkpoints."""
    monkeypatch.setenv("OSTIARY_HOME", str(tmp_path))

    async def fill() -> None:
        async with open_store(tmp_path / STORE, load_or_create_key(tmp_path / STORE_KEY), clock=ManualClock()) as store:
            kinds = ("login", "tool.decided", "tool.called")
            await store.commit(
                [
                    Audit(at=1.8e9, kind=kind, actor="=cmd()", subject="exec\x1b[31m", outcome="ok", detail={"n": 1})
                    for kind in kinds
                ]
            )
            await Auditor(store, ManualClock(), tmp_path)._begin()

    anyio.run(fill)
    return tmp_path


def test_a_log_that_holds_is_verified(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "verify"]) == 0
    assert capsys.readouterr().out.startswith("The audit log holds: 3 entries")


def test_a_log_that_was_touched_fails_with_the_entrys_number(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    connection = connect_writer(home / STORE, load_or_create_key(home / STORE_KEY))
    connection.execute("DELETE FROM audit WHERE seq = 3").fetchall()
    connection.close()
    assert run(["audit", "verify", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], "Entry 3" in told["problem"]) == (False, True)


def test_the_newest_entries_are_shown_without_steering_the_terminal(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "tail", "-n", "2"]) == 0
    shown = capsys.readouterr().out
    assert [line.split()[3] for line in shown.splitlines()] == ["tool.decided", "tool.called"]
    assert "\x1b" not in shown


def test_entries_are_chosen_by_kind(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "tail", "--kind", "tool.*", "--json"]) == 0
    assert [json.loads(line)["seq"] for line in capsys.readouterr().out.splitlines()] == [2, 3]


def test_everything_is_exported_as_lines_of_json(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "export"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["seq"], row["detail"]) for row in rows] == [(1, {"n": 1}), (2, {"n": 1}), (3, {"n": 1})]


def test_a_table_holds_no_formula(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "export", "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["actor"] for row in rows] == ["'=cmd()"] * 3


def test_without_a_store_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("OSTIARY_HOME", str(tmp_path / "none"))
    assert run(["audit", "verify"]) == 1
    assert "there is no audit log" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_the_security_audit_names_what_is_open_and_closes_files(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home.chmod(0o755)
    (home / "ostiary.json5").write_text("{gateway: {bind: 'lan'}}")
    assert run(["security", "audit", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert {"gateway.no_tls", "files.folder_open"} <= {row["id"] for row in told["findings"]}
    run(["security", "audit", "--fix"])
    shown = capsys.readouterr().out
    assert "is closed to other users now" in shown
    assert "files.folder_open" not in shown
