import os
import pty
from collections.abc import Iterator
from typing import Any

import pytest

from ostiary.cli import asking

QUESTION: dict[str, Any] = {
    "id": "abcd",
    "reason": "it runs a command",
    "text": "exec\ncommand: ls\ncwd: /work",
    "deadline": 400.0,
    "trust": "owner",
    "sources": [],
    "offers": [{"pattern": "ls", "text": "ls"}],
}


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ("y\n", "/confirm abcd"),
        ("YES", "/confirm abcd"),
        ("y for 1h", "/confirm abcd for 1h"),
        ("y 30 min", "/confirm abcd for 30min"),
        ("", "/deny abcd"),
        ("n", "/deny abcd"),
        ("no use the other folder", "/deny abcd use the other folder"),
        ("yup", "/deny abcd yup"),
        ("y for ever", "/deny abcd y for ever"),
        ("yes please do", "/deny abcd yes please do"),
    ],
)
def test_only_a_plain_yes_is_a_yes(typed: str, command: str) -> None:
    assert asking.command_for(QUESTION, typed) == command


def test_everything_is_shown_and_where_it_came_from() -> None:
    shown = asking.whole({**QUESTION, "trust": "untrusted", "sources": ["web:evil.example"]}, now=100.0)
    assert "│ command: ls" in shown
    assert "│ cwd: /work" in shown
    assert "web:evil.example" in shown
    assert "refused in 300 s" in shown


def at_a_terminal(monkeypatch: pytest.MonkeyPatch, *typed: str | None) -> None:
    lines: Iterator[str | None] = iter(typed)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(asking, "_line", lambda seconds: next(lines))


def test_what_could_not_be_done_is_asked_again(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    at_a_terminal(monkeypatch, "y for 1h", "y")
    replies = {"/confirm abcd for 1h": "This can only be allowed once.", "/confirm abcd": "Allowed: abcd."}
    said: list[str] = []
    asking.put(QUESTION, lambda command: said.append(command) or replies[command])  # type: ignore[func-returns-value]
    assert said == ["/confirm abcd for 1h", "/confirm abcd"]
    assert capsys.readouterr().err.count("[y/N]") == 2


def test_silence_says_nothing_for_the_person(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    at_a_terminal(monkeypatch, None)
    asking.put(QUESTION, lambda command: pytest.fail(command))
    assert "Nobody answered in time" in capsys.readouterr().err


def test_without_a_terminal_nobody_is_asked(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    asking.put(QUESTION, lambda command: pytest.fail(command))
    assert "ostiary approvals allow abcd" in capsys.readouterr().err


def test_a_yes_that_was_typed_before_the_question_is_no_answer_to_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    leader, follower = pty.openpty()
    os.write(leader, b"y\ny\n")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with os.fdopen(follower) as terminal, os.fdopen(leader):
        monkeypatch.setattr("sys.stdin", terminal)
        asking.put({**QUESTION, "deadline": 0.0}, lambda command: pytest.fail(command))
    assert "Nobody answered in time" in capsys.readouterr().err
