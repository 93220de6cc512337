import asyncio
import io
import json
import os
import signal
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from ostiary.cli import vault_access
from ostiary.cli.app import run
from ostiary.cli.vault_words import address
from ostiary.contracts.errors import BadInput, Conflict


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "ostiary.json5").write_text('{memory: {search: {embedder: "none"}}}')
    monkeypatch.setenv("OSTIARY_HOME", str(home))
    monkeypatch.delenv("VISUAL", raising=False)
    return home


class Hands:
    """Types commands and reads what they print."""

    def __init__(self, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        self._capsys = capsys
        self._folder = folder

    def type(self, *words: str) -> str:
        self._capsys.readouterr()
        run(words)
        return self._capsys.readouterr().out

    def ask(self, *words: str) -> Any:
        return json.loads(self.type(*words, "--json"))

    def put(self, path: str, text: str) -> None:
        file = self._folder / "given"
        file.write_text(text)
        self.type("vault", "put", path, str(file))


@pytest.fixture
def hands(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Hands:
    return Hands(capsys, tmp_path)


def editor(folder: Path, script: str) -> str:
    """A program that edits the file it is given as the script says."""
    file = folder / "edit.py"
    file.write_text(f"import os, stat, sys\nplace = sys.argv[1]\n{script}\n")
    return f"{sys.executable} {file}"


def test_a_document_is_put_listed_read_compared_and_restored(hands: Hands) -> None:
    hands.put("notes/plan.md", "one\ntwo\n")
    hands.put("notes/plan.md", "one\n2\n")
    listed = hands.ask("vault", "ls", "_workspace", "notes/*")
    shown = hands.type("vault", "diff", "notes/plan.md")
    hands.type("vault", "restore", "notes/plan.md", "--version", "1")
    assert [(each["path"], each["version"]) for each in listed] == [("notes/plan.md", 2)]
    assert "-two\n+2\n" in shown
    assert hands.type("vault", "get", "notes/plan.md") == "one\ntwo\n"
    assert [each["version"] for each in hands.ask("vault", "history", "notes/plan.md")] == [1, 2, 3]


def test_what_was_deleted_comes_back(hands: Hands) -> None:
    hands.put("a.md", "a\n")
    hint = hands.type("vault", "rm", "a.md")
    hands.type("vault", "restore", "a.md", "--version", "1")
    assert "vault restore a.md --version 1" in hint
    assert hands.type("vault", "get", "a.md") == "a\n"


def test_an_older_text_is_read_by_version(hands: Hands) -> None:
    hands.put("a.md", "old\n")
    hands.put("a.md", "new\n")
    assert hands.type("vault", "get", "a.md", "--version", "1") == "old\n"


def test_what_was_not_there_then_is_said(hands: Hands) -> None:
    hands.put("a.md", "old\n")
    with pytest.raises(BadInput, match="was not there"):
        hands.type("vault", "get", "a.md", "--at", "2020-01-01")


def test_standard_input_is_appended(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    hands.put("a.md", "one\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"two\n")))
    hands.type("vault", "append", "a.md")
    assert hands.type("vault", "get", "a.md") == "one\ntwo\n"


def test_a_document_moves_within_its_collection(hands: Hands) -> None:
    hands.put("_memory:notes/a.md", "a\n")
    hands.type("vault", "mv", "_memory:notes/a.md", "notes/b.md")
    assert hands.type("vault", "ls", "_memory") == "notes/b.md\n"


def test_a_put_that_expects_another_version_is_refused(hands: Hands, tmp_path: Path) -> None:
    hands.put("a.md", "a\n")
    with pytest.raises(Conflict):
        hands.type("vault", "put", "a.md", str(tmp_path / "given"), "--expect", "0")


@pytest.mark.parametrize(
    "words",
    [
        ["restore"],
        ["restore", "a.md"],
        ["restore", "a.md", "--version", "1", "--at", "yesterday"],
        ["restore", "--collection", "c", "--version", "1"],
        ["ls", "--at", "yesterday"],
        ["get", "nothing.md"],
        ["history", "nothing.md"],
        ["diff", "nothing.md"],
        ["restore", "nothing.md", "--at", "2020-01-01"],
        ["sync", "nowhere"],
        ["import", "nowhere"],
        ["browse"],
    ],
)
def test_what_makes_no_sense_is_refused_and_says_what_to_do(hands: Hands, words: list[str]) -> None:
    with pytest.raises(BadInput):
        hands.type("vault", *words)


def test_a_whole_collection_goes_back_and_a_dry_run_does_not(hands: Hands) -> None:
    hands.put("c:a.md", "old\n")
    at = str(hands.ask("vault", "history", "c:a.md")[0]["at"])
    hands.put("c:a.md", "new\n")
    hands.put("c:b.md", "b\n")
    plan = hands.ask("vault", "restore", "--collection", "c", "--at", at, "--dry-run")
    before = hands.type("vault", "get", "c:a.md")
    hands.type("vault", "restore", "--collection", "c", "--at", at)
    assert (plan["restored"], plan["deleted"]) == (["a.md"], ["b.md"])
    assert before == "new\n"
    assert hands.type("vault", "get", "c:a.md") == "old\n"
    assert hands.type("vault", "ls", "c") == "a.md\n"


def test_an_edit_becomes_a_version_and_the_file_was_private(
    hands: Hands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands.put("notes/plan.md", "one\n")
    seen = tmp_path / "seen"
    script = (
        f"text = open(place).read()\nopen({str(seen)!r}, 'w').write(oct(stat.S_IMODE(os.stat(place).st_mode)) + ' ' + place)\n"
        "open(place, 'w').write(text.replace('one', 'ONE'))"
    )
    monkeypatch.setenv("EDITOR", editor(tmp_path, script))
    hands.type("vault", "edit", "notes/plan.md")
    mode, place = seen.read_text().split(" ", 1)
    assert hands.type("vault", "get", "notes/plan.md") == "ONE\n"
    assert (mode, Path(place).name) == ("0o600", "plan.md")
    assert not Path(place).parent.exists()


def test_an_edit_that_changes_nothing_writes_nothing(hands: Hands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hands.put("a.md", "one\n")
    monkeypatch.setenv("EDITOR", editor(tmp_path, ""))
    assert hands.ask("vault", "edit", "a.md")["changed"] is False
    assert len(hands.ask("vault", "history", "a.md")) == 1


def test_an_editor_that_fails_writes_nothing_and_keeps_the_text(
    hands: Hands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands.put("a.md", "one\n")
    monkeypatch.setenv("EDITOR", editor(tmp_path, "open(place, 'w').write('half'); sys.exit(3)"))
    with pytest.raises(BadInput, match="kept in") as refused:
        hands.type("vault", "edit", "a.md")
    kept = Path(str(refused.value).partition("kept in ")[2].rstrip("."))
    assert kept.read_text() == "half"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert len(hands.ask("vault", "history", "a.md")) == 1


def test_an_edit_that_the_vault_refuses_is_kept(hands: Hands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hands.put("a.md", "one\n")
    monkeypatch.setenv("EDITOR", editor(tmp_path, "open(place, 'w').write('an hour of work')"))
    with pytest.raises(BadInput, match=r"is there already as 'a.md'.*kept in") as refused:
        hands.type("vault", "edit", "A.md")
    kept = Path(str(refused.value).partition("kept in ")[2].rstrip("."))
    assert kept.read_text() == "an hour of work"
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700


def test_a_collection_alone_is_no_document(hands: Hands) -> None:
    with pytest.raises(BadInput, match="say which document"):
        hands.type("vault", "put", "notes:")


def test_an_editor_that_cannot_be_understood_is_refused_in_a_sentence(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", 'vi "')
    with pytest.raises(BadInput, match="cannot be understood"):
        hands.type("vault", "edit", "a.md")


def test_an_edit_that_somebody_overtook_is_kept_beside(
    hands: Hands, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands.put("a.md", "one\n")
    other = "import subprocess; " + (
        f"subprocess.run([{sys.executable!r}, '-m', 'ostiary.cli', 'vault', 'append', 'a.md'], input=b'theirs', check=True)"
    )
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3] / "src"))
    monkeypatch.setenv("EDITOR", editor(tmp_path, f"open(place, 'w').write('mine')\n{other}"))
    code = run(["vault", "edit", "a.md"])
    listed = [each["path"] for each in hands.ask("vault", "ls", "_workspace")]
    assert code == 1
    assert hands.type("vault", "get", "a.md") == "one\ntheirs"
    assert len(listed) == 2
    assert hands.type("vault", "get", listed[0]) == "mine"
    assert listed[0].startswith("a.conflict-")


def test_a_new_document_can_be_begun_in_the_editor(hands: Hands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", editor(tmp_path, "open(place, 'w').write('new')"))
    assert hands.ask("vault", "edit", "_memory:new.md")["version"] == 1


def test_a_folder_goes_in_and_comes_out_the_same(hands: Hands, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "run.sh").write_bytes(b"#!/bin/sh\n\xff")
    (folder / "sub" / "run.sh").chmod(0o755)
    first = hands.ask("vault", "import", str(folder), "-c", "site", "--prefix", "v1")
    again = hands.ask("vault", "import", str(folder), "-c", "site", "--prefix", "v1")
    out = hands.ask("vault", "export", str(tmp_path / "out"), "-c", "site")
    file = tmp_path / "out" / "v1" / "sub" / "run.sh"
    assert (first["written"], again["written"], again["unchanged"], out["written"]) == (1, 0, 1, 1)
    assert file.read_bytes() == b"#!/bin/sh\n\xff"
    assert os.access(file, os.X_OK)


def test_an_export_writes_over_nothing_unless_told(hands: Hands, tmp_path: Path) -> None:
    hands.put("a.md", "vault\n")
    out = tmp_path / "out"
    out.mkdir()
    (out / "a.md").write_text("mine\n")
    refused = hands.ask("vault", "export", str(out))
    kept = (out / "a.md").read_text()
    hands.type("vault", "export", str(out), "--overwrite")
    assert "differs" in refused["left"][0]
    assert kept == "mine\n"
    assert (out / "a.md").read_text() == "vault\n"


def test_a_folder_remembers_what_it_is_kept_the_same_as(hands: Hands, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "a.md").write_text("a\n")
    hands.type("vault", "sync", str(folder), "-c", "site", "--prefix", "v1")
    (folder / "b.md").write_text("b\n")
    hands.type("vault", "sync", str(folder))
    with pytest.raises(BadInput, match="site:v1"):
        hands.type("vault", "sync", str(folder), "-c", "other")
    assert hands.type("vault", "ls", "site") == "v1/a.md\nv1/b.md\n"


def test_text_is_searched_and_status_is_told(hands: Hands) -> None:
    hands.put("a.md", "The gate is green.\n")
    assert hands.ask("vault", "search", "green gate", "-c", "_workspace")[0]["path"] == "a.md"
    assert hands.ask("vault", "search", "green gate", "--path", "other/**") == []
    assert hands.ask("vault", "status")["collections"][0]["documents"] == 1
    assert hands.ask("vault", "ls")[0]["collection"] == "_workspace"


@pytest.mark.parametrize(
    ("path", "collection", "meant"),
    [
        ("a/b.md", "", ("_workspace", "a/b.md")),
        ("_memory:a.md", "", ("_memory", "a.md")),
        ("x:a.md", "c", ("c", "x:a.md")),
        ("A:b", "", ("_workspace", "A:b")),
    ],
)
def test_an_address_names_the_collection_or_takes_the_usual_one(path: str, collection: str, meant: tuple[str, str]) -> None:
    assert address(path, collection) == meant


@pytest.mark.parametrize(
    "words",
    [("vault", "import", ""), ("memory", "add", " "), ("backup", "create", "--to", ""), ("backup", "restore", "", "--home", "")],
)
def test_an_empty_name_is_not_the_folder_one_stands_in(words: tuple[str, ...], hands: Hands) -> None:
    with pytest.raises(BadInput, match="is empty"):
        hands.type(*words)


def test_a_collection_that_is_not_there_is_said_with_those_that_are(hands: Hands) -> None:
    hands.put("notes/plan.md", "one\n")
    with pytest.raises(BadInput, match="no collection 'notes'") as refused:
        hands.type("vault", "ls", "notes")
    assert refused.value.hint == "There are: _workspace."


def test_ctrl_c_in_mid_copy_is_an_interruption_and_no_fault(hands: Hands) -> None:
    async def interrupted(access: object) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(0)

    with pytest.raises(KeyboardInterrupt):
        vault_access.run(interrupted)
