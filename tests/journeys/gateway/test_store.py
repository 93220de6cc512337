"""A store that cannot be used: `up` says so in a sentence and what to do, `doctor` explains, nothing is overwritten."""

import json
import resource
import shutil
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from ostiary.adapters.store.sqlite.connection import connect_writer
from ostiary.kit.model_servers import Reply, Words
from tests.journeys.gateway.house import Home, config, finished, said, until
from tests.journeys.gateway.model import Model

UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, model_server: Model) -> Home:
    """A house somebody has talked in."""
    home = Home(tmp_path_factory.mktemp("original") / "home")
    home.configure(config(model_server.url))
    model_server.begin("hello")
    with home.up() as gateway:
        gateway.say("hi", "ada")
    return home


@pytest.fixture
def used(original: Home, tmp_path: Path) -> Home:
    """A copy of it to be broken."""
    shutil.copytree(original.path, tmp_path / "home")
    return Home(tmp_path / "home")


def overwrite(path: Path, at: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)


def another_format(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE notes (text)")
    connection.commit()
    connection.close()


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


STORE = Path("bots/main/store.db")
KEY = Path("keys/store.key")

BREAKAGES: dict[str, Callable[[Path], object]] = {
    "its first page is garbage": lambda home: overwrite(home / STORE, 0, b"\x00garbage" * 100),
    "its middle is garbage": lambda home: overwrite(home / STORE, 8192, b"\xa5" * 40_000),
    "it is a plain database": lambda home: another_format(home / STORE),
    "it is a directory": lambda home: directory(home / STORE),
    "the key is another one": lambda home: (home / KEY).write_bytes(b"k" * 32),
    "the key is gone": lambda home: (home / KEY).unlink(),
    "others can read the key": lambda home: (home / KEY).chmod(0o644),
    "the key of the secrets is another one": lambda home: (home / "credentials.key").write_bytes(b"k" * 32),
}


@pytest.mark.parametrize("name", BREAKAGES)
def test_a_broken_store_is_refused_and_explained_and_left_as_it_is(used: Home, name: str) -> None:
    BREAKAGES[name](used.path)
    before = {path: path.read_bytes() for path in used.path.rglob("*") if path.suffix in (".db", ".key") and path.is_file()}
    refusal = used.refused()
    assert len(refusal.splitlines()) == 2, refusal
    assert str(used.path) in refusal
    examined = used.run("doctor")
    assert examined.returncode == 1
    assert "error: " in examined.stdout
    assert {path: path.read_bytes() for path in before} == before


def test_a_store_from_a_newer_release_is_refused(used: Home) -> None:
    connection = connect_writer(used.path / STORE, (used.path / KEY).read_bytes())
    connection.pragma("user_version", 1000)
    connection.close()
    assert "newer" in used.refused()
    assert "newer" in used.run("doctor").stdout


@pytest.mark.parametrize("place", ["/proc/ostiary-home"])
def test_a_home_that_cannot_be_made_is_said_in_a_sentence(tmp_path: Path, place: str) -> None:
    home = Home(tmp_path / "unused", {"OSTIARY_HOME": place})
    for command in (("up", "--port", "0"), ("setup",), ("agent", "-m", "hi")):
        done = home.run(*command)
        assert done.returncode == 1
        assert place in done.stderr
        assert "error: " in done.stderr


def test_a_second_gateway_refuses_and_the_first_goes_on(used: Home, model: Model) -> None:
    model.begin("still here")
    with used.up() as first:
        refusal = used.refused()
        assert f"pid {first.process.pid}" in refusal
        assert "OSTIARY_HOME" in refusal
        assert first.say("hi", "ada").text == "still here"
        assert used.run_json("status")["url"] == first.url


def test_after_a_kill_the_next_start_needs_no_help(used: Home, model: Model) -> None:
    model.begin("back")
    with used.up() as first:
        first.kill()
    with used.up() as second:
        assert second.say("hi", "ada").text == "back"


def test_a_full_disk_refuses_new_messages_and_loses_none(used: Home, model: Model) -> None:
    model.begin("before", "after")
    with used.up() as gateway:
        assert gateway.say("first", "full").text == "before"
        resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))
        refused = gateway.say("second", "full")
        assert (refused.status, refused.code) == (503, "store_unavailable"), refused.body
        resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, UNLIMITED)
        assert gateway.say("third", "full").text == "after"
    spoken = [m["content"] for m in model.last["messages"] if m["role"] != "system"]
    assert spoken == ["first", "before", "third"]


def test_a_disk_that_fills_during_an_answer_is_survived(used: Home, model: Model) -> None:
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("un", "recorded")),), holds={2: gate}), "recorded")
    with used.up() as gateway:
        connection = gateway.open("POST", "/v1/chat/completions", said("hi", "filling"))
        model.wait_asked()
        resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
        model.release(gate)
        until(lambda: len(used.stderr) >= 100)
        assert gateway.say("and I?", "another").status == 503
        resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, UNLIMITED)
        assert finished(connection.getresponse()).text == "recorded"
        connection.close()


def test_the_first_signal_stops_and_the_run_file_is_gone(used: Home) -> None:
    with used.up() as gateway:
        seen = json.loads((used.path / "run" / "gateway.json").read_text())
        assert seen["url"] == gateway.url
        gateway.stopping = True
        gateway.process.send_signal(signal.SIGINT)
        assert gateway.end() == 0
    assert not (used.path / "run" / "gateway.json").exists()
    assert used.run("status").returncode == 3
