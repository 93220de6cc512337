"""Giving directories to the user commands run as. Only needed, and only done, when the gateway itself is root.

Root may not start bubblewrap (its commands could reach /proc/sys), so another user does, and that user must own what it is to
write. Links are never followed and nothing outside the directory is touched.
"""

import os
import pwd
import stat
from collections.abc import Callable
from errno import ELOOP, ENOENT, ENOTDIR, ENXIO

from ostiary.contracts.errors import SandboxUnavailable, ToolError

# Numbers that neither distributions nor systemd hand out.
_CANDIDATES = range(60990, 61000)
_MOST_ENTRIES = 200_000
# What lies deeper can only be a command's own.
_DEEPEST = 100
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


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
            # By descriptor: a name may lead elsewhere by now.
            opened = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
            try:
                if os.path.samestat(os.fstat(opened), found):
                    os.fchown(opened, -1, uid)
                    os.fchmod(opened, stat.S_IMODE(found.st_mode) & ~0o070 | wanted << 3)
            finally:
                os.close(opened)

    _each(directory, one)


def _each(directory: int, one: Callable[[os.stat_result, int, str], None]) -> None:
    """For the directory itself and everything below it, by the directory that holds it and its name there."""
    opened = os.open(".", _FOLDER, dir_fd=directory)
    try:
        one(os.fstat(opened), opened, ".")
        _below(opened, one, _MOST_ENTRIES, _DEEPEST)
    finally:
        os.close(opened)


def _below(folder: int, one: Callable[[os.stat_result, int, str], None], most: int, levels: int) -> int:
    """How many more there may be."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries]
    most -= len(names)
    if most < 0:
        raise ToolError("The workspace holds too many files to be handed to a command.")
    for name in names:
        inner = _try(folder, name, one)
        if inner is not None:
            try:
                most = _below(inner, one, most, levels - 1) if levels else most
            finally:
                os.close(inner)
    return most


def _try(folder: int, name: str, one: Callable[[os.stat_result, int, str], None]) -> int | None:
    """If it is a directory: that one, open."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        # A second name may lie outside the workspace: what it stands for is not ours to give away.
        if not (stat.S_ISREG(found.st_mode) and found.st_nlink > 1):
            one(found, folder, name)
        return os.open(name, _FOLDER, dir_fd=folder) if stat.S_ISDIR(found.st_mode) else None
    except OSError as error:
        # A command that still runs there may take it away at any time, and put something else in its place.
        if error.errno not in (ENOENT, ENOTDIR, ELOOP, ENXIO):
            raise
        return None
