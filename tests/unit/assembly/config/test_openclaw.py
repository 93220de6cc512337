import json
import shutil
from pathlib import Path

import pytest

from ostiary.assembly.config.load import understand
from ostiary.assembly.config.openclaw import Imported, take_over
from ostiary.contracts.errors import ConfigInvalid

SAMPLE = Path(__file__).with_name("openclaw.sample.json")
SECRETS = (
    "sk-kimi-0123456789abcdef",
    "b1946ac92492d2347c6235b4d2611184",
    "ABC-DEF1234ghIkl",
    "syn_0123456789abcdef",
    "AIza-0123456789",
)


@pytest.fixture
def imported() -> Imported:
    return take_over(SAMPLE, {})


def test_what_is_taken_over_is_valid_and_means_the_same(imported: Imported) -> None:
    config = understand(imported.text, {}, source=SAMPLE).config
    assert config.gateway.port == 18790
    assert config.agents.defaults.model.primary == "moonshot/kimi-k2.5"
    assert config.agents.defaults.models["anthropic/claude-opus-4-6"].alias == "Opus"
    assert [agent.id for agent in config.agents.list] == ["chat", "family"]
    assert config.bindings[1].match.peer is not None
    assert config.bindings[1].match.peer.kind == "direct"
    assert config.session.dm_scope == "per-channel-peer"
    assert config.session.reset_by_type["direct"].idle_minutes == 240
    assert config.messages.queue.mode == "steer-backlog"
    assert config.channels["discord"].allow_from == ("1",)
    assert config.models.providers["moonshot"].base_url == "https://api.moonshot.ai/v1"
    assert config.logging.level == "warning"
    assert config.tools.exec.timeout_sec == 120
    assert "REGION" in config.env


def test_no_secret_stays_in_the_file(imported: Imported) -> None:
    assert [secret for secret in SECRETS if secret in imported.text] == []
    named = {each.name: each.value.reveal() for each in imported.credentials}
    assert named == {
        "kimi-api-key": "sk-kimi-0123456789abcdef",
        "gateway-token": "b1946ac92492d2347c6235b4d2611184",
        "telegram-bot-token": "123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11",
        "synthetic": "syn_0123456789abcdef",
    }
    assert all(f"credential:{name}" in imported.text for name in named)


def test_references_and_names_of_variables_become_references(imported: Imported) -> None:
    assert "${MOONSHOT_API_KEY}" in imported.text
    assert "${LMSTUDIO_KEY}" in imported.text
    assert any("LMSTUDIO_KEY" in note for note in imported.notes)


def test_everything_left_behind_is_listed_with_a_reason(imported: Imported) -> None:
    left = dict(each.split(": ", 1) for each in imported.left)
    assert set(left) == {
        "env.shellEnv",
        "gateway.controlUi.allowedOrigins",
        "gateway.tailscale",
        "agents.defaults.memorySearch",
        "agents.defaults.sandbox.docker",
        "agents.list[1].agentDir",
        "session.store",
        "messages.tts",
        "tools.exec.host",
        "tools.elevated.enabled",
        "logging.redactSensitive",
        "plugins.load",
        "skills",
        "cron",
    }
    assert left["session.store"] == "sessions live in Ostiary's encrypted store"
    assert "posture open" in left["tools.elevated.enabled"]
    assert not any(secret in " ".join(imported.left + imported.notes) for secret in SECRETS)


def test_comments_come_along(imported: Imported) -> None:
    assert "// the door" in imported.text


def test_the_open_posture_takes_elevated_mode_over_too() -> None:
    imported = take_over(SAMPLE, {}, posture="open")
    config = understand(imported.text, {}, source=SAMPLE).config
    assert config.posture == "open"
    assert config.tools.elevated.enabled is True


def test_keys_kept_beside_the_file_come_along(tmp_path: Path) -> None:
    shutil.copy(SAMPLE, tmp_path / "openclaw.json")
    folder = tmp_path / "agents" / "main" / "agent"
    folder.mkdir(parents=True)
    profiles = {
        "anthropic:default": {"type": "api_key", "provider": "anthropic", "key": "sk-ant-1"},
        "openai-codex:me@x.org": {"type": "oauth", "provider": "openai-codex", "access": "a", "refresh": "r", "expires": 1000},
        "broken": {"type": "api_key"},
    }
    (folder / "auth-profiles.json").write_text(json.dumps({"version": 1, "profiles": profiles}))
    imported = take_over(tmp_path / "openclaw.json", {})
    by_name = {each.name: each for each in imported.credentials}
    assert by_name["anthropic:default"].value.reveal() == "sk-ant-1"
    assert json.loads(by_name["openai-codex:me@x.org"].value.reveal()) == {"access": "a", "refresh": "r"}
    assert by_name["openai-codex:me@x.org"].expires == 1.0
    assert "broken" not in by_name
    config = understand(imported.text, {}, source=SAMPLE).config
    assert config.auth.profiles["openai-codex:me@x.org"].mode == "oauth"


@pytest.mark.parametrize("content", ["", "a: 1\n", "[]", "{"])
def test_what_cannot_be_read_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "f").write_text(content)
    with pytest.raises(ConfigInvalid):
        take_over(tmp_path / "f", {})


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="does not exist"):
        take_over(tmp_path / "nothing.json", {})


def test_a_file_full_of_strange_things_gives_an_empty_but_valid_configuration(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(
        '{"agents": 5, "bindings": {"a": 1}, "x": [1], "gateway": {"port": "p"}, "channels": {"t": 1}, "session": []}'
    )
    imported = take_over(tmp_path / "f", {})
    assert len(imported.left) == 6
    assert understand(imported.text, {}, source=tmp_path).config.gateway.port == 18789
