"""The first start on an empty directory: everything is made, private, and unreadable without the key."""

import stat
from pathlib import Path

import pytest

from tests.journeys.gateway.house import Gateway, Home, config
from tests.journeys.gateway.model import Model

SECRET_WORDS = "the walrus said cabbages and kings"


def test_an_empty_directory_is_enough_to_be_ready(tmp_path: Path) -> None:
    (tmp_path / "nowhere").touch()
    home = Home(tmp_path / "home", {"OSTIARY_WEIGHTS": str(tmp_path / "nowhere" / "weights")})
    with home.up() as gateway:
        gateway.token = ""
        assert gateway.call("GET", "/healthz").status == 200
        assert gateway.call("GET", "/v1/models").status == 401
        names = {path.name for path in home.path.iterdir()}
    assert {"credentials.db", "credentials.key", "keys", "bots"} <= names


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory, model_server: Model) -> Home:
    """A house somebody has talked in, after it stopped."""
    home = Home(tmp_path_factory.mktemp("used") / "home")
    home.configure(config(model_server.url))
    model_server.begin(f"Indeed, {SECRET_WORDS}.")
    with home.up() as gateway:
        gateway.say(SECRET_WORDS, "ada")
        gateway.kill()
    return home


def test_every_file_is_the_owners_alone(used: Home) -> None:
    everything = [used.path, *used.path.rglob("*")]
    wide = [str(path) for path in everything if stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert wide == []


def test_what_was_said_is_nowhere_in_plain_text(used: Home) -> None:
    holding = [str(path) for path in used.path.rglob("*") if path.is_file() and b"walrus" in path.read_bytes()]
    assert holding == []
    assert "walrus" not in used.stderr


def test_what_was_said_is_there_for_the_owner(used: Home) -> None:
    assert SECRET_WORDS in used.run("sessions", "show", "agent:main:api:ada").stdout


def test_neither_token_nor_key_is_in_any_file_but_the_keys_own(used: Home) -> None:
    secrets = [used.environ["OSTIARY_TOKEN"].encode(), used.environ["KIT_KEY"].encode()]
    files = [path for path in used.path.rglob("*") if path.is_file()]
    assert [str(path) for path in files for secret in secrets if secret in path.read_bytes()] == []


def test_without_a_configured_token_one_is_made_and_guards_the_door(tmp_path: Path, model: Model) -> None:
    home = Home(tmp_path / "home")
    home.configure(config(model.url, gateway={"drainSeconds": 1}))
    model.begin("hello")
    with home.up() as gateway:
        assert gateway.say("hi").status == 401
        assert home.run("agent", "-m", "hi").stdout == "hello\n"


def test_the_token_made_once_stays_the_same(gateway: Gateway) -> None:
    assert gateway.home.run("config", "secret", "list").stdout.count("gateway.token") == 1
