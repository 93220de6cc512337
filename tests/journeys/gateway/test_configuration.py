"""Configuration files that are wrong: `up` refuses with one sentence and what to do, and says so before anything else happens."""

import json
from pathlib import Path

import pytest

from tests.journeys.gateway.house import Home, config, until
from tests.journeys.gateway.model import Model

URL = "http://127.0.0.1:9/v1"

WRONG: dict[str, tuple[str | bytes, str]] = {
    "not JSON5": ("{ gateway: ", "line"),
    "YAML": ("gateway:\n  port: 18789\nagents:\n  defaults: {}\n", "YAML"),
    "XML": ("<config><port>1</port></config>", "XML"),
    "binary": (bytes(range(256)), "ostiary.json5"),
    "an unknown key": ("{ gatway: {} }", "gateway"),
    "an unknown deep key": ("{ gateway: { prot: 1 } }", "did you mean port?"),
    "a future version": ("{ version: 99 }", "version"),
    "nested without end": ("{ agents: " + "{ a: " * 5000 + "1" + "}" * 5000 + "}", "nested"),
    "lists without end": ("[" * 200_000, "nested"),
    "empty": ("", "Write {}"),
    "huge": ("{ agents: { defaults: { x: '" + "y" * 20_000_000 + "' } } }", "large"),
    "an address that is none": ('{ models: { providers: { kit: { baseUrl: "not an address" } } } }', "baseUrl"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_refused_with_its_place(tmp_path: Path, name: str) -> None:
    home = Home(tmp_path / "home")
    content, where = WRONG[name]
    home.configure(content)
    said = home.refused()
    assert where in said
    assert len(said) < 3000
    assert home.file.read_bytes() == (content.encode() if isinstance(content, str) else content)


@pytest.mark.parametrize("content", ["\ufeff// nothing yet\n{}"])
def test_an_empty_object_means_the_defaults(tmp_path: Path, content: str) -> None:
    home = Home(tmp_path / "home")
    home.configure(content)
    assert home.run_json("config", "get", "gateway.port") == 18789


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.path.mkdir(mode=0o700)
    home.file.symlink_to(home.file)
    assert "ostiary.json5" in home.refused()


def test_a_directory_in_the_files_place_is_refused(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.file.mkdir(mode=0o700, parents=True)
    assert "ostiary.json5" in home.refused()


def test_openclaws_own_file_with_unknown_keys_is_refused_and_can_be_imported(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    theirs = {
        "meta": {"lastTouchedVersion": "2026.1.30"},
        "wizard": {"lastRunAt": "x"},
        "gateway": {"mode": "local"},
        "canvasHost": {},
    }
    home.configure(theirs)
    assert "gateway.mode" in home.refused()
    other = Home(tmp_path / "other")
    taken = other.run("config", "import", str(home.file))
    assert taken.returncode == 0, taken.stderr
    assert "canvasHost" in taken.stdout
    assert other.run("config", "validate").returncode == 0


UNREADABLE = {"${NO_SUCH_VARIABLE}": "NO_SUCH_VARIABLE is not set", "${SELF}": "SELF is not set", "credential:nobody": "'nobody'"}


@pytest.mark.parametrize("reference", UNREADABLE)
def test_a_token_that_cannot_be_read_is_refused_with_its_reason(tmp_path: Path, reference: str) -> None:
    home = Home(tmp_path / "home")
    home.configure(config(URL, gateway={"auth": {"token": reference}}, env={"SELF": "${SELF}"}))
    assert UNREADABLE[reference] in home.refused()


def test_a_token_that_becomes_unreadable_lets_only_the_command_line_in(home: Home, model: Model) -> None:
    model.begin("hello")
    with home.up() as gateway:
        home.configure(config(model.url, gateway={"auth": {"token": "${NO_SUCH_VARIABLE}"}, "drainSeconds": 1}))
        until(lambda: gateway.call("GET", "/v1/models").status == 401)
        for token in ("", "undefined", "${NO_SUCH_VARIABLE}"):
            gateway.token = token
            assert gateway.say("hi").code in ("invalid_api_key", "too_many_failures")
        assert home.run("agent", "-m", "hi").stdout == "hello\n"
    assert "gateway.auth.token" in home.run("doctor").stdout


WRONG_MODELS: dict[str, tuple[str, dict[str, object], str]] = {
    "an unknown provider": ("nobody/nothing", {}, "nobody"),
    "no provider": ("gpt", {}, "gpt"),
    "a protocol nobody speaks": ("odd/m", {"odd": {"baseUrl": URL, "api": "telepathy", "apiKey": "${KIT_KEY}"}}, "telepathy"),
    "a missing key": ("odd/m", {"odd": {"baseUrl": URL, "api": "openai-completions", "apiKey": "${NOT_SET}"}}, "NOT_SET"),
}


@pytest.mark.parametrize("name", WRONG_MODELS)
def test_a_model_that_cannot_be_is_said_at_the_first_question(tmp_path: Path, name: str) -> None:
    primary, providers, said = WRONG_MODELS[name]
    home = Home(tmp_path / "home")
    agents = {"defaults": {"model": {"primary": primary}}}
    home.configure(config(URL, agents=agents, models={"providers": providers}))
    with home.up() as gateway:
        answer = gateway.say("hi", "ada")
        assert answer.status in (500, 502), answer.body
        assert said in answer.error
        assert gateway.status()["running"] == 0


def test_every_problem_is_listed_at_once(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.configure('{ gateway: { prot: 1 }, agents: { list: [{ id: "A B" }] }, posture: "x" }')
    done = home.run("config", "validate")
    assert done.returncode == 1
    assert all(name in done.stdout + done.stderr for name in ("gateway.prot", "agents.list", "posture"))


def test_the_schema_is_a_json_document(tmp_path: Path) -> None:
    schema = json.loads(Home(tmp_path / "home").run("config", "schema").stdout)
    assert "gateway" in json.dumps(schema)
