"""`up` reads its plain spellings by itself and leaves the rest to the framework."""

from pathlib import Path

import pytest

from ostiary.cli.up import Asked, parse, progress_line, typed


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ([], Asked()),
        (["--port", "9000"], Asked(port=9000)),
        (["--port=0", "--json-logs"], Asked(port=0, json_logs=True)),
        (["--home", "/srv/house", "--port", "1"], Asked(port=1, home=Path("/srv/house"))),
    ],
)
def test_plain_spellings_are_understood(arguments: list[str], asked: Asked) -> None:
    assert parse(arguments) == asked


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--port"], ["--port", "x"], ["--port", "70000"], ["--port", "²"], ["--home"], ["--home="], ["here"]],
)
def test_anything_else_is_left_to_the_framework(arguments: list[str]) -> None:
    assert parse(arguments) is None


@pytest.mark.parametrize(
    ("path", "here", "name"),
    [
        ("{place}/.venv/bin", "{place}", "ostiary"),
        ("/usr/bin", "{place}", ".venv/bin/ostiary"),
        ("/usr/bin", "{place}/.venv/bin", "./ostiary"),
        ("/usr/bin", "/usr", "{place}/.venv/bin/ostiary"),
    ],
)
def test_what_to_type_is_what_a_shell_finds(
    path: str, here: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / ".venv" / "bin" / "ostiary"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    monkeypatch.setattr("sys.argv", [str(program), "up"])
    monkeypatch.setenv("PATH", path.format(place=tmp_path))
    monkeypatch.chdir(here.format(place=tmp_path))
    assert typed() == name.format(place=tmp_path)


def test_progress_is_one_line_that_says_nothing_twice_and_ends_once() -> None:
    written: list[str] = []
    show = progress_line(written.append)
    for done in (0, 0, 1, 1, 2, 2):
        show("the package index", done, 2)
    said = "\rfetching the embedded model, once (the package index): {} %\033[K"
    assert written == [said.format(0), said.format(50), said.format(100) + "\n"]
