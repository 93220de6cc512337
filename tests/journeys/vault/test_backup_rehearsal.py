"""The rehearsal of a restore: a house somebody has lived in, backed up while it runs, and the same house elsewhere."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.gateway.house import Home, config
from tests.journeys.gateway.model import Model
from tests.unit.assembly.houses import contents


@pytest.fixture
def lived_in(tmp_path: Path, model: Model) -> Home:
    home = Home(tmp_path / "lived-in")
    home.configure(config(model.url))
    return home


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(40):
        (folder / f"note-{number}.md").write_text(f"# Note {number}\nThe locker code is {number * 7919}.\n")
    return folder


@pytest.fixture
def chatter() -> Iterator[threading.Event]:
    """Set when the test is over."""
    over = threading.Event()
    yield over
    over.set()


def test_a_house_backed_up_while_it_works_lives_on_elsewhere(
    lived_in: Home, notes: Path, model: Model, tmp_path: Path, chatter: threading.Event
) -> None:
    model.begin(*["noted"] * 200)
    with lived_in.up() as gateway:
        gateway.say("my cat is called Ida", "ada")
        assert lived_in.run("memory", "add", str(notes), "--as", "notes").returncode == 0
        made = lived_in.run_json("backup", "create", "--to", str(tmp_path / "backups"))
        spoken = threading.Event()

        def keep_talking() -> None:
            while not chatter.is_set():
                gateway.say("more", "bob")
                spoken.set()

        talking = threading.Thread(target=keep_talking)
        talking.start()
        assert spoken.wait(20)
        again = lived_in.run_json("backup", "create", "--to", str(tmp_path / "backups"), "--incremental")
        chatter.set()
        talking.join(20)
    verified = lived_in.run("backup", "verify", "--from", str(tmp_path / "backups"))
    assert verified.returncode == 0, verified.stderr

    new = Home(tmp_path / "elsewhere", {"OSTIARY_RECOVERY_KEY": made["recoveryKey"]})
    restored = new.run("backup", "restore", str(tmp_path / "backups"), "--home", str(new.path), "--backup", again["id"])
    assert restored.returncode == 0, restored.stderr
    assert new.run("vault", "verify").returncode == 0
    # A turn that was under way at the moment of the backup goes on in the restored house.
    model.begin("Ida", "Ida", "Ida")
    with new.up() as gateway:
        assert gateway.say("what is my cat called?", "ada").text == "Ida"
        assert any("my cat is called Ida" in json.dumps(asked.body) for asked in model.requests)
        found = new.run_json("memory", "search", "locker code of note 31")
        assert any("note-31.md" in each["path"] for each in found)
    assert new.run("audit", "verify").returncode == 0


def test_what_is_restored_is_what_was_there(lived_in: Home, notes: Path, model: Model, tmp_path: Path) -> None:
    model.begin("noted")
    with lived_in.up() as gateway:
        gateway.say("my cat is called Ida", "ada")
        lived_in.run("memory", "add", str(notes), "--as", "notes")
    made = lived_in.run_json("backup", "create", "--to", str(tmp_path / "house.backup"))
    new = Home(tmp_path / "elsewhere", {"OSTIARY_RECOVERY_KEY": made["recoveryKey"]})
    assert new.run("backup", "restore", str(tmp_path / "house.backup"), "--home", str(new.path)).returncode == 0
    assert contents(new.path) == contents(lived_in.path)
    assert new.file.read_bytes() == lived_in.file.read_bytes()


def test_a_gateway_under_a_passphrase_starts_with_it_and_not_without(lived_in: Home, model: Model) -> None:
    model.begin("hello", "hello again")
    lived_in.environ["OSTIARY_PASSPHRASE"] = "four random words"
    with lived_in.up() as gateway:
        gateway.say("hi", "ada")
    assert lived_in.run("vault", "key", "move", "--to", "passphrase").returncode == 0
    assert lived_in.run("vault", "rekey").returncode == 0
    with lived_in.up() as gateway:
        assert gateway.say("hi", "ada").text == "hello again"
    lived_in.environ["OSTIARY_PASSPHRASE"] = "five random words"
    assert "the passphrase does not open the vault" in lived_in.refused()
    del lived_in.environ["OSTIARY_PASSPHRASE"]
    assert "no terminal to ask" in lived_in.refused()
