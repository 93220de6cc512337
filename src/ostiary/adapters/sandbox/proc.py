"""A tree of processes as the host's /proc shows it: who is in it, what it holds, what it has written."""

import os
from collections.abc import Iterable
from pathlib import Path

from ostiary.contracts.records import dataclass

_PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    memory: int
    written: int


def tree(root: int) -> tuple[int, ...]:
    """The process and all below it. Orphans of a pid namespace belong to its first process, so none is missed."""
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += _children(pid)
    return tuple(found)


def usage(pids: Iterable[int]) -> Usage:
    memory = written = 0
    for pid in pids:
        fields = _read(pid, "statm").split()
        memory += _PAGE * int(fields[1]) if len(fields) > 1 else 0
        # The kernel adds what ended children wrote to the parent that reaped them.
        written += sum(int(line.split()[1]) for line in _read(pid, "io").splitlines() if line.startswith("write_bytes:"))
    return Usage(memory=memory, written=written)


def _children(pid: int) -> list[int]:
    try:
        threads = os.listdir(_PROC / str(pid) / "task")
    except OSError:
        return []
    return [int(child) for thread in threads for child in _read(pid, f"task/{thread}/children").split()]


def _read(pid: int, name: str) -> str:
    """Empty for a process that has gone meanwhile or that we may not look into."""
    try:
        return (_PROC / str(pid) / name).read_text()
    except OSError:
        return ""
