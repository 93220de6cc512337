import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from ostiary.assembly.config.change import change, set_key, unset_key
from ostiary.assembly.config.files import MAX_BYTES, locked
from ostiary.assembly.config.load import load, load_last_good, remember_good
from ostiary.assembly.config.paths import config_path, state_directory
from ostiary.contracts.errors import BadInput, ConfigInvalid


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def write(home: Path) -> Callable[[str | bytes], Path]:
    def put(content: str | bytes) -> Path:
        path = home / "ostiary.json5"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(0o600)
        return path

    return put


Write = Callable[[str | bytes], Path]


def test_no_file_means_defaults_and_none_is_made(home: Path) -> None:
    loaded = load(home, {})
    assert (loaded.config.gateway.port, loaded.generation, loaded.warnings) == (18789, 1, ())
    assert loaded.sources[0].digest == ""
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        (" \n\ufeff ", "is empty"),
        ("[]", "does not hold an object"),
        ('"x"', "does not hold an object"),
        ("{a: 1", "is not JSON5: line 1, column 6"),
        ("# c\ngateway:\n  port: 1\n", "looks like YAML"),
        ("---\na: 1\n", "looks like YAML"),
        ("[gateway]\nport = 1\n", "looks like TOML or INI"),
        ("; c\nport = 1\n", "looks like TOML or INI"),
        ("OPENAI_API_KEY=sk-x\n", "environment variables"),
        ("<config/>", "XML or HTML"),
        (b"\xff\xfe{\x00}\x00", "UTF-16"),
        (b"{}\x00", "binary"),
        (b"{\n a: '\xe9'}", "not UTF-8 at line 2"),
        (b"{} " + b" " * MAX_BYTES, "larger than 1024 KiB"),
        ("[" * 500_000, "deeper than 64"),
        ("{a:" * 300, "deeper than 64"),
    ],
)
def test_what_is_not_a_configuration_is_refused_in_words(home: Path, write: Write, content: str | bytes, said: str) -> None:
    write(content)
    with pytest.raises(ConfigInvalid, match=said) as caught:
        load(home, {})
    assert caught.value.hint
    assert caught.value.problems


def test_a_byte_order_mark_does_not_matter(home: Path, write: Write) -> None:
    write("\ufeff{gateway: {port: 1}}")
    assert load(home, {}).config.gateway.port == 1


def test_a_folder_or_pipe_in_the_files_place_is_refused(home: Path) -> None:
    os.mkfifo(home / "ostiary.json5")
    with pytest.raises(ConfigInvalid, match="not an ordinary file"):
        load(home, {})


def test_every_problem_is_listed_beginning_with_its_path(home: Path, write: Write) -> None:
    write("{gateway: {port: 'x', bnd: 1}, sesion: {}}")
    with pytest.raises(ConfigInvalid) as caught:
        load(home, {})
    assert [each.split(":")[0] for each in caught.value.problems] == ["gateway.port", "gateway.bnd", "sesion"]


def test_a_file_others_can_read_is_made_private_with_a_warning(home: Path, write: Write) -> None:
    path = write("{}")
    path.chmod(0o644)
    (warning,) = load(home, {}).warnings
    assert "could be read by other users (mode 644)" in warning
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load(home, {}).warnings == ()


def test_a_file_of_a_future_version_is_refused_and_untouched(home: Path, write: Write) -> None:
    path = write("{version: 99, brandNew: true}")
    with pytest.raises(ConfigInvalid, match="version 99, but this program knows only up to 1"):
        load(home, {})
    assert path.read_text() == "{version: 99, brandNew: true}"


OLD = """{
  // who answers
  agent: { model: { primary: "a/b" }, workspace: "${WS}" }, // old
  agents: { list: [{ id: "main" }] },
  session: { idleMinutes: 30, resetByType: { dm: { mode: "idle", idleMinutes: 5 } } },
  routing: { queue: { mode: "queue", byProvider: { discord: "steer+backlog" } } },
  bindings: [{ agentId: "main", match: { channel: "x", peer: { kind: "dm", id: "1" } } }],
}
"""


def test_an_old_file_is_migrated_with_a_backup_and_its_comments_and_references_stay(home: Path, write: Write) -> None:
    path = write(OLD)
    loaded = load(home, {"WS": "/w"})
    config = loaded.config
    assert config.agents.defaults.model.primary == "a/b"
    assert config.agents.defaults.workspace == "/w"
    assert config.session.reset.idle_minutes == 30
    assert config.session.reset_by_type["direct"].idle_minutes == 5
    assert (config.messages.queue.mode, config.messages.queue.by_channel) == ("steer", {"discord": "steer-backlog"})
    assert config.bindings[0].match.peer is not None
    assert config.bindings[0].match.peer.kind == "direct"
    migrated = path.read_text()
    assert "// who answers" in migrated
    assert "${WS}" in migrated
    assert "version: 1" in migrated
    assert (home / "ostiary.json5.before-migration-1").read_text() == OLD
    assert "agent is called agents.defaults now" in loaded.warnings
    again = load(home, {"WS": "/w"})
    assert again.config == config
    assert not any("called" in warning for warning in again.warnings)


def test_where_old_and_new_disagree_the_new_one_stays(home: Path, write: Write) -> None:
    write("{agent: {timeoutSeconds: 1}, agents: {defaults: {timeoutSeconds: 2}}}")
    loaded = load(home, {})
    assert loaded.config.agents.defaults.timeout_seconds == 2
    assert "agent.timeoutSeconds was dropped, because agents.defaults.timeoutSeconds is there already" in loaded.warnings


def test_a_migration_that_would_not_validate_changes_nothing(home: Path, write: Write) -> None:
    path = write("{agent: {nonsense: 1}}")
    with pytest.raises(ConfigInvalid, match=r"agents\.defaults\.nonsense"):
        load(home, {})
    assert path.read_text() == "{agent: {nonsense: 1}}"
    assert [each.name for each in home.iterdir()] == ["ostiary.json5"]


def test_a_file_without_a_version_and_without_old_keys_is_left_alone(home: Path, write: Write) -> None:
    path = write("{gateway: {port: 1}}")
    load(home, {})
    assert path.read_text() == "{gateway: {port: 1}}"


def test_places_follow_the_environment(tmp_path: Path) -> None:
    assert state_directory({"OSTIARY_HOME": str(tmp_path)}) == tmp_path
    assert state_directory({"HOME": "/h"}) == Path("/h/.ostiary")
    assert state_directory({"HOME": "/h", "OSTIARY_PROFILE": "work"}) == Path("/h/.ostiary-work")
    assert config_path(tmp_path, {"OSTIARY_CONFIG_PATH": "/etc/o.json5"}) == Path("/etc/o.json5")
    with pytest.raises(BadInput, match="not a name"):
        state_directory({"HOME": "/h", "OSTIARY_PROFILE": "../../x"})


def test_a_change_is_written_privately_and_remembered(home: Path, write: Write) -> None:
    path = write("{ // mine\n  gateway: { port: 1 },\n}\n")
    assert set_key(home, {}, ("gateway", "port"), 2).config.gateway.port == 2
    assert path.read_text() == "{ // mine\n  gateway: { port: 2 },\n}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (home / "ostiary.json5.last-good").read_text() == path.read_text()


def test_a_change_that_does_not_validate_is_not_written(home: Path, write: Write) -> None:
    path = write("{gateway: {port: 1}}")
    with pytest.raises(ConfigInvalid, match=r"nothing was changed.*gateway\.port"):
        set_key(home, {}, ("gateway", "port"), "x")
    assert path.read_text() == "{gateway: {port: 1}}"


def test_a_change_can_mend_an_invalid_file(home: Path, write: Write) -> None:
    path = write("{gateway: {prot: 1}}")
    unset_key(home, {}, ("gateway", "prot"))
    assert path.read_text() == "{gateway: {}}"


def test_a_change_never_writes_a_reference_resolved(home: Path, write: Write) -> None:
    path = write("{gateway: {auth: {token: '${TOKEN}'}}, agents: {defaults: {workspace: '${WS}'}}}")
    environ = {"TOKEN": "resolved-token", "WS": "/resolved"}
    set_key(home, environ, ("gateway", "port"), 2)
    everything = path.read_text() + (home / "ostiary.json5.last-good").read_text()
    assert "resolved" not in everything
    assert everything.count("${TOKEN}") == 2


def test_a_first_change_makes_the_file(home: Path) -> None:
    set_key(home / "deep" / "er", {}, ("gateway", "port"), 2)
    assert load(home / "deep" / "er", {}).config.gateway.port == 2


def test_a_linked_file_stays_a_link(home: Path) -> None:
    (home / "dotfiles.json5").write_text("{}")
    (home / "ostiary.json5").symlink_to(home / "dotfiles.json5")
    set_key(home, {}, ("gateway", "port"), 2)
    assert (home / "ostiary.json5").is_symlink()
    assert "port: 2" in (home / "dotfiles.json5").read_text()


def test_changes_wait_for_each_other(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ostiary.assembly.config import files
    from ostiary.contracts.errors import Busy

    monkeypatch.setattr(files, "_WAIT_SECONDS", 0.0)
    with locked(home / "config.lock"), pytest.raises(Busy, match="another command"):
        change(home, {}, lambda text: text)


def test_the_last_good_copy_can_be_started_from(home: Path, write: Write) -> None:
    write("{gateway: {port: 7}}")
    remember_good(home, load(home, {}))
    write("{gateway: {port: 'broken'}}")
    with pytest.raises(ConfigInvalid):
        load(home, {})
    assert load_last_good(home, {}).config.gateway.port == 7


def test_without_a_last_good_copy_there_is_a_clear_refusal(home: Path) -> None:
    with pytest.raises(ConfigInvalid, match="does not exist"):
        load_last_good(home, {})


def test_the_name_of_the_shared_conversation_is_no_setting_any_more(home: Path, write: Write) -> None:
    path = write("{session: {mainKey: 'other', historyLimit: 12}}")
    loaded = load(home, {})
    assert "session.mainKey is gone: the shared conversation is always called main" in loaded.warnings
    assert loaded.config.session.history_limit == 12
    assert "mainKey" not in path.read_text()
