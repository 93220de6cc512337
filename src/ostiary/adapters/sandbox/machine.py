"""What the bubblewrap backend found on this machine, and the part of its command line that all its sandboxes share."""

import os
import shutil
import stat
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from ostiary.adapters.sandbox import view
from ostiary.adapters.sandbox.cgroups import Groups, open_groups
from ostiary.adapters.sandbox.etc import Etc
from ostiary.adapters.sandbox.instructions import missing
from ostiary.adapters.sandbox.launch import sealed
from ostiary.adapters.sandbox.native import server_program
from ostiary.adapters.sandbox.ownership import give, lend, unprivileged_user
from ostiary.adapters.sandbox.seccomp import filter_for
from ostiary.adapters.sandbox.view import Source
from ostiary.contracts.errors import SandboxUnavailable, ToolError
from ostiary.contracts.records import dataclass
from ostiary.contracts.sandbox import Mount, SandboxProfile

# Exist everywhere and are nobody's; what is put over one of them is seen by one bubblewrap alone.
_MEETING_PLACES = ("/mnt", "/media", "/srv")
_MEET = """set -e
place=$1
shift
mount -t tmpfs -o mode=0755,nosuid,nodev ostiary "$place"
while [ "$1" != -- ]; do
    name=$place/$1
    if [ ! -d "$2" ]; then : > "$name"; elif [ ! -d "$name" ]; then mkdir "$name"; fi
    mount --bind "$2" "$name"
    shift 2
done
shift
exec "$@"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Our own program: where it lies, and itself and the filter as descriptors that nobody can change."""

    path: Path
    program: int
    filter: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """`user` is whom bubblewrap runs as, None for ourselves. `fence` is None where it could not be made. `system` are the
    arguments that show the operating system, `etc` its settings as commands see them."""

    bubblewrap: str
    user: int | None
    groups: Groups | None
    fence: Fence | None
    filter: bytes
    system: tuple[str, ...]
    etc: Etc

    def close(self) -> None:
        self.etc.close()
        if self.groups is not None:
            self.groups.close()
        if self.fence is not None:
            os.close(self.fence.program)
            os.close(self.fence.filter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A command line without its command: `starter` becomes bubblewrap, `options` are bubblewrap's."""

    starter: tuple[str, ...]
    options: tuple[str, ...]


def examine(state: Path, *, native: bool) -> Machine:
    """Look, and make what can be made. Blocks for a second when the fork server is compiled. Raises SandboxUnavailable."""
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        raise missing()
    groups = open_groups()
    rules = filter_for(memory_is_counted=groups is not None)
    etc = Etc(state)
    # Here and now, in a thread: this is where nearly every command is at home.
    etc.directory("/workspace")
    return Machine(
        bubblewrap=bubblewrap,
        user=unprivileged_user(),
        groups=groups,
        fence=_fence(state, rules) if native else None,
        filter=rules,
        system=tuple(view.system()),
        etc=etc,
    )


def _fence(state: Path, rules: bytes) -> Fence | None:
    path = server_program(state)
    if path is None:
        return None
    try:
        program = sealed(path.read_bytes())
    except OSError:
        # A system may forbid programs that lie nowhere.
        return None
    return Fence(path=path, program=program, filter=sealed(rules))


def hand_over(machine: Machine, sources: Sequence[Source], profile: SandboxProfile) -> None:
    """Let whom the command runs as write the writable directories, read the others, use the proxy. Raises ToolError."""
    if machine.user is None:
        return
    for source in sources:
        (give if source.mount.writable else lend)(source.fd, machine.user)
    if profile.network == "proxy":
        check_socket(profile.proxy_socket)
        os.chown(profile.proxy_socket, machine.user, machine.user, follow_symlinks=False)


def line(machine: Machine, sources: Sequence[Source], profile: SandboxProfile, home: str, *, is_shared: bool = False) -> Line:
    """What all commands with this view have in common. With `is_shared` what belongs to each run alone is left to the run.

    Raises ToolError, SandboxUnavailable."""
    proxy = profile.proxy_socket if profile.network == "proxy" else ""
    if proxy:
        check_socket(proxy)
    own = view.shared_places() if is_shared else view.own_places(profile.limits.temporary_bytes)
    return _line(machine, machine.etc.directory(home), tuple(source.mount for source in sources), proxy, tuple(own))


@lru_cache(maxsize=64)
def _line(machine: Machine, etc: str, mounts: tuple[Mount, ...], proxy: str, own: tuple[str, ...]) -> Line:
    """Kept, for most commands have the view of the one before. Should a path lead elsewhere by then, it is not found at worst."""
    folders = {f"etc/{name}": f"/etc/{name}" for name in machine.etc.folders}
    wanted = {"etc": etc, **folders, **{str(number): mount.source for number, mount in enumerate(mounts)}}
    if proxy:
        wanted["proxy"] = proxy
    starter, reached = _reach(machine, wanted)
    words = [*view.fences(), *machine.system, "--ro-bind", reached[etc], "/etc"]
    if machine.user is None:
        words += [word for folder in folders.values() for word in ("--ro-bind", folder, folder)]
    devices = ("--dev-bind", reached["/dev"], "/dev") if "/dev" in reached else ("--dev", "/dev")
    words += ["--proc", "/proc", *devices, *own, *view.mounts(mounts, reached)]
    if proxy:
        words += ["--ro-bind", reached[proxy], view.PROXY_SOCKET]
    words += ["--remount-ro", "/"]
    return Line(starter=starter, options=tuple(words))


def _reach(machine: Machine, wanted: Mapping[str, str]) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """How to start bubblewrap so that it finds what is wanted, and where it finds each.

    Root's own directories are closed to the user bubblewrap runs as. So root first makes a mount namespace in which they can be
    reached by the names they are wanted by, and becomes that user in there. One name may lie within another: then bubblewrap
    mounts both at once, and each time takes it long."""
    if machine.user is None:
        return (machine.bubblewrap,), {path: path for path in wanted.values()}
    place = _meeting_place(wanted.values())
    reached = {path: f"{place}/{name}" for name, path in wanted.items()}
    meeting = [word for both in wanted.items() for word in both]
    if machine.fence is not None:
        reached["/dev"] = f"{place}/dev"
        return (str(machine.fence.path), "enter", str(machine.user), place, *meeting, "--", machine.bubblewrap), reached
    unshare, setpriv = shutil.which("unshare"), shutil.which("setpriv")
    if unshare is None or setpriv is None:
        raise SandboxUnavailable(
            "Commands are not run: unshare or setpriv is missing.",
            hint="Install util-linux or a C compiler, or start the gateway as an ordinary user.",
        )
    # Each of these becomes the next: were there a process between us and bubblewrap, it would not end with us.
    meet = (unshare, "--mount", "--propagation", "private", "--", "/bin/sh", "-c", _MEET, "sh", place, *meeting, "--")
    become = (setpriv, "--reuid", str(machine.user), "--regid", str(machine.user), "--clear-groups", "--inh-caps=-all", "--")
    return (*meet, *become, machine.bubblewrap), reached


def _meeting_place(wanted: Iterable[str]) -> str:
    """One that covers nothing of what is wanted."""
    real = [os.path.realpath(path) + "/" for path in wanted]
    for place in _MEETING_PLACES:
        if os.path.isdir(place) and not any(path.startswith(place + "/") for path in real):
            return place
    raise SandboxUnavailable(f"The workspace lies below all of {', '.join(_MEETING_PLACES)}.", hint="Move it to another place.")


def check_socket(path: str) -> None:
    """Raises ToolError if there is none."""
    try:
        is_socket = stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        is_socket = False
    if not is_socket:
        raise ToolError("The network proxy is not there.")
