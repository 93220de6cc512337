"""The gateway as a service of the user's own session: a systemd user unit, or a launchd agent on macOS."""

import os
import plistlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple
from xml.parsers.expat import ExpatError

from ostiary.contracts.errors import BadInput, StoreUnavailable

UNIT = "ostiary.service"
LABEL = "ostiary.gateway"
MARK = "# Written by `ostiary service install`, which may write it again."
_SECONDS = 60.0
# What stopping needs beyond the time that running turns are given.
_STOP_MORE_SECONDS = 30

Platform = Literal["linux", "darwin"]


class Plan(NamedTuple):
    """A file to be written and where."""

    path: Path
    text: str


class State(NamedTuple):
    path: Path
    is_installed: bool
    is_ours: bool
    is_running: bool


def plan(home: Path, *, drain_seconds: int, platform: str = sys.platform, user_home: Path | None = None) -> Plan:
    """What `install` would write. Raises BadInput on a system whose services are not known."""
    command = [sys.executable, "-m", "ostiary.cli", "up"]
    path = place(platform=platform, user_home=user_home)
    if platform == "darwin":
        return Plan(path, plist_text(command, home, stop_seconds=drain_seconds + _STOP_MORE_SECONDS))
    return Plan(path, unit_text(command, home, stop_seconds=drain_seconds + _STOP_MORE_SECONDS))


def place(*, platform: str = sys.platform, user_home: Path | None = None) -> Path:
    """Where this system looks for it. Raises BadInput."""
    base = user_home or Path.home()
    if platform == "darwin":
        return base / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    if platform.startswith("linux"):
        config = os.environ.get("XDG_CONFIG_HOME", "") if user_home is None else ""
        return (Path(config) if config.startswith("/") else base / ".config") / "systemd" / "user" / UNIT
    raise BadInput(f"services of {platform} are not known", hint="Let your system run `ostiary up`.")


def unit_text(command: Sequence[str], home: Path, *, stop_seconds: int) -> str:
    """Only what a user's own manager can always enforce; namespaces stay allowed, for tools are run in some of their own."""
    return f"""{MARK}
[Unit]
Description=Ostiary, a self-hosted assistant gateway
After=network-online.target
StartLimitIntervalSec=120
StartLimitBurst=5

[Service]
ExecStart={" ".join(_quoted(word) for word in command)}
Environment={_quoted(f"OSTIARY_HOME={home}")}
EnvironmentFile=-{_escaped(str(home / "service.env"))}
WorkingDirectory={_escaped(str(home))}
Restart=on-failure
RestartSec=2
KillMode=mixed
TimeoutStopSec={stop_seconds}
UMask=0077
LimitCORE=0
LimitNOFILE=65536
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK

[Install]
WantedBy=default.target
"""


def plist_text(command: Sequence[str], home: Path, *, stop_seconds: int) -> str:
    """KeepAlive without SuccessfulExit is on-failure: a gateway that was asked to stop stays stopped."""
    content = {
        "Label": LABEL,
        "ProgramArguments": list(command),
        "EnvironmentVariables": {"OSTIARY_HOME": str(home)},
        "WorkingDirectory": str(home),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 5,
        "ExitTimeOut": stop_seconds,
        "ProcessType": "Background",
        "Umask": 0o077,
        "HardResourceLimits": {"Core": 0},
        "StandardErrorPath": str(home / "logs" / "service.log"),
    }
    return plistlib.dumps(content).decode()


def is_ours(path: Path) -> bool:
    """Whether `install` wrote what is at `path`; what cannot be read is somebody else's."""
    try:
        content = path.read_bytes()
        if path.suffix == ".plist":
            found = plistlib.loads(content)
            return found.get("Label") == LABEL and "ostiary.cli" in found.get("ProgramArguments", ())
    except (OSError, ValueError, ExpatError, plistlib.InvalidFileException, AttributeError, TypeError):
        return False
    return content.decode(errors="replace").startswith(MARK)


def write(planned: Plan) -> bool:
    """Put it there; gives whether anything changed. Raises BadInput if the file is somebody else's, StoreUnavailable."""
    path, text = planned
    if path.is_symlink() or path.exists():
        if path.is_symlink() or not is_ours(path):
            raise BadInput(f"{path} was not written by ostiary", hint="Move it away, then install again.")
        if path.read_text() == text:
            return False
    draft = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
            file.write(text)
        draft.replace(path)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be written: {error.strerror}") from None
    return True


def install(planned: Plan) -> str:
    """Write it, begin it now and at each login. Gives an empty text, or why the file is there but not begun."""
    write(planned)
    if planned.path.suffix == ".plist":
        domain = f"gui/{os.getuid()}"
        _run("launchctl", "bootout", f"{domain}/{LABEL}")
        return _run("launchctl", "bootstrap", domain, str(planned.path)).problem
    return _run("systemctl", "--user", "daemon-reload").problem or _run("systemctl", "--user", "enable", "--now", UNIT).problem


def uninstall(path: Path) -> bool:
    """End it and take the file away; gives whether there was one. Raises BadInput if the file is somebody else's."""
    if not path.is_symlink() and not path.exists():
        return False
    if path.is_symlink() or not is_ours(path):
        raise BadInput(f"{path} was not written by ostiary", hint="It is left as it is.")
    if path.suffix == ".plist":
        _run("launchctl", "bootout", f"gui/{os.getuid()}/{LABEL}")
    else:
        _run("systemctl", "--user", "disable", "--now", UNIT)
    path.unlink(missing_ok=True)
    if path.suffix != ".plist":
        _run("systemctl", "--user", "daemon-reload")
    return True


def state(path: Path) -> State:
    is_there = path.exists()
    ours = is_there and is_ours(path)
    if path.suffix == ".plist":
        runs = ours and "pid = " in _run("launchctl", "print", f"gui/{os.getuid()}/{LABEL}").said
    else:
        runs = ours and _run("systemctl", "--user", "is-active", UNIT).said.strip() == "active"
    return State(path, is_there, ours, runs)


def main_pid() -> int:
    """The process the systemd service runs, 0 if it runs none."""
    if not sys.platform.startswith("linux"):
        return 0
    said = _run("systemctl", "--user", "show", "--property=MainPID", "--value", UNIT).said.strip()
    return int(said) if said.isascii() and said.isdigit() else 0


def restart() -> None:
    """Raises StoreUnavailable."""
    problem = _run("systemctl", "--user", "restart", UNIT).problem
    if problem:
        raise StoreUnavailable(f"the service did not restart: {problem}", hint=f"See `systemctl --user status {UNIT}`.")


class _Ran(NamedTuple):
    said: str
    problem: str


def _run(*words: str) -> _Ran:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        return _Ran("", f"{words[0]} is not installed")
    except (OSError, subprocess.TimeoutExpired) as error:
        return _Ran("", f"{words[0]} did not answer: {type(error).__name__}")
    complaint = " ".join((done.stderr.strip() or done.stdout.strip()).split())
    return _Ran(done.stdout, complaint or f"{words[0]} ended with {done.returncode}" if done.returncode else "")


def _quoted(word: str) -> str:
    """One word of a unit file, whatever is in it."""
    text = _escaped(word).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{text}"'


def _escaped(text: str) -> str:
    if any(ord(character) < 32 for character in text):
        raise BadInput("a path with control characters cannot stand in a service file")
    return text.replace("%", "%%")
