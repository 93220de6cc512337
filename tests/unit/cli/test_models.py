import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from ostiary.adapters.credentials import Credential, Secret
from ostiary.adapters.models.providers import builtin_providers
from ostiary.assembly.credential_key import open_credentials
from ostiary.cli.models import register

KEY = "sk-test-0123456789abcdef0123"
NOW = 1_800_000_000.0


class House:
    """A state directory and the command line on it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._app = typer.Typer()
        register(self._app)

    def run(self, *words: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(self._app, ["models", *words], input=stdin)

    def ok(self, *words: str, stdin: str | None = None) -> str:
        result = self.run(*words, stdin=stdin)
        assert result.exit_code == 0, result.output
        return result.stdout

    def read(self, *words: str) -> object:
        return json.loads(self.ok(*words, "--json"))

    def write(self, text: str) -> None:
        self.config.write_text(text)
        self.config.chmod(0o600)

    @property
    def config(self) -> Path:
        return self.home / "ostiary.json5"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    for provider in builtin_providers().values():
        for name in provider.env:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("OSTIARY_CONFIG_PATH", raising=False)
    monkeypatch.setenv("OSTIARY_HOME", str(tmp_path))
    monkeypatch.setenv("OSTIARY_WEIGHTS", str(tmp_path / "weights"))
    tmp_path.chmod(0o700)
    return House(tmp_path)


def test_a_fresh_house_answers_with_the_embedded_model(house: House) -> None:
    report = house.read("status")
    assert isinstance(report, dict)
    assert report["primary"] == "embedded/qwen2.5-coder-0.5b"
    assert report["embeddedWeights"] is False
    assert house.run("status", "--check").exit_code == 0


def test_status_is_what_models_alone_prints(house: House) -> None:
    assert house.ok() == house.ok("status")


def test_a_stored_key_is_enough_for_its_provider_to_answer(house: House) -> None:
    house.ok("auth", "add", "anthropic", stdin=f"{KEY}\n")
    assert house.ok("status").startswith("primary    anthropic/")


def test_a_key_is_never_printed(house: House) -> None:
    printed = house.ok("auth", "add", "anthropic", stdin=f"{KEY}\n") + house.ok("auth", "list") + house.ok("status")
    assert KEY not in printed
    assert KEY not in house.ok("auth", "list", "--json")
    assert KEY.encode() not in b"".join(path.read_bytes() for path in house.home.rglob("*") if path.is_file())


def test_a_removed_key_is_gone(house: House) -> None:
    house.ok("auth", "add", "anthropic", "--name", "work", stdin=f"{KEY}\n")
    assert [row["id"] for row in house.read("auth", "list")] == ["anthropic:work"]  # type: ignore[attr-defined]
    house.ok("auth", "remove", "anthropic:work")
    assert house.read("auth", "list") == []
    assert house.run("auth", "remove", "anthropic:work").exit_code == 1


def test_a_key_for_nobody_is_refused_with_the_nearest_name(house: House) -> None:
    result = house.run("auth", "add", "antropic", stdin=f"{KEY}\n")
    assert result.exit_code == 1
    assert "Did you mean anthropic?" in result.output


def test_an_empty_key_is_refused(house: House) -> None:
    assert house.run("auth", "add", "anthropic", stdin="\n").exit_code == 1


def test_setting_a_model_keeps_the_comments_of_the_file(house: House) -> None:
    house.write('{\n  // mine\n  agents: { defaults: { model: { primary: "openai/gpt-5.4" } } }, // keep\n}\n')
    house.ok("set", "anthropic/claude-opus-5")
    text = house.config.read_text()
    assert "// mine" in text
    assert "// keep" in text
    assert '"anthropic/claude-opus-5"' in text


def test_a_model_written_as_a_bare_text_takes_fallbacks_all_the_same(house: House) -> None:
    house.write('{ agents: { defaults: { model: "openai/gpt-5.4" } } }\n')
    house.ok("fallbacks", "add", "anthropic/claude-opus-5")
    report = house.read("status")
    assert isinstance(report, dict)
    assert (report["primary"], report["fallbacks"]) == ("openai/gpt-5.4", ["anthropic/claude-opus-5"])


def test_fallbacks_are_kept_in_order_and_can_be_taken_away(house: House) -> None:
    house.ok("fallbacks", "add", "openai/gpt-5.4")
    house.ok("fallbacks", "add", "google/gemini-4-argon")
    assert house.read("fallbacks", "list") == ["openai/gpt-5.4", "google/gemini-4-argon"]
    assert house.run("fallbacks", "add", "openai/gpt-5.4").exit_code == 1
    house.ok("fallbacks", "remove", "openai/gpt-5.4")
    assert house.read("fallbacks", "list") == ["google/gemini-4-argon"]
    assert house.run("fallbacks", "remove", "openai/gpt-5.4").exit_code == 1
    house.ok("fallbacks", "clear")
    assert house.read("fallbacks", "list") == []


def test_an_alias_works_everywhere_a_model_is_named(house: House) -> None:
    house.ok("aliases", "add", "Smart", "anthropic/claude-opus-5")
    assert house.read("aliases", "list") == {"smart": "anthropic/claude-opus-5"}
    house.ok("set", "smart")
    assert "primary    anthropic/claude-opus-5\n" in house.ok("status")
    assert house.run("aliases", "add", "smart", "openai/gpt-5.4").exit_code == 1
    house.ok("aliases", "remove", "smart")
    assert house.read("aliases", "list") == {}


@pytest.mark.parametrize("alias", ["a/b", "7", " "])
def test_an_alias_that_would_mean_something_else_is_refused(house: House, alias: str) -> None:
    assert house.run("aliases", "add", alias, "openai/gpt-5.4").exit_code == 1


def test_check_exits_1_when_a_key_is_missing(house: House) -> None:
    house.ok("set", "openai/gpt-5.4")
    assert house.run("status", "--check").exit_code == 1
    house.ok("auth", "add", "openai", stdin=f"{KEY}\n")
    assert house.run("status", "--check").exit_code == 0


@pytest.mark.parametrize(("left", "code"), [(3600.0, 2), (-1.0, 1), (48 * 3600.0, 0)])
def test_check_exits_2_when_a_token_ends_within_a_day_and_1_when_it_has(
    house: House, monkeypatch: pytest.MonkeyPatch, left: float, code: int
) -> None:
    monkeypatch.setattr("ostiary.cli.models_shared.time.time", lambda: NOW)
    open_credentials(house.home).set(
        Credential(name="anthropic:me", kind="token", provider="anthropic", value=Secret(KEY), expires=NOW + left)
    )
    assert house.run("status", "--check").exit_code == code


def test_list_shows_what_can_be_called_and_all_shows_the_rest(house: House) -> None:
    callable_now = [row["model"] for row in house.read("list")]  # type: ignore[attr-defined]
    everything = [row["model"] for row in house.read("list", "--all")]  # type: ignore[attr-defined]
    assert callable_now[0] == "embedded/qwen2.5-coder-0.5b"
    assert "anthropic/claude-opus-5" not in callable_now
    assert "anthropic/claude-opus-5" in everything
    assert {row["model"].partition("/")[0] for row in house.read("list", "--all", "--provider", "z.ai")} == {"zai"}  # type: ignore[attr-defined]


def test_the_table_prints_whole_names_into_a_pipe(house: House) -> None:
    assert "fireworks/accounts/fireworks/models/glm-5p3-flash" in house.ok("list", "--all")


def test_an_unknown_model_is_one_sentence_and_changes_nothing(house: House) -> None:
    result = house.run("set", "nosuch/model")
    assert result.exit_code == 1
    assert "Traceback" not in result.output
    assert not house.config.exists()


def test_live_listing_needs_a_provider_and_a_key(house: House) -> None:
    assert house.run("list", "--live").exit_code == 1
    result = house.run("list", "--live", "--provider", "openai")
    assert result.exit_code == 1
    assert "ostiary models auth add openai" in result.output


def test_pulling_an_unknown_embedded_model_names_those_there_are(house: House) -> None:
    result = house.run("pull", "gpt-9")
    assert result.exit_code == 1
    assert "embedded/qwen2.5-coder-0.5b" in result.output
