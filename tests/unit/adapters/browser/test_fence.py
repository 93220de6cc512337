"""The fence as the kernel sees it, without a browser in it."""

import os
import subprocess
from pathlib import Path

import pytest

from ostiary.adapters.browser.chromium import CANDIDATES, DROPPED, POLICY, find_chromium, flags
from ostiary.adapters.browser.fence import UID, environment, fenced
from ostiary.contracts.errors import SandboxUnavailable

CHROMIUM = Path("/usr/lib/chromium/chromium")


def inside(script: str) -> str:
    line = fenced(("/bin/sh", "-c", script), chromium=CHROMIUM, temporary_bytes=2**20)
    done = subprocess.run(line, env=environment(), capture_output=True, text=True, timeout=20, check=False)
    return done.stdout + done.stderr


def test_files_of_the_house_do_not_exist_inside(tmp_path: Path) -> None:
    secret = tmp_path / "store.key"
    secret.write_text("canary")
    secret.chmod(0o644)
    said = inside(
        f"cat {secret}; cat /etc/shadow; cat /etc/passwd; ls {Path.home()}/.ssh {Path.home()}/.ostiary; ls /var/lib /run"
    )
    assert "canary" not in said
    assert "root:" not in said
    assert said.count("No such file") >= 5


def test_there_is_no_network_but_its_own_loopback() -> None:
    assert inside(
        "cat /proc/net/route | wc -l; ls /sys/class/net 2>/dev/null; tail -n +3 /proc/net/dev | cut -d: -f1"
    ).split() == [
        "1",
        "lo",
    ]


def test_nothing_can_be_written_but_memory() -> None:
    said = inside(
        "touch /x /usr/x /etc/x /proc/sys/kernel/core_pattern; echo y > /proc/sys/kernel/hostname; echo z > /tmp/z && cat /tmp/z"
    )
    assert said.count("Read-only") + said.count("denied") >= 4
    assert said.startswith("z\n")


def test_memory_for_files_is_bounded() -> None:
    assert "No space left" in inside("head -c 3000000 /dev/zero > /tmp/big")


def test_it_is_nobody_with_no_rights() -> None:
    said = inside(
        "id -u; grep -E '^(CapEff|CapPrm|CapAmb|NoNewPrivs)' /proc/self/status | tr -d '\\t'; ps -e 2>/dev/null | wc -l"
    )
    lines = said.split("\n")
    assert lines[0] == str(UID if os.geteuid() == 0 else os.geteuid())
    assert lines[1:5] == ["CapPrm:0000000000000000", "CapEff:0000000000000000", "CapAmb:0000000000000000", "NoNewPrivs:1"]
    assert int(lines[5]) < 8


def test_namespaces_for_chromiums_own_sandbox_stay_possible() -> None:
    assert inside("unshare --user --pid --net --fork true && echo possible").strip() == "possible"


def test_as_root_the_uid_is_dropped_before_anything_runs() -> None:
    line = fenced(("cmd",), chromium=CHROMIUM, temporary_bytes=1, is_root=True)
    at = line.index("--", line.index("--remount-ro"))
    assert line[at + 1 : at + 4] == ["setpriv", f"--reuid={UID}", f"--regid={UID}"]
    assert "--unshare-net" in line


def test_as_a_user_there_is_a_user_namespace() -> None:
    line = fenced(("cmd",), chromium=CHROMIUM, temporary_bytes=1, is_root=False)
    assert "--unshare-user" in line
    assert "setpriv" not in line
    assert "--cap-add" not in line


def test_chromium_is_never_told_to_drop_its_sandbox() -> None:
    assert not any("sandbox" in flag for flag in flags(2**30))
    assert "--disable-popup-blocking" in DROPPED
    assert POLICY.is_file()


def test_a_missing_browser_is_said_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostiary.adapters.browser.chromium.CANDIDATES", ("/nowhere/chromium",))
    with pytest.raises(SandboxUnavailable) as caught:
        find_chromium()
    assert "apt install chromium" in caught.value.hint
    assert len(CANDIDATES) > 2


def test_a_configured_browser_that_is_not_there_is_named() -> None:
    with pytest.raises(SandboxUnavailable, match="/nowhere/chrome"):
        find_chromium("/nowhere/chrome")
