from pathlib import Path

import pytest

from ostiary.assembly.config.load import load
from ostiary.assembly.security import examine, repair, standard_looks
from ostiary.assembly.security_rules import config_findings
from ostiary.assembly.security_words import Finding
from ostiary.contracts.errors import OstiaryError


def written(home: Path, text: str) -> Path:
    home.mkdir(mode=0o700, exist_ok=True)
    path = home / "ostiary.json5"
    path.write_text(text)
    path.chmod(0o600)
    return home


def of(tmp_path: Path, text: str) -> dict[str, Finding]:
    config = load(written(tmp_path / "home", text), {}).config
    return {each.id: each for each in config_findings(config)}


def test_the_default_configuration_has_nothing_to_say_against_it(tmp_path: Path) -> None:
    assert of(tmp_path, "{}") == {}


@pytest.mark.parametrize(
    ("text", "id", "severity"),
    [
        ("{gateway: {bind: 'lan'}}", "gateway.exposed", "warning"),
        ("{gateway: {bind: 'lan'}}", "gateway.no_tls", "critical"),
        ("{gateway: {trustedProxies: ['0.0.0.0/0']}}", "gateway.any_proxy", "critical"),
        ("{gateway: {auth: {rateLimit: {maxAttempts: 900}}}}", "gateway.guessing", "warning"),
        ("{posture: 'open'}", "tools.no_confirm", "critical"),
        ("{posture: 'open'}", "tools.no_taint", "critical"),
        ("{posture: 'open'}", "sandbox.partial", "warning"),
        ("{posture: 'open'}", "posture.open", "warning"),
        ("{tools: {taint: {byRole: {guest: 'off'}}}}", "tools.no_taint", "critical"),
        ("{posture: 'open', tools: {elevated: {enabled: true, allowFrom: {telegram: ['*']}}}}", "tools.elevated", "critical"),
        ("{posture: 'open', tools: {elevated: {enabled: true, allowFrom: {telegram: ['7']}}}}", "tools.elevated", "warning"),
        ("{posture: 'open', agents: {defaults: {sandbox: {mode: 'off'}}}}", "sandbox.off", "critical"),
        ("{agents: {defaults: {sandbox: {scope: 'shared'}}}}", "sandbox.shared", "warning"),
        ("{tools: {web: {allowPrivate: ['nas.lan']}}}", "tools.private_network", "info"),
        ("{tools: {roles: {guest: {profile: 'full'}}}}", "tools.role", "warning"),
        ("{channels: {telegram: {dmPolicy: 'open'}}}", "channels.dm_open", "warning"),
        ("{channels: {telegram: {groupPolicy: 'open'}}}", "channels.group_open", "warning"),
        (
            "{channels: {telegram: {groupPolicy: 'open'}}, tools: {roles: {guest: {profile: 'full'}}}}",
            "channels.group_open",
            "critical",
        ),
        ("{channels: {telegram: {groupPolicy: 'open', requireMention: false}}}", "channels.no_mention", "warning"),
        ("{channels: {telegram: {allowFrom: ['1', '2']}}}", "channels.shared_talk", "warning"),
        ("{channels: {telegram: {}}}", "commands.no_owner", "info"),
        ("{commands: {useAccessGroups: false}}", "commands.anybody", "critical"),
        ("{logging: {level: 'debug'}}", "logging.debug", "info"),
        ("{logging: {redactSensitive: 'tools'}}", "logging.redaction", "warning"),
    ],
)
def test_what_a_setting_opens_is_found_with_what_closes_it(tmp_path: Path, text: str, id: str, severity: str) -> None:
    found = of(tmp_path, text)
    assert found[id].severity == severity
    assert found[id].fix
    assert found[id].sentence.endswith(".")


@pytest.mark.parametrize(
    "text",
    [
        "{gateway: {bind: 'lan', tls: {enabled: true}}}",
        "{channels: {telegram: {dmPolicy: 'allowlist', allowFrom: ['1']}}, commands: {ownerAllowFrom: ['telegram:1']}}",
        "{tools: {roles: {guest: {profile: 'minimal'}}}}",
    ],
)
def test_a_setting_that_opens_nothing_is_nothing_critical(tmp_path: Path, text: str) -> None:
    assert [each for each in of(tmp_path, text).values() if each.severity == "critical"] == []


def test_files_that_others_can_open_are_found_and_closed(tmp_path: Path) -> None:
    home = written(tmp_path / "home", "{}")
    home.chmod(0o755)
    (home / "ostiary.json5").chmod(0o644)
    (home / "logs").mkdir(mode=0o770)
    (home / "logs").chmod(0o770)
    found = {(each.id, each.severity) for each in examine(home, {})}
    assert {("files.readable", "critical"), ("files.folder_open", "warning"), ("files.folder_open", "critical")} <= found
    assert len(repair(home)) == 3
    assert [each.id for each in examine(home, {}) if each.id.startswith("files.")] == []
    assert repair(home) == []


def test_a_home_that_is_not_there_yet_is_no_trouble(tmp_path: Path) -> None:
    assert [each.severity for each in examine(tmp_path / "none", {}) if each.id != "process.root"] == ["info"]


def test_a_secret_in_the_file_and_a_weak_one_are_found(tmp_path: Path) -> None:
    home = written(tmp_path / "home", "{gateway: {auth: {token: 'short'}}}")
    found = {each.id for each in examine(home, {})}
    assert {"secrets.literal", "gateway.weak_secret"} <= found


def test_an_invalid_configuration_is_critical_and_the_rest_is_looked_at(tmp_path: Path) -> None:
    home = written(tmp_path / "home", "{gateway: {port: 'x'}}")
    home.chmod(0o755)
    assert {"config.invalid", "files.folder_open"} <= {each.id for each in examine(home, {})}


def test_a_look_that_breaks_is_a_finding_and_the_gravest_comes_first(tmp_path: Path) -> None:
    def broken(home: Path) -> list[Finding]:
        raise OstiaryError("no")

    def grave(home: Path) -> list[Finding]:
        return [Finding(id="z", severity="critical", sentence="Bad.")]

    found = examine(written(tmp_path / "home", "{}"), {}, (broken, grave))
    assert found[0].id == "z"
    assert "audit.failed" in {each.id for each in found}


def test_looking_changes_nothing(tmp_path: Path) -> None:
    home = written(tmp_path / "home", "{agent: {timeoutSeconds: 5}}")
    (home / "ostiary.json5").chmod(0o644)
    examine(home, {}, standard_looks())
    assert [path.name for path in home.iterdir()] == ["ostiary.json5"]
    assert (home / "ostiary.json5").stat().st_mode & 0o777 == 0o644
    assert (home / "ostiary.json5").read_text() == "{agent: {timeoutSeconds: 5}}"
