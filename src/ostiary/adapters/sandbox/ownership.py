"""Giving directories to the user commands run as. Only needed, and only done, when the gateway itself is root.

Root may not start bubblewrap (its commands could reach /proc/sys), so another user does, and that user must own what it is to
write. Links are never followed and nothing outside the directory is touched.
"""

import os
import pwd
import stat
from collections.abc import Callable

from ostiary.contracts.errors import SandboxUnavailable, ToolError

# Numbers that neither distributions nor systemd hand out.
_CANDIDATES = range(60990, 61000)
_MOST_ENTRIES = 200_000


def unprivileged_user() -> int | None:
    """The user to become, or None if we are one already. Raises SandboxUnavailable if every candidate is somebody's."""
    if os.geteuid() != 0:
        return None
    for uid in _CANDIDATES:
        try:
            pwd.getpwuid(uid)
        except KeyError:
            return uid
    raise SandboxUnavailable("No free user number to run commands as.", hint="Start the gateway as an ordinary user.")


def give(directory: int, uid: int) -> None:
    """Make everything below the open directory belong to `uid`. Raises ToolError if there is too much of it."""

    def one(found: os.stat_result, fd: int, name: str) -> None:
        if found.st_uid != uid:
            os.chown(name, uid, uid, dir_fd=fd, follow_symlinks=False)

    _each(directory, one)


def lend(directory: int, uid: int) -> None:
    """Make everything below the open directory readable to `uid`'s group, where it is not readable to all."""

    def one(found: os.stat_result, fd: int, name: str) -> None:
        is_folder = stat.S_ISDIR(found.st_mode)
        wanted = 0o5 if is_folder or found.st_mode & 0o100 else 0o4
        for_all, for_group = found.st_mode & wanted == wanted, found.st_gid == uid and found.st_mode >> 3 & wanted == wanted
        if (is_folder or stat.S_ISREG(found.st_mode)) and not for_all and not for_group:
            os.chown(name, -1, uid, dir_fd=fd, follow_symlinks=False)
            os.chmod(name, stat.S_IMODE(found.st_mode) & ~0o070 | wanted << 3, dir_fd=fd)

    _each(directory, one)


def _each(directory: int, one: Callable[[os.stat_result, int, str], None]) -> None:
    """For the directory itself and everything below it, by the directory that holds it and its name there."""
    opened = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    seen = 0
    try:
        one(os.fstat(opened), opened, ".")
        for _, folders, names, fd in os.fwalk(".", dir_fd=opened, follow_symlinks=False):
            seen += len(folders) + len(names)
            if seen > _MOST_ENTRIES:
                raise ToolError("The workspace holds too many files to be handed to a command.")
            for name in (*folders, *names):
                _try(fd, name, one)
    finally:
        os.close(opened)


def _try(fd: int, name: str, one: Callable[[os.stat_result, int, str], None]) -> None:
    try:
        found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        # A second name may lie outside the workspace: what it stands for is not ours to give away.
        if not (stat.S_ISREG(found.st_mode) and found.st_nlink > 1):
            one(found, fd, name)
    except FileNotFoundError:
        # A command that still runs there may take it away at any time.
        return
