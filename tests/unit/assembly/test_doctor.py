import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from ostiary.adapters.credentials import Credential, Secret
from ostiary.adapters.store.sqlite import load_or_create_key, open_store
from ostiary.assembly.config.load import load
from ostiary.assembly.config.secret import CredentialReference, resolve
from ostiary.assembly.credential_key import open_credentials
from ostiary.assembly.doctor import Finding, examine, repair, standard_checks
from ostiary.assembly.vault import STORE, STORE_KEY
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import SaveSession, SessionRecord
from ostiary.kit.clock import ManualClock


@pytest.fixture
def home(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path


def write(home: Path, text: str, mode: int = 0o600) -> Path:
    path = home / "ostiary.json5"
    path.write_text(text)
    path.chmod(mode)
    return path


def told(findings: list[Finding], level: str) -> list[str]:
    return [f"{each.title}. {each.detail}" for each in findings if each.level == level]


def test_a_fresh_machine_is_well(home: Path) -> None:
    findings = examine(home / "new", {})
    assert told(findings, "error") == []
    assert told(findings, "warning") == []
    assert not (home / "new").exists()


def test_every_problem_of_the_configuration_is_a_finding(home: Path) -> None:
    write(home, "{gateway: {prot: 1}, sesion: {}}")
    errors = told(examine(home, {}), "error")
    assert len(errors) == 2
    assert "did you mean port?" in errors[0]


def test_a_rule_that_names_no_tool_is_a_finding(home: Path) -> None:
    write(home, "{tools: {deny: ['exce']}}")
    (warning,) = told(examine(home, {}), "warning")
    assert "tools.deny names 'exce', and no tool is called that. Did you mean exec?" in warning


def test_examining_changes_nothing(home: Path) -> None:
    path = write(home, "{agent: {timeoutSeconds: 5}, gateway: {auth: {token: 'hunter2hunter2'}}}", 0o644)
    before = path.read_text()
    warnings = told(examine(home, {}), "warning")
    assert path.read_text() == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert sorted(each.name for each in home.iterdir()) == ["ostiary.json5"]
    assert any("gateway.auth.token is a secret in plain text" in each for each in warnings)
    assert any("ostiary.json5 can be read by other users" in each for each in warnings)
    assert "hunter2" not in " ".join(warnings)


def test_fixing_moves_secrets_to_the_store_and_leaves_references_and_comments(home: Path) -> None:
    text = (
        "{ // mine\n  gateway: { auth: { token: 'hunter2hunter2' } },\n  models: { providers: { openai: { apiKey: 'sk-1' } } },\n"
    )
    path = write(home, text + "  channels: { telegram: { accounts: { two: { botToken: 'bot-2' } } } },\n}\n", 0o644)
    home.chmod(0o755)
    done = repair(home, {})
    assert len(done) == 5
    after = path.read_text()
    assert "hunter2" not in after
    assert "// mine" in after
    assert '"credential:openai"' in after
    assert '"credential:telegram-two-bot-token"' in after
    token = load(home, {}).config.gateway.auth.token
    assert token == CredentialReference("gateway-token")
    assert resolve(token, {}, open_credentials(home)).reveal() == "hunter2hunter2"
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert told(examine(home, {}), "warning") == []
    assert repair(home, {}) == []


def test_fixing_does_not_overwrite_another_secret_of_the_same_name(home: Path) -> None:
    open_credentials(home).set(Credential(name="openai", kind="api_key", value=Secret("older")))
    write(home, "{models: {providers: {openai: {apiKey: 'newer'}}}}")
    repair(home, {})
    store = open_credentials(home)
    assert store.reveal("openai") == Secret("older")
    assert store.reveal("openai-2") == Secret("newer")


def test_an_invalid_file_is_left_alone_by_fixing(home: Path) -> None:
    path = write(home, "{gateway: {auth: {token: 'x'}, zap: 1}}")
    assert repair(home, {}) == ["The configuration is invalid, so no secret was moved."]
    assert path.read_text() == "{gateway: {auth: {token: 'x'}, zap: 1}}"


def test_a_reference_that_leads_nowhere_is_an_error(home: Path) -> None:
    channels = "channels: {discord: {accounts: {a: {token: '${LOST}'}}}}"
    write(
        home,
        f"{{gateway: {{auth: {{token: '${{GONE}}'}}}}, models: {{providers: {{x: {{apiKey: 'credential:gone'}}}}}}, {channels}}}",
    )
    errors = told(examine(home, {}), "error")
    assert any("gateway.auth.token: the environment variable GONE is not set" in each for each in errors)
    assert any("models.providers.x.apiKey: the credential store has no entry 'gone'" in each for each in errors)
    assert any("channels.discord.accounts.a.token: the environment variable LOST is not set" in each for each in errors)


def test_a_store_with_another_key_is_explained(home: Path) -> None:
    open_credentials(home).set(Credential(name="x", kind="token", value=Secret("y")))
    (home / "credentials.key").write_bytes(bytes(32))
    write(home, "{}")
    assert any("cannot be opened with this key" in each for each in told(examine(home, {}), "error"))


def test_a_backup_with_a_secret_in_it_is_mentioned(home: Path) -> None:
    write(home, "{}")
    (home / "ostiary.json5.before-migration-1").write_text("{gateway: {auth: {token: 'hunter2hunter2'}}}")
    assert any("before-migration-1 still holds a secret" in each for each in told(examine(home, {}), "warning"))


def test_a_socket_nobody_listens_on_is_removed_and_a_living_one_is_not(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind("dead.sock")
    with socket.socket(socket.AF_UNIX) as living:
        living.bind("living.sock")
        living.listen(1)
        assert any("dead.sock is left over" in each for each in told(examine(Path(), {}), "warning"))
        assert repair(Path(), {}) == ["Removed dead.sock: nobody listens on it."]
    assert (home / "living.sock").exists()


def test_the_mark_of_a_dead_process_is_removed_and_of_a_living_one_is_not(home: Path) -> None:
    (home / "gone.pid").write_text("999999999")
    (home / "here.pid").write_text(str(os.getpid()))
    (home / "odd.pid").write_text("not a number")
    assert repair(home, {}) == ["Removed gone.pid: the process it names is gone."]
    assert sorted(each.name for each in home.glob("*.pid")) == ["here.pid", "odd.pid"]


def test_an_unfinished_write_is_removed_only_when_it_is_old(home: Path) -> None:
    for name, age in ((".ostiary.json5.old", 7200), (".ostiary.json5.new", 0)):
        (home / name).write_text("x")
        os.utime(home / name, (os.stat(home).st_mtime - age,) * 2)
    assert repair(home, {}) == ["Removed .ostiary.json5.old: it is an unfinished write."]


def test_files_from_the_future_point_at_the_clock(home: Path) -> None:
    path = write(home, "{}")
    os.utime(path, (4_000_000_000, 4_000_000_000))
    assert any("The clock has been set back" in each for each in told(examine(home, {}), "warning"))


def test_other_parts_add_their_findings_and_a_broken_check_does_not_end_the_examination(home: Path) -> None:
    def store(home: Path) -> Iterator[Finding]:
        yield Finding(level="error", title=f"The store of {home.name} is damaged")

    def broken(home: Path) -> list[Finding]:
        raise ZeroDivisionError("oh")

    findings = examine(home, {}, [broken, store])
    assert told(findings, "error") == [
        "A check could not be made. ZeroDivisionError: oh",
        f"The store of {home.name} is damaged. ",
    ]


async def make_store(home: Path) -> Path:
    key = load_or_create_key(home / STORE_KEY)
    session = SessionKey("main", "main")
    async with open_store(home / STORE, key, clock=ManualClock()) as store:
        await store.commit([SaveSession(record=SessionRecord(key=session, created_at=1.0, updated_at=1.0))])
    return home / STORE


def test_the_standard_checks_open_the_store(home: Path) -> None:
    anyio.run(make_store, home)
    findings = examine(home, {}, standard_checks({"HOME": str(home)}))
    assert told(findings, "error") == []
    assert any("holds 1 session." in each for each in told(findings, "ok"))


def test_a_store_that_lost_its_key_is_explained_and_no_key_is_made(home: Path) -> None:
    anyio.run(make_store, home)
    (home / STORE_KEY).unlink()
    errors = [each for each in examine(home, {}, standard_checks({"HOME": str(home)})) if each.level == "error"]
    assert [each.title for each in errors] == ["The store cannot be used"]
    assert "backup" in errors[0].fix
    assert not (home / STORE_KEY).exists()


def test_a_damaged_store_is_explained(home: Path) -> None:
    path = anyio.run(make_store, home)
    path.write_bytes(b"\x5a" * 8192)
    assert len(told(examine(home, {}, standard_checks({"HOME": str(home)})), "error")) == 1


def test_a_file_where_the_folder_should_be_is_an_error(home: Path) -> None:
    (home / "file").touch()
    assert any("is not a folder" in each for each in told(examine(home / "file", {}), "error"))
