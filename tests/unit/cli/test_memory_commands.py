import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ostiary.adapters.search.database import open_reading
from ostiary.cli.app import run
from ostiary.cli.memory_search import Asked, parse, try_quickly
from ostiary.contracts.errors import BadInput, StoreRefused

SRC = str(Path(__file__).parents[3] / "src")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "ostiary.json5").write_text('{memory: {search: {embedder: "none"}}}')
    monkeypatch.setenv("OSTIARY_HOME", str(home))
    return home


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "garden.md").write_text("# Garden\n\nThe gate is green.\nThe key hangs in the shed.\n")
    (folder / "deep" / "trip.txt").write_text("We take the night train to Lisbon.\n")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    return folder


def said(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    run(words)
    return json.loads(capsys.readouterr().out)


def test_a_folder_is_added_and_found_with_its_lines(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    added = said(capsys, "memory", "add", str(notes), "--as", "my/notes", "--json")
    found = said(capsys, "memory", "search", "where is the key", "--limit", "1", "--json")
    assert (added["added"], added["indexed"]) == (2, 2)
    assert [(each["path"], each["start"], each["end"]) for each in found] == [("my/notes/garden.md", 1, 4)]
    assert "shed" in found[0]["snippet"]
    assert 0 < found[0]["score"] <= 1


def test_adding_again_takes_only_what_changed(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "memory", "add", str(notes), "--json")
    (notes / "garden.md").write_text("The gate is blue now.\n")
    (notes / "deep" / "trip.txt").unlink()
    (notes / "new.md").write_text("new\n")
    again = said(capsys, "memory", "add", str(notes), "--json")
    listed = said(capsys, "memory", "list", "--json")
    assert (again["added"], again["changed"], again["unchanged"]) == (1, 1, 0)
    assert [each["path"] for each in listed["notes"]] == ["notes/deep/trip.txt", "notes/garden.md", "notes/new.md"]


def test_notes_that_nobody_vouches_for_are_kept_as_such(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "memory", "add", str(notes), "--untrusted", "--json")
    found = said(capsys, "memory", "search", "night train", "--json")
    assert found[0]["trust"] == "untrusted"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nowhere"):
        run(["memory", "add", str(tmp_path / "nowhere")])


def test_a_folder_without_notes_says_what_notes_are(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput) as refused:
        run(["memory", "add", str(tmp_path / "empty")])
    assert ".md" in refused.value.hint


def test_many_questions_are_answered_by_one_process_a_line_each(
    notes: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "memory", "add", str(notes), "--json")
    with subprocess.Popen(
        [sys.executable, "-m", "ostiary.cli", "memory", "search", "--stdin"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": SRC},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        answers = []
        for line in ("night train", '{"query": "green gate", "limit": 1}', "", '{"limit": 1}'):
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
            # The answer comes before the next question is asked.
            answers.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        assert process.wait(20) == 0
    assert answers[0][0]["path"] == "notes/deep/trip.txt"
    assert [each["path"] for each in answers[1]] == ["notes/garden.md"]
    assert "error" in answers[2]
    assert "error" in answers[3]


def test_every_line_gets_one_answer_however_odd_it_is(notes: Path) -> None:
    run(["memory", "add", str(notes), "--as", "notes"])
    lines = [
        b"x" * 250_000,
        b'{"query": ' + b"[" * 50_000,
        b'{"query": "green gate", "limit": 1e999}',
        b'{"query": "green gate", "limit": true}',
        b'{"query": null}',
        b'{"query": "\\ud800 green gate"}',
        b"\xff\xfe green gate",
        b"green gate\0",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "ostiary.cli", "memory", "search", "--stdin"],
        input=b"\n".join(lines),
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": SRC},
        timeout=20,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert ["error" in answer for answer in answers] == [True] * 5 + [False] * 3
    assert {answer[0]["path"] for answer in answers[5:]} == {"notes/garden.md"}


def test_what_is_remembered_can_be_explained_and_forgotten(capsys: pytest.CaptureFixture[str]) -> None:
    kept = said(capsys, "memory", "write", "Ana has the key of the blue shed", "--json")
    origins = said(capsys, "memory", "why", "blue shed", "--json")
    done = said(capsys, "memory", "forget", "blue shed", "--yes", "--json")
    assert kept["path"] == origins[0]["path"] == "MEMORY.md"
    assert done["entries"] == 1
    assert run(["memory", "why", "blue shed"]) == 1


def test_nothing_is_forgotten_without_a_yes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    said(capsys, "memory", "write", "Ana has the key of the blue shed", "--json")
    with pytest.raises(BadInput, match="nothing was erased"):
        run(["memory", "forget", "blue shed"])
    assert len(said(capsys, "memory", "why", "blue shed", "--json")) == 1


def test_a_secret_is_not_remembered() -> None:
    with pytest.raises(BadInput, match="secrets are never kept"):
        run(["memory", "write", "the token is ghp_R7kXv2LmQ9tZpW4sYb8NcJ1dHf6GaE3uTo5i"])


def test_the_index_is_made_anew(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "memory", "add", str(notes), "--json")
    made = said(capsys, "memory", "reindex", "--json")
    assert made["documents"] == 2
    assert said(capsys, "memory", "status", "--json")["index"]["waiting"] == 0


def test_a_deleted_conversation_is_in_no_file_of_the_index(
    notes: Path, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = tmp_path / "said.jsonl"
    lines.write_text('{"role": "user", "content": "the albatross sleeps at noon"}\n')
    run(["memory", "add", str(notes)])
    run(["sessions", "import", "agent:main:x", str(lines)])
    found = said(capsys, "memory", "search", "albatross", "--sessions", "--json")
    assert [each["collection"] for each in found] == ["_sessions"]
    run(["sessions", "delete", "agent:main:x", "--yes"])
    connection = open_reading(home / "bots" / "main" / "search.db", (home / "keys" / "store.key").read_bytes())
    left = connection.execute("SELECT collection FROM documents WHERE collection = '_sessions'").fetchall()
    connection.close()
    assert left == []
    assert said(capsys, "memory", "search", "albatross", "--sessions", "--json") == []


def test_a_store_of_another_key_is_refused_in_a_sentence(notes: Path, home: Path) -> None:
    run(["memory", "add", str(notes)])
    (home / "keys" / "store.key").write_bytes(bytes(32))
    with pytest.raises(StoreRefused):
        run(["memory", "search", "gate"])


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["a b"], Asked(text="a b")),
        (["--limit", "3", "a", "--json"], Asked(text="a", limit=3, as_json=True)),
        (["--limit=3", "a", "--sessions", "--agent", "x"], Asked(text="a", limit=3, sessions=True, agent="x")),
        (["--stdin", "-n", "2"], Asked(stdin=True, limit=2)),
        (["--help"], None),
        (["a", "b"], None),
        (["a", "--limit", "0"], None),
        (["a", "--limit", "many"], None),
        (["a", "--agent"], None),
        (["a", "--stdin"], None),
        ([], None),
    ],
)
def test_the_quick_way_understands_what_is_whole_and_leaves_the_rest(words: list[str], asked: Asked | None) -> None:
    assert parse(words) == asked


def test_the_quick_way_is_for_searching_alone() -> None:
    assert try_quickly(["status"]) is None


def test_searching_loads_no_framework(home: Path) -> None:
    code = (
        "import sys; sys.argv = ['ostiary', 'memory', 'search', 'x', '--json']\n"
        "from ostiary.cli.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: print([name for name in ('typer', 'uvicorn', 'textual') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": SRC}
    )
    assert done.stdout == "[]\n[]\n"
