"""What a command sees of the host: the system read-only, its mounts, and nothing else. As bubblewrap's arguments."""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path

from ostiary.contracts.errors import ToolError
from ostiary.contracts.records import dataclass
from ostiary.contracts.sandbox import Mount, SandboxProfile

PROXY_SOCKET = "/run/ostiary/proxy.sock"
UID = 65534

_TOP = ("bin", "sbin", "lib", "lib64", "lib32", "libx32")
# All there is at the top, besides mounts.
PLACES = ("/dev", "/etc", "/nix", "/proc", "/run", "/tmp", "/usr", "/var", *(f"/{name}" for name in _TOP))  # noqa: S108
_OWN = ("/proc/", "/dev/", "/usr/", "/etc/", "/sys/", "/run/", "/var/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/tmp/")  # noqa: S108
_VAR = ("--dir", "/var", "--symlink", "../tmp", "/var/tmp")  # noqa: S108


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A mount's directory on the host, held open, so that it stays the one that was meant."""

    mount: Mount
    fd: int
    identity: tuple[int, int]


def open_sources(profile: SandboxProfile, held: ExitStack) -> tuple[Source, ...]:
    """Open every mount without following a link at its end. Raises ToolError for what may not or cannot be mounted."""
    return tuple(_open(mount, held) for mount in profile.mounts)


def _open(mount: Mount, held: ExitStack) -> Source:
    _check(mount)
    try:
        fd = os.open(mount.source, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise ToolError(f"{mount.target} cannot be mounted: {error.strerror}.") from error
    held.callback(os.close, fd)
    found = os.fstat(fd)
    if not stat.S_ISDIR(found.st_mode):
        raise ToolError(f"{mount.target} cannot be mounted: its source is no directory.")
    return Source(mount=mount, fd=fd, identity=(found.st_dev, found.st_ino))


@lru_cache(maxsize=64)
def _check(mount: Mount) -> None:
    check_target(mount.target)
    if not os.path.isabs(mount.source) or os.path.normpath(mount.source) == "/":
        raise ToolError(f"{mount.source!r} cannot be mounted.")


def check_target(target: str) -> None:
    """Raises ToolError for a place that is the system's, or not a plain absolute path."""
    plain = target.startswith("/") and not {"..", ".", ""} & set(target.split("/")[1:])
    if not plain or "\0" in target or (target + "/").startswith(_OWN):
        raise ToolError(f"{target!r} is no place for a mount.")


def system(root: Path = Path("/")) -> Iterator[str]:
    """The operating system, read-only."""
    yield from ("--ro-bind", str(root / "usr"), "/usr")
    for name in _TOP:
        path = root / name
        if path.is_symlink():
            yield from ("--symlink", os.readlink(path), f"/{name}")
        elif path.is_dir():
            yield from ("--ro-bind", str(path), f"/{name}")
    if (root / "nix/store").is_dir():
        yield from ("--ro-bind", str(root / "nix/store"), "/nix/store")


def own_places(temporary_bytes: int) -> Iterator[str]:
    """After /dev: bounded room for temporary files, and the kernel's settings to look at; else nothing can be written."""
    size = ("--size", str(temporary_bytes), "--perms", "1777", "--tmpfs")
    yield from (*size, "/dev/shm", "--remount-ro", "/dev")  # noqa: S108
    yield from (*size, "/tmp", *_VAR, "--ro-bind", "/proc/sys", "/proc/sys")  # noqa: S108


def shared_places() -> Iterator[str]:
    """The same for a fork server: its runs put their own over these, and it has no use for any."""
    yield from ("--remount-ro", "/dev", "--dir", "/tmp", *_VAR)  # noqa: S108


def mounts(mounts: Sequence[Mount], reached: Mapping[str, str]) -> Iterator[str]:
    """Outer ones first. `reached` says under which name bubblewrap finds each source."""
    for mount in sorted(mounts, key=lambda each: each.target):
        yield from ("--bind" if mount.writable else "--ro-bind", reached[mount.source], mount.target)


def fences() -> Iterator[str]:
    """Namespaces and identity: the same for every command."""
    yield from ("--unshare-user", "--disable-userns", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts")
    yield from ("--unshare-cgroup-try", "--die-with-parent", "--new-session", "--uid", str(UID), "--gid", str(UID))
    yield from ("--hostname", "sandbox", "--clearenv", "--cap-drop", "ALL")
