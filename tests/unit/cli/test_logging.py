"""The log is set up by the command line: assembly/logging.py."""

import json
import logging
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostiary.assembly.logging import console, log_to_file, masked
from ostiary.contracts.errors import StoreUnavailable


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    for added in [each for each in root.handlers if each not in handlers]:
        root.removeHandler(added)
        added.close()
    root.setLevel(level)


def lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_file_holds_json_lines_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "ostiary.log"
    log_to_file(path)
    logging.getLogger("ostiary.intake").info("accepted item %d", 7)
    (entry,) = lines(path)
    assert (entry["level"], entry["logger"], entry["message"]) == ("info", "ostiary.intake", "accepted item 7")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_level_decides_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "ostiary.log"
    log_to_file(path, level="warning")
    logging.getLogger("ostiary.x").info("quiet")
    logging.getLogger("ostiary.x").warning("loud")
    assert [entry["message"] for entry in lines(path)] == ["loud"]


def test_the_file_is_turned_over_and_old_ones_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "ostiary.log"
    log_to_file(path, max_bytes=500, keep=2)
    for number in range(40):
        logging.getLogger("ostiary.x").info("line %d %s", number, "x" * 100)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["ostiary.log", "ostiary.log.1", "ostiary.log.2"]
    assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()} == {0o600}


def test_setting_up_twice_writes_each_line_once(tmp_path: Path) -> None:
    path = tmp_path / "ostiary.log"
    log_to_file(path)
    log_to_file(path)
    logging.getLogger("ostiary.x").info("once")
    assert len(lines(path)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcdef123456",
        "api_key=abcdef123456",
        "token: abcdef123456",
        "failed with sk-abcdef123456abcdef123456",
        "ghp_abcdef123456abcdef123456",
    ],
)
def test_what_looks_like_a_credential_is_masked(text: str) -> None:
    assert "abcdef123456" not in masked(text)


def test_ordinary_words_are_left_alone() -> None:
    assert masked("turn turn_01 used 100 tokens in 3 s") == "turn turn_01 used 100 tokens in 3 s"


def test_the_terminal_gets_plain_words_and_no_trace(capsys: pytest.CaptureFixture[str]) -> None:
    console()
    try:
        raise ValueError("inside")
    except ValueError:
        logging.getLogger("ostiary.x").exception("it broke")
    logging.getLogger("ostiary.x").info("not shown")
    assert capsys.readouterr().err == "error: it broke (ValueError; `ostiary logs` has the trace)\n"


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        log_to_file(tmp_path / "file" / "ostiary.log")
