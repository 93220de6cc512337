"""The `config` and `doctor` commands, run as a person runs them."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from ostiary.assembly.credential_key import open_credentials
from ostiary.cli import config, doctor

SAMPLE = Path(__file__).with_name("openclaw.sample.json")


class Shell:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.app = typer.Typer()
        config.register(self.app)
        doctor.register(self.app)

    def __call__(self, *words: str, text: str = "") -> Result:
        return CliRunner().invoke(self.app, words, input=text, env={"OSTIARY_HOME": str(self.home)})

    @property
    def file(self) -> Path:
        return self.home / "ostiary.json5"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("OSTIARY_HOME", str(tmp_path))
    tmp_path.chmod(0o700)
    return Shell(tmp_path)


def test_path_names_the_file(run: Shell) -> None:
    assert run("config", "path").stdout.strip() == str(run.file)


def test_set_get_and_unset_work_on_the_file(run: Shell) -> None:
    assert run("config", "set", "gateway.port", "19000").exit_code == 0
    assert run("config", "get", "gateway.port").stdout.strip() == "19000"
    assert run("config", "set", 'agents.defaults.models["a/b"].alias', "Fast").exit_code == 0
    assert run("config", "get", 'agents.defaults.models["a/b"].alias').stdout.strip() == "Fast"
    assert run("config", "unset", "gateway.port").exit_code == 0
    assert run("config", "get", "gateway.port").stdout.strip() == "18789"


def test_unset_mends_an_invalid_file(run: Shell) -> None:
    run.file.write_text("{zap: 1}")
    assert run("config", "unset", "zap").exit_code == 0
    assert run("config", "validate").exit_code == 0


def test_a_text_that_looks_like_a_number_can_be_forced(run: Shell) -> None:
    assert run("config", "set", "--text", "messages.responsePrefix", "42").exit_code == 0
    assert run("config", "get", "--json", "messages.responsePrefix").stdout.strip() == '"42"'


def test_a_secret_that_is_set_never_reaches_the_file(run: Shell) -> None:
    for secret in ("sk-first-1", "sk-second-2"):
        result = run("config", "set", "models.providers.openai.apiKey", secret)
        assert "The secret is in the credential store" in result.stdout
    everything = b"".join(each.read_bytes() for each in run.home.iterdir())
    assert b"sk-" not in everything
    assert 'apiKey: "credential:openai"' in run.file.read_text()
    stored = open_credentials(run.home).reveal("openai")
    assert stored is not None
    assert stored.reveal() == "sk-second-2"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("get", "gateway.prot"), "Did you mean gateway.port?"),
        (("get", "a..b"), "is not a path"),
        (("set", "gateway.prot", "1"), "nothing was changed"),
        (("set", "gateway.port", "Infinity"), "cannot be written"),
        (("unset", "gateway.port"), "the file does not set gateway.port"),
        (("validate", "/nowhere/x.json5"), "does not exist"),
        (("import", "/nowhere/x.json"), "does not exist"),
        (("secret", "delete", "nobody"), "there is no secret nobody"),
    ],
)
def test_a_mistake_is_one_sentence_and_what_to_do(run: Shell, words: tuple[str, ...], said: str) -> None:
    result = run("config", *words)
    assert result.exit_code == 1
    assert said in result.stderr
    assert "Traceback" not in result.output


def test_validate_lists_every_problem(run: Shell) -> None:
    run.file.write_text("{gateway: {port: 'x', bnd: 1}}")
    result = run("config", "validate")
    assert result.exit_code == 1
    assert "has 2 problems" in result.stderr
    assert "gateway.bnd: is not a known key; did you mean bind?" in result.stderr
    problems = json.loads(run("config", "validate", "--json").stdout)
    assert (problems["valid"], len(problems["problems"])) == (False, 2)


def test_show_explains_where_values_come_from(run: Shell) -> None:
    run.file.write_text("{gateway: {port: 5, auth: {token: 'hunter2hunter2'}}}")
    text = run("config", "show", "--explain").stdout
    assert "5  (ostiary.json5)" in text
    assert "50  (posture personal)" in text
    assert '"loopback"  (default)' in text
    assert "hunter2" not in text
    rows = json.loads(run("config", "show", "--explain", "--json").stdout)
    assert {"path": "gateway.port", "value": 5, "origin": "file"} in rows
    assert json.loads(run("config", "show").stdout)["gateway"]["auth"]["token"] == "********"


def test_schema_prints_json(run: Shell) -> None:
    assert json.loads(run("config", "schema").stdout)["version"] == 1


def test_an_import_writes_the_file_and_the_secrets_and_says_what_stayed_behind(run: Shell) -> None:
    dry = run("config", "import", str(SAMPLE), "--dry-run")
    assert "Would take over" in dry.stdout
    assert not run.file.exists()
    result = run("config", "import", str(SAMPLE))
    assert result.exit_code == 0
    assert "session.store: sessions live in Ostiary's encrypted store" in result.stdout
    assert run("config", "validate").exit_code == 0
    names = [each["name"] for each in json.loads(run("config", "secret", "list", "--json").stdout)]
    assert names == ["gateway-token", "kimi-api-key", "synthetic", "telegram-bot-token"]
    assert "exists already" in run("config", "import", str(SAMPLE)).stderr
    assert run("config", "import", str(SAMPLE), "--force").exit_code == 0
    assert list(run.home.glob("ostiary.json5.before-*"))


def test_a_secret_is_read_from_standard_input_and_listed_masked(run: Shell) -> None:
    assert run("config", "secret", "set", "telegram", "--kind", "token", text="hunter2hunter2\n").exit_code == 0
    listed = run("config", "secret", "list").stdout
    assert "telegram  token" in listed
    assert "hunter2" not in listed
    assert run("config", "secret", "delete", "telegram").exit_code == 0
    assert run("config", "secret", "set", "x", "--kind", "spell", text="y\n").exit_code == 1


def test_doctor_says_what_is_wrong_and_repairs_it(run: Shell) -> None:
    run.file.write_text("{gateway: {auth: {token: 'hunter2hunter2'}}}")
    before = run("doctor")
    assert "warning: gateway.auth.token is a secret in plain text. Run: ostiary doctor --fix" in before.stdout
    after = run("doctor", "--fix")
    assert "repaired: gateway.auth.token is in the credential store now." in after.stdout
    assert after.exit_code == 0
    assert "plain text" not in run("doctor").stdout


def test_doctor_fails_with_exit_code_1_and_speaks_json(run: Shell) -> None:
    run.file.write_text("{zap: 1}")
    result = run("doctor", "--json")
    assert result.exit_code == 1
    findings = json.loads(result.stdout)["findings"]
    assert any(each["level"] == "error" and "zap" in each["detail"] for each in findings)
