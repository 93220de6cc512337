import os
from pathlib import Path

import pytest

from ostiary.assembly.passphrase import AskPassphrase
from ostiary.contracts.errors import StoreRefused


@pytest.fixture(autouse=True)
def nothing_given(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OSTIARY_PASSPHRASE", "OSTIARY_PASSPHRASE_FD", "CREDENTIALS_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)


def test_it_comes_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTIARY_PASSPHRASE", "four random words")
    assert AskPassphrase()("for a test", False) == "four random words"


def test_it_comes_by_a_descriptor_and_is_there_a_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"four random words\n")
    os.close(writing)
    monkeypatch.setenv("OSTIARY_PASSPHRASE_FD", str(reading))
    ask = AskPassphrase()
    assert ask("for a test", False) == ask("for a test", True) == "four random words"
    os.close(reading)


def test_it_comes_by_the_service_manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ostiary-passphrase").write_text("four random words\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert AskPassphrase()("for a test", False) == "four random words"


def test_a_descriptor_that_cannot_be_read_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTIARY_PASSPHRASE_FD", "987")
    with pytest.raises(StoreRefused, match="descriptor 987"):
        AskPassphrase()("for a test", False)


def test_without_a_terminal_it_says_what_to_set() -> None:
    with pytest.raises(StoreRefused, match="no terminal") as caught:
        AskPassphrase()("for a test", False)
    assert "OSTIARY_PASSPHRASE_FD" in caught.value.hint
