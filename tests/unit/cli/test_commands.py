import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ostiary.cli.agent import Asked, _parse
from ostiary.cli.app import COMMANDS, COMPLETE
from ostiary.contracts.identity import SessionKey
from tests.unit.cli.fakes import running_gateway

SRC = str(Path(__file__).parents[3] / "src")


def ostiary(home: Path, *arguments: str, given: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ostiary.cli", *arguments],
        input=given,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "OSTIARY_HOME": str(home), "PYTHONPATH": SRC, "NO_COLOR": "1", "COLUMNS": "200", **environ},
    )


def test_the_version_loads_no_framework(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['ostiary', '--version']; from ostiary.cli.__main__ import main; main();"
        "print('typer' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": SRC}, check=True
    )
    assert done.stdout.startswith("ostiary ")
    assert done.stdout.endswith("False\n")


def test_agent_prints_the_answer_of_the_running_gateway(tmp_path: Path) -> None:
    with running_gateway(tmp_path) as engine:
        done = ostiary(tmp_path, "agent", "-m", "hi")
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", "")
    assert engine.submitted[0].session == SessionKey("main", "main")


@pytest.mark.parametrize(
    ("session", "key"), [("agent:main:work", SessionKey("main", "work")), ("ana", SessionKey("main", "api:ana"))]
)
def test_agent_speaks_in_the_session_it_is_told(tmp_path: Path, session: str, key: SessionKey) -> None:
    with running_gateway(tmp_path) as engine:
        ostiary(tmp_path, "agent", "--message=hi", "--session", session, "--json")
    assert engine.submitted[0].session == key


def test_agent_reads_standard_input_and_writes_json(tmp_path: Path) -> None:
    with running_gateway(tmp_path) as engine:
        done = ostiary(tmp_path, "agent", "-m", "-", "--json", given="from a pipe")
    assert json.loads(done.stdout)["choices"][0]["message"]["content"] == "hello"
    assert engine.submitted[0].message.text == "from a pipe"


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (["-m", "hi"], Asked(message="hi")),
        (["--message", "--json"], Asked(message="--json")),
        (["--message=a=b", "--no-stream"], Asked(message="a=b", no_stream=True)),
        (["-m", "hi", "--model", "x/y", "--session=s", "--json"], Asked("hi", "s", "x/y", True)),
        (["-m"], None),
        (["--help"], None),
        (["-mhi"], None),
        (["hi"], None),
    ],
)
def test_the_quick_way_takes_only_plain_spellings(arguments: list[str], asked: Asked | None) -> None:
    assert _parse(arguments) == asked


@pytest.mark.parametrize("arguments", [["nope"], ["agent"], ["agent", "--nope"], ["up", "--port", "x"], ["completion", "tcsh"]])
def test_a_wrong_command_line_is_a_usage_error(tmp_path: Path, arguments: list[str]) -> None:
    done = ostiary(tmp_path, *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments", [["logs"], ["sessions", "show", "nonsense"], ["chat"], ["sessions", "import", "agent:main:x", "/nowhere"]]
)
def test_an_error_is_one_sentence_and_what_to_do(tmp_path: Path, arguments: list[str]) -> None:
    done = ostiary(tmp_path, *arguments)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_a_traceback_is_there_for_who_asks(tmp_path: Path) -> None:
    assert "Traceback" in ostiary(tmp_path, "logs", OSTIARY_DEBUG="1").stderr


def test_status_tells_programs_and_people(tmp_path: Path) -> None:
    away = ostiary(tmp_path, "status", "--json")
    with running_gateway(tmp_path):
        here = ostiary(tmp_path, "status", "--json")
        said = ostiary(tmp_path, "status")
    assert (away.returncode, json.loads(away.stdout)["running"]) == (3, False)
    assert (here.returncode, json.loads(here.stdout)["engine"]["version"]) == (0, "1")
    assert said.stdout.startswith("running at http://127.0.0.1:")


def test_help_shows_every_command(tmp_path: Path) -> None:
    text = ostiary(tmp_path, "--help").stdout
    assert [name for name in (*COMMANDS, "version") if f" {name} " not in text] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_ask_the_program_itself(tmp_path: Path, shell: str) -> None:
    assert COMPLETE in ostiary(tmp_path, "completion", shell).stdout


def test_completion_knows_the_commands(tmp_path: Path) -> None:
    environ = {COMPLETE: "complete_bash", "COMP_WORDS": "ostiary sess", "COMP_CWORD": "1"}
    assert ostiary(tmp_path, **environ).stdout.split() == ["sessions"]
