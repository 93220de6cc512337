"""Memory and processes of a whole tree, bounded by control groups where we may make them: as root, on either version.

Where we may not, a run's processes are counted by the kernel's per-user limit and its memory is added up by the watch
in `running`.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path

from ostiary.contracts.records import dataclass
from ostiary.contracts.sandbox import SandboxLimits

_ROOT = Path("/sys/fs/cgroup")
_numbers = count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One tree's group: a directory, or one for each controller."""

    directories: tuple[Path, ...]

    def add(self, pid: int) -> bool:
        """False if it could not be done: then nothing may run. The kernel may take some milliseconds over it."""
        try:
            for directory in self.directories:
                (directory / "cgroup.procs").write_text(str(pid))
        except ProcessLookupError:
            # It has ended meanwhile and needs no bounds.
            return True
        except OSError:
            return False
        return True

    def remove(self) -> None:
        """When it is empty; one that is not is left for the kernel's own end of it."""
        for directory in self.directories:
            with suppress(OSError):
                directory.rmdir()


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Where groups are made. `version` is the kernel's interface."""

    parents: tuple[Path, ...]
    version: int

    def make(self, limits: SandboxLimits) -> Group:
        """Raises OSError."""
        name = f"run-{next(_numbers)}"
        settings = _second(limits) if self.version == 2 else _first(limits)
        made = Group(directories=tuple(parent / name for parent in self.parents))
        try:
            for directory in made.directories:
                directory.mkdir()
                _set(directory, settings)
        except OSError:
            made.remove()
            raise
        return made

    def close(self) -> None:
        for parent in self.parents:
            _remove(parent)


def open_groups(root: Path = _ROOT, own: Path = Path("/proc/self/cgroup")) -> Groups | None:
    """A place of our own for groups, or None where we may not have one."""
    name = f"ostiary-{os.getpid()}-{next(_numbers)}"
    try:
        _sweep(root)
        if (root / "cgroup.controllers").exists():
            return _open_second(root / name)
        return _open_first(root, name, own.read_text())
    except (OSError, KeyError):
        return None


def _sweep(root: Path) -> None:
    """Take away what gateways that were killed have left behind."""
    for left in (*root.glob("ostiary-*-*"), *root.glob("memory/**/ostiary-*-*"), *root.glob("pids/**/ostiary-*-*")):
        if left.name.split("-")[1].isdecimal() and not Path(f"/proc/{left.name.split('-')[1]}").exists():
            _remove(left)


def _remove(parent: Path) -> None:
    for directory in (*parent.glob("run-*"), parent):
        with suppress(OSError):
            directory.rmdir()


def _open_second(parent: Path) -> Groups | None:
    if not {"memory", "pids"} <= set((parent.parent / "cgroup.subtree_control").read_text().split()):
        return None
    parent.mkdir()
    (parent / "cgroup.subtree_control").write_text("+memory +pids")
    return Groups(parents=(parent,), version=2)


def _open_first(root: Path, name: str, own: str) -> Groups:
    paths = {controller: line.split(":", 2)[2] for line in own.splitlines() for controller in line.split(":", 2)[1].split(",")}
    parents = tuple(root / controller / paths[controller].strip("/") / name for controller in ("memory", "pids"))
    for parent in parents:
        parent.mkdir()
    return Groups(parents=parents, version=1)


def _second(limits: SandboxLimits) -> Mapping[str, str]:
    return {
        "memory.max": str(limits.memory_bytes),
        "memory.swap.max": "0",
        # All of a run or nothing: half a tree is of no use to anybody.
        "memory.oom.group": "1",
        "pids.max": str(_processes(limits)),
    }


def _first(limits: SandboxLimits) -> Mapping[str, str]:
    return {
        "memory.limit_in_bytes": str(limits.memory_bytes),
        "memory.memsw.limit_in_bytes": str(limits.memory_bytes),
        "pids.max": str(_processes(limits)),
    }


def _processes(limits: SandboxLimits) -> int:
    """With room for the sandbox's own: server, two spares, first process, and another that has just told its end."""
    return limits.processes + 5


def _set(directory: Path, settings: Mapping[str, str]) -> None:
    """Whatever this directory's controller has; machines without swap accounting lack some."""
    for name, value in settings.items():
        if (directory / name).exists():
            (directory / name).write_text(value)
