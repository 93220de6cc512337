"""The fence around the browser's process: its own pid, network, ipc and mount namespaces, a uid that owns nothing, and of
the machine only the system, the interpreter and Chromium, read-only. What it writes goes to memory and is gone with it.

Chromium's own sandbox stands inside, so user namespaces must stay possible in here: that is why the sandbox of commands,
which forbids them, is another one.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ostiary.adapters.browser.chromium import POLICY, POLICY_PLACES

UID = 64_117
"""Who the browser is when the gateway is root: nobody else on the machine has this uid."""

HOME = "/tmp/home"  # noqa: S108 - inside the fence, where /tmp is the browser's own memory
_SYSTEM = ("/etc/fonts", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/alternatives", "/etc/localtime", "/var/cache/fontconfig")


def fenced(
    command: Sequence[str], *, chromium: Path, temporary_bytes: int, fences_network: bool = True, is_root: bool | None = None
) -> list[str]:
    """The whole command line that starts `command` behind the fence."""
    is_root = os.geteuid() == 0 if is_root is None else is_root
    line = ["bwrap", "--die-with-parent", "--new-session", "--hostname", "browser"]
    line += ["--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"]
    line += ["--unshare-net"] if fences_network else []
    # Root lays the mounts out and becomes somebody else inside; the two capabilities are for that and end with it.
    line += ["--cap-drop", "ALL"]
    line += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"] if is_root else ["--unshare-user"]
    line += _layout(chromium, temporary_bytes)
    line += ["--chdir", "/", "--remount-ro", "/", "--"]
    if is_root:
        line += ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "--inh-caps=-all", "--no-new-privs", "--"]
    return [*line, *command]


def environment() -> dict[str, str]:
    """All that the browser's process is told; nothing of the gateway's own."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": HOME,
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(_root_of("ostiary").parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "FONTCONFIG_PATH": "/etc/fonts",
    }


def _layout(chromium: Path, temporary_bytes: int) -> Iterator[str]:
    made = {"/", "/usr", "/tmp"}  # noqa: S108 - of the fence
    yield from ("--ro-bind", "/usr", "/usr")
    for name in ("bin", "sbin", "lib", "lib64", "lib32"):
        if os.path.islink(f"/{name}"):
            yield from ("--symlink", f"usr/{name}", f"/{name}")
        elif os.path.isdir(f"/{name}"):
            yield from ("--ro-bind", f"/{name}", f"/{name}")
    for place in _SYSTEM:
        if os.path.exists(place):
            yield from _parents(place, made)
            yield from ("--ro-bind", os.path.realpath(place), place)
    for place in POLICY_PLACES:
        yield from _parents(place, made)
        yield from ("--ro-bind", str(POLICY), place)
    yield from ("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev")
    yield from ("--perms", "1777", "--size", str(temporary_bytes), "--tmpfs", "/tmp")  # noqa: S108 - of the fence
    for place in _programs(chromium):
        yield from _parents(place, made)
        yield from ("--ro-bind", place, place)


def _programs(chromium: Path) -> list[str]:
    """The folders the process must read besides /usr, outermost only."""
    interpreter = Path(sys.executable).resolve()
    wanted = {Path(sys.prefix), Path(sys.base_prefix), _root_of("ostiary"), _root_of("playwright"), chromium.parent}
    if not any(interpreter.is_relative_to(each) for each in wanted):
        wanted.add(interpreter.parent)
    outside = sorted({str(each) for each in wanted if not each.is_relative_to("/usr")})
    return [each for each in outside if not any(each.startswith(f"{other}/") for other in outside)]


def _root_of(package: str) -> Path:
    from importlib.util import find_spec

    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(package)
    return Path(spec.origin).parent


def _parents(place: str, made: set[str]) -> Iterator[str]:
    """Folders on the way that everyone may pass: bubblewrap would make them for its own uid alone."""
    for parent in reversed(Path(place).parents):
        each = str(parent)
        if each not in made:
            made.add(each)
            yield from ("--perms", "0755", "--dir", each)
