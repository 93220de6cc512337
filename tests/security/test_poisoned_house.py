"""Shape H: secrets that come out, and things in the house that give orders."""

import json
from pathlib import Path

import pytest

from ostiary.kit.model_servers import Call, Failure, Reply, say
from tests.journeys.gateway.house import Gateway, Home, config
from tests.journeys.gateway.model import Model

WORDS = "marmalade at midnight"


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory, model_server: Model) -> Home:
    """A house with turns that went well and turns that went wrong in every way that might show a secret."""
    home = Home(tmp_path_factory.mktemp("lived") / "home")
    home.configure(config(model_server.url, logging={"level": "debug"}))
    key = home.environ["KIT_KEY"]
    with home.up() as gateway:
        model_server.begin(say(f"Of course: {WORDS}."))
        gateway.say(f"Say {WORDS}", "ada")
        model_server.begin(*[Failure(kind="rejected", words=f"Your key {key} may not say {WORDS}")] * 3)
        gateway.say(f"Say {WORDS}", "bob")
        model_server.begin(*[Failure(kind="auth", words=f"Incorrect API key provided: {key}")] * 3)
        gateway.say(f"Say {WORDS}", "eve")
        gateway.ask(f"not json {WORDS}".encode())
        gateway.call("GET", f"/{gateway.token}")
        gateway.kill()
    return home


@pytest.mark.proves("H1")
def test_no_file_holds_a_secret(lived_in: Home) -> None:
    secrets = [lived_in.environ[name].encode() for name in ("OSTIARY_TOKEN", "KIT_KEY")]
    files = [path for path in lived_in.path.rglob("*") if path.is_file()]
    assert [path for path in files if any(secret in path.read_bytes() for secret in secrets)] == []
    assert not any(secret.decode() in lived_in.stderr for secret in secrets)


@pytest.mark.proves("H1")
@pytest.mark.parametrize(
    "command",
    [
        ("config", "show", "--explain"),
        ("config", "show", "--json"),
        ("config", "get", "models"),
        ("models", "status", "--json"),
        ("models", "auth", "list"),
        ("doctor", "--json"),
        ("logs", "-n", "1000", "--json"),
        ("sessions", "show", "agent:main:api:bob", "--json"),
        ("sessions", "show", "agent:main:api:eve", "--json"),
        ("sessions", "export", "agent:main:api:bob"),
    ],
)
def test_no_command_shows_a_secret(lived_in: Home, command: tuple[str, ...]) -> None:
    done = lived_in.run(*command)
    shown = done.stdout + done.stderr
    assert shown
    assert not any(lived_in.environ[name] in shown for name in ("OSTIARY_TOKEN", "KIT_KEY"))


@pytest.mark.proves("H1")
def test_a_provider_that_quotes_the_key_is_not_quoted(gateway: Gateway, model: Model) -> None:
    key = gateway.home.environ["KIT_KEY"]
    model.begin(*[Failure(kind="rejected", words=f"bad key {key}")] * 3)
    assert key not in gateway.say("hi", "quoting").body.decode()
    assert key not in gateway.call("GET", "/v1/ostiary/session?key=agent:main:api:quoting").body.decode()


@pytest.mark.proves("H2")
def test_no_log_holds_what_was_said(lived_in: Home) -> None:
    logs = b"".join(path.read_bytes() for path in (lived_in.path / "logs").iterdir())
    assert WORDS.encode() not in logs
    assert WORDS not in lived_in.stderr


@pytest.mark.proves("H2")
def test_no_file_holds_what_was_said(lived_in: Home) -> None:
    files = [path for path in lived_in.path.rglob("*") if path.is_file()]
    assert [path for path in files if WORDS.encode() in path.read_bytes()] == []


@pytest.mark.proves("H3")
def test_references_stay_references(lived_in: Home) -> None:
    assert lived_in.run("config", "set", "gateway.drainSeconds", "2").returncode == 0
    written = "".join(path.read_text() for path in lived_in.path.glob("ostiary.json5*"))
    assert "${KIT_KEY}" in written
    assert lived_in.environ["KIT_KEY"] not in written


@pytest.mark.proves("H3")
def test_a_secret_given_to_config_set_goes_to_the_credential_store(lived_in: Home) -> None:
    secret = "sk-live-0123456789abcdefghij"
    done = lived_in.run("config", "set", "models.providers.other.apiKey", secret)
    files = [path for path in lived_in.path.rglob("*") if path.is_file()]
    assert secret not in done.stdout + done.stderr
    assert [path for path in files if secret.encode() in path.read_bytes()] == []


@pytest.mark.proves("H4")
def test_a_dotenv_file_is_not_honoured(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    del home.environ["OSTIARY_TOKEN"]
    for place in (home.path, home.path.parent):
        (place / ".env").write_text("OSTIARY_TOKEN=from-a-dotenv-file-0123456789\n")
    monkeypatch.chdir(home.path.parent)
    assert "OSTIARY_TOKEN is not set" in home.refused()


TOOLS = [
    "exec",
    "bash",
    "process",
    "write",
    "edit",
    "apply_patch",
    "gateway",
    "config",
    "config.set",
    "message",
    "cron",
    "web_fetch",
]


@pytest.mark.proves("H5")
@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_that_was_not_given_runs_nothing(gateway: Gateway, model: Model, name: str) -> None:
    marker = gateway.home.path / "owned"
    command = {"command": f"touch {marker}", "path": str(marker), "content": "x", "approved": True, "elevated": True}
    model.begin(Reply(parts=(Call(name=name, pieces=(json.dumps(command),)),), stop="tool_calls"), "I could not.")
    assert gateway.say("do it", f"not-given-{name}").text == "I could not."
    result = model.last["messages"][-1]
    assert result["role"] == "tool"
    assert result["content"].startswith("Error")
    assert not marker.exists()


@pytest.mark.proves("H5")
def test_configuration_and_policy_are_the_same_after_all_that(gateway: Gateway) -> None:
    assert json.loads(gateway.home.file.read_text())["agents"]["defaults"]["model"]["primary"] == "kit/kit-1"


PATHS = [
    "/etc/passwd",
    "../../../../etc/passwd",
    "file:///etc/passwd",
    "/proc/self/environ",
    "~/.ssh/id_rsa",
    "ostiary.json5",
    "\x00",
    "a/../../keys/store.key",
]


@pytest.mark.proves("H6")
@pytest.mark.parametrize("path", PATHS)
def test_reading_stays_inside_the_documents(gateway: Gateway, model: Model, path: str) -> None:
    secret = Path("/etc/passwd").read_text().splitlines()[0]
    model.begin(Reply(parts=(Call(name="read", pieces=(json.dumps({"path": path}),)),), stop="tool_calls"), "I could not.")
    gateway.say("read it", "outside")
    content = model.last["messages"][-1]["content"]
    assert secret not in content
    assert gateway.token not in content
    assert content.startswith("Error")


@pytest.mark.proves("H7")
def test_answers_say_nothing_of_the_inside(gateway: Gateway) -> None:
    for answer in (gateway.ask(b"{"), gateway.call("GET", "/nothing"), gateway.call("GET", "/v1/ostiary/session?key=x")):
        text = answer.body.decode() + str(dict(answer.headers))
        assert "Traceback" not in text
        assert ".py" not in text
        assert str(gateway.home.path) not in text
        assert "uvicorn" not in text
        assert "server" not in answer.headers
