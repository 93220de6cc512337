from pathlib import Path

import pytest

from ostiary.cli import __main__, app
from ostiary.cli.__main__ import _run, _without_debug

KEY = "sk-ant-api03-Qw8ZtR4vLx0NpY7hKd2Jm5Sb9Gc3Fe6U"


@pytest.fixture(autouse=True)
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command line whose commands have a bug."""

    def fail(arguments: object) -> int:
        raise RuntimeError(f"no such thing\nas token={KEY}")

    monkeypatch.setattr(app, "run", fail)
    monkeypatch.setenv("OSTIARY_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("OSTIARY_DEBUG", raising=False)


def test_a_bug_is_told_in_a_sentence_and_written_to_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(["doctor"]) == 1
    out, err = capsys.readouterr()
    log = tmp_path / "home" / "logs" / "ostiary.log"
    first, second = err.splitlines()
    assert (out, first.split("token")[0]) == ("", "error: something went wrong that should not: RuntimeError: no such thing as ")
    assert str(log) in second
    assert "Traceback" not in err
    assert "in fail" in log.read_text()
    assert KEY not in err + log.read_text()


def test_of_several_errors_the_first_is_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(arguments: object) -> int:
        raise ExceptionGroup("unhandled errors in a TaskGroup", [ExceptionGroup("inner", [ValueError("the real one")])])

    monkeypatch.setattr(app, "run", fail)
    assert _run(["doctor"]) == 1
    assert "ValueError: the real one" in capsys.readouterr().err


def test_where_the_log_cannot_be_written_the_sentence_is_told_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("OSTIARY_HOME", str(tmp_path / "file" / "home"))
    assert _run(["doctor"]) == 1
    assert "--debug" in capsys.readouterr().err


def test_with_debug_the_traceback_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(__main__.os, "environ", {**__main__.os.environ})
    assert _without_debug(["--debug", "doctor"]) == ["doctor"]
    with pytest.raises(RuntimeError):
        _run(["doctor"])


def test_a_message_that_says_debug_is_a_message() -> None:
    assert _without_debug(["agent", "-m", "--debug"]) == ["agent", "-m", "--debug"]
