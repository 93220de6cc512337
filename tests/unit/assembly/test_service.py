"""The service's file: what it promises the system, and that no foreign file is ever overwritten."""

import plistlib
from pathlib import Path

import pytest

from ostiary.assembly import service
from ostiary.contracts.errors import BadInput


def settings(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))


def test_the_unit_restarts_on_failure_and_leaves_time_to_drain() -> None:
    planned = service.plan(Path("/srv/house"), drain_seconds=20, platform="linux", user_home=Path("/home/you"))
    found = settings(planned.text)
    assert planned.path == Path("/home/you/.config/systemd/user/ostiary.service")
    assert (found["Restart"], found["KillMode"], found["TimeoutStopSec"]) == ("on-failure", "mixed", "50")
    assert found["ExecStart"].endswith('"-m" "ostiary.cli" "up"')
    assert found["Environment"] == '"OSTIARY_HOME=/srv/house"'


def test_the_unit_is_hardened() -> None:
    found = settings(service.unit_text(["ostiary"], Path("/srv/house"), stop_seconds=50))
    for name in ("NoNewPrivileges", "LockPersonality", "RestrictRealtime", "RestrictSUIDSGID"):
        assert found[name] == "yes"
    assert (found["UMask"], found["LimitCORE"]) == ("0077", "0")


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("/srv/my house", '"/srv/my house"'),
        ("/srv/50%", '"/srv/50%%"'),
        ('/srv/"x"', '"/srv/\\"x\\""'),
        ("/srv/$HOME", '"/srv/$$HOME"'),
    ],
)
def test_a_path_stays_one_word_whatever_is_in_it(word: str, quoted: str) -> None:
    assert settings(service.unit_text([word], Path("/srv"), stop_seconds=1))["ExecStart"] == quoted


def test_a_line_break_in_a_path_cannot_add_settings() -> None:
    with pytest.raises(BadInput, match="control characters"):
        service.unit_text(["ostiary"], Path("/srv/x\nExecStartPre=/bin/evil"), stop_seconds=1)


def test_the_plist_restarts_only_what_failed() -> None:
    planned = service.plan(Path("/srv/house"), drain_seconds=20, platform="darwin", user_home=Path("/Users/you"))
    found = plistlib.loads(planned.text.encode())
    assert planned.path == Path("/Users/you/Library/LaunchAgents/ostiary.gateway.plist")
    assert found["KeepAlive"] == {"SuccessfulExit": False}
    assert found["RunAtLoad"] is True
    assert found["ProgramArguments"][1:] == ["-m", "ostiary.cli", "up"]
    assert found["EnvironmentVariables"] == {"OSTIARY_HOME": "/srv/house"}
    assert (found["Umask"], found["ExitTimeOut"]) == (0o077, 50)


def test_another_system_is_told_what_to_do() -> None:
    with pytest.raises(BadInput, match="plan9"):
        service.place(platform="plan9")


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_what_was_written_before_is_written_again(tmp_path: Path, platform: str) -> None:
    first = service.plan(Path("/srv/house"), drain_seconds=20, platform=platform, user_home=tmp_path)
    later = service.plan(Path("/srv/house"), drain_seconds=60, platform=platform, user_home=tmp_path)
    assert service.write(first) is True
    assert service.write(first) is False
    assert service.write(later) is True
    assert later.path.read_text() == later.text
    assert later.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["ostiary.service", "ostiary.gateway.plist"])
@pytest.mark.parametrize(
    "content", [b"", b"[Unit]\nDescription=mine\n", b"\xff\x00", plistlib.dumps({"Label": "mine"}), plistlib.dumps([1])]
)
def test_a_foreign_file_is_never_overwritten_nor_removed(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BadInput, match="not written by ostiary"):
        service.write(service.Plan(path, "new"))
    with pytest.raises(BadInput, match="not written by ostiary"):
        service.uninstall(path)
    assert path.read_bytes() == content


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "ostiary.service"
    target.write_text(service.MARK)
    link.symlink_to(target)
    with pytest.raises(BadInput, match="not written by ostiary"):
        service.write(service.Plan(link, "new"))
    assert target.read_text() == service.MARK


def test_what_is_not_there_is_not_installed(tmp_path: Path) -> None:
    assert service.uninstall(tmp_path / "ostiary.service") is False
    assert service.state(tmp_path / "ostiary.service").is_installed is False
