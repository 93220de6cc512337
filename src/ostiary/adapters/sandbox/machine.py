"""What the bubblewrap backend found on this machine, and the part of its command line that all its sandboxes share."""

import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath

from ostiary.adapters.sandbox import view
from ostiary.adapters.sandbox.cgroups import Groups, open_groups
from ostiary.adapters.sandbox.instructions import missing
from ostiary.adapters.sandbox.launch import data_file
from ostiary.adapters.sandbox.native import server_program
from ostiary.adapters.sandbox.ownership import give, lend, unprivileged_user
from ostiary.adapters.sandbox.seccomp import filter_for
from ostiary.adapters.sandbox.view import Source
from ostiary.contracts.errors import SandboxUnavailable, ToolError
from ostiary.contracts.records import dataclass
from ostiary.contracts.sandbox import SandboxProfile

# Exists everywhere and is nobody's; what is put over it is seen by one bubblewrap alone.
_MEETING_PLACE = "/mnt"
_MEET = f"""set -e
mount -t tmpfs -o mode=0755,nosuid,nodev ostiary {_MEETING_PLACE}
number=0
while [ "$1" != -- ]; do
    name={_MEETING_PLACE}/$number
    if [ -d "$1" ]; then mkdir "$name"; else : > "$name"; fi
    mount --bind "$1" "$name"
    number=$((number + 1))
    shift
done
shift
exec "$@"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """`user` is whom bubblewrap runs as, None for ourselves. `program` is the fork server, None where it could not be made.
    `system` are the arguments that show the operating system, `files` what of it is copied."""

    bubblewrap: str
    user: int | None
    groups: Groups | None
    program: Path | None
    filter: bytes
    system: tuple[str, ...]
    files: Mapping[str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A command line without its command: `starter` is started as `user`, `options` are bubblewrap's, `fds` what they name."""

    starter: tuple[str, ...]
    user: int | None
    options: tuple[str, ...]
    fds: tuple[int, ...]


def examine(state: Path, *, native: bool) -> Machine:
    """Look, and make what can be made. Blocks for a second when the fork server is compiled. Raises SandboxUnavailable."""
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        raise missing()
    groups = open_groups()
    return Machine(
        bubblewrap=bubblewrap,
        user=unprivileged_user(),
        groups=groups,
        program=server_program(state) if native else None,
        filter=filter_for(memory_is_counted=groups is not None),
        system=tuple(view.system()),
        files=view.system_files(),
    )


def hand_over(machine: Machine, sources: Sequence[Source], profile: SandboxProfile) -> None:
    """Let whom the command runs as write the writable directories, read the others, use the proxy. Raises ToolError."""
    if machine.user is None:
        return
    for source in sources:
        (give if source.mount.writable else lend)(source.fd, machine.user)
    if profile.network == "proxy":
        check_socket(profile.proxy_socket)
        os.chown(profile.proxy_socket, machine.user, machine.user, follow_symlinks=False)


def line(machine: Machine, sources: Sequence[Source], profile: SandboxProfile, home: str, held: ExitStack) -> Line:
    """What all commands with this view have in common. Raises ToolError, SandboxUnavailable."""
    wanted = [source.mount.source for source in sources]
    if profile.network == "proxy":
        check_socket(profile.proxy_socket)
        wanted.append(profile.proxy_socket)
    starter, user, reached = _reach(machine, wanted)
    words = [*view.fences(), *machine.system, "--proc", "/proc", *view.kernel_places(profile.limits.temporary_bytes)]
    fds = []
    for target, content in {**machine.files, **view.own_files(home)}.items():
        fds.append(data_file(content, held))
        words += ["--perms", "0444", "--file", str(fds[-1]), target]
    words += view.mounts(sources, reached)
    if profile.network == "proxy":
        words += ["--ro-bind", reached[profile.proxy_socket], view.PROXY_SOCKET]
    return Line(starter=starter, user=user, options=tuple(words), fds=tuple(fds))


def _reach(machine: Machine, wanted: Sequence[str]) -> tuple[tuple[str, ...], int | None, Mapping[str, str]]:
    """How to start bubblewrap so that it finds what is wanted, and under which names.

    Root's own directories are closed to the user bubblewrap runs as. Then root first makes a mount namespace in which they can be
    reached by other names, and becomes that user in there."""
    same = {path: path for path in wanted}
    if machine.user is None:
        return (machine.bubblewrap,), None, same
    is_open = all(_is_open(path, machine.user) for path in wanted)
    names = same if is_open else {path: f"{_MEETING_PLACE}/{number}" for number, path in enumerate(wanted)}
    if machine.program is not None:
        hidden = () if is_open else wanted
        return (str(machine.program), "enter", str(machine.user), *hidden, "--", machine.bubblewrap), None, names
    become = _becoming(machine.user)
    if is_open:
        # Without that program we change ourselves: the same, but the whole gateway must be copied first.
        return ((*become, machine.bubblewrap), None, same) if become else ((machine.bubblewrap,), machine.user, same)
    unshare = shutil.which("unshare")
    if unshare is None or not become:
        raise SandboxUnavailable(
            "The workspace lies where only root may go.", hint="Install util-linux, or start the gateway as an ordinary user."
        )
    # Each of these becomes the next: were there a process between us and bubblewrap, it would not end with us.
    meet = (unshare, "--mount", "--propagation", "private", "--", "/bin/sh", "-c", _MEET, "sh", *wanted, "--")
    return (*meet, *become, machine.bubblewrap), None, names


def _becoming(user: int) -> tuple[str, ...]:
    """What runs the rest as that user; nothing where there is no such program."""
    program = shutil.which("setpriv")
    if program is None:
        return ()
    return (program, "--reuid", str(user), "--regid", str(user), "--clear-groups", "--inh-caps=-all", "--")


def _is_open(path: str, user: int) -> bool:
    """Whether everybody, or this user, may pass through every directory above."""
    facts = [os.stat(parent) for parent in PurePosixPath(path).parents]
    return all(found.st_mode & 0o001 or (found.st_uid == user and found.st_mode & 0o100) for found in facts)


def check_socket(path: str) -> None:
    """Raises ToolError if there is none."""
    try:
        is_socket = stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        is_socket = False
    if not is_socket:
        raise ToolError("The network proxy is not there.")
