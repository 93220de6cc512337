"""What Linux says about processes: their CPU time, their memory, and who else is busy."""

import resource
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_MEGA = 1e6


def tree(pid: int) -> list[int]:
    """The process and all its descendants that live now."""
    children: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            parent = _parent(entry)
            if parent is not None:
                children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for each in found:
        found.extend(children.get(each, ()))
    return found


def cpu_seconds(pid: int) -> float:
    """CPU time of the tree in nanosecond steps; a thread that ended is still counted, a child that ended is not."""
    return sum(_clock(each) for each in tree(pid))


def memory(pid: int) -> tuple[float, float]:
    """Resident and proportional set size of the tree, in MB of 10^6 bytes."""
    rolls = [parse_rollup((_PROC / str(each) / "smaps_rollup").read_text()) for each in tree(pid)]
    return sum(rss for rss, _ in rolls) / _MEGA, sum(pss for _, pss in rolls) / _MEGA


def parse_rollup(text: str) -> tuple[int, int]:
    """Rss and Pss in bytes, of a `smaps_rollup`. Raises KeyError if one is missing."""
    sizes = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if rest.endswith(" kB"):
            sizes[name] = int(rest.split()[0]) * 1024
    return sizes["Rss"], sizes["Pss"]


def settle(pid: int, *, within: float = 10.0, quiet: float = 0.4) -> None:
    """Wait until the process has been idle for a moment, so that what it does after being ready is counted too."""
    end = time.monotonic() + within
    before = cpu_seconds(pid)
    while time.monotonic() < end:
        time.sleep(quiet)
        now = cpu_seconds(pid)
        if now - before < 0.005:
            return
        before = now


def calibrate() -> float:
    """Milliseconds of CPU for a fixed loop of plain Python: figures of two machines compare as multiples of it."""
    begun = time.process_time()
    total = 0
    words: dict[int, str] = {}
    for number in range(200_000):
        total += number * 7 % 13
        words[number & 1023] = str(total)
    return (time.process_time() - begun) * 1000


@dataclass(frozen=True, slots=True)
class Moment:
    """The machine's busy time and ours, to be subtracted from later ones."""

    wall: float
    busy: float
    ours: float


def moment() -> Moment:
    ticks = [int(word) for word in (_PROC / "stat").read_text().splitlines()[0].split()[1:]]
    return Moment(time.monotonic(), busy_seconds(ticks), _ours())


def others(begin: Moment, end: Moment, cores: int) -> float:
    """The share of the whole machine that other processes used, in percent."""
    busy = (end.busy - begin.busy) - (end.ours - begin.ours)
    return max(0.0, 100 * busy / ((end.wall - begin.wall) * cores))


def busy_seconds(ticks: Iterable[int]) -> float:
    """Of the first line of `/proc/stat`: all but idle and waiting for the disk."""
    user, nice, system, _idle, _waiting, *interrupts = list(ticks)[:8]
    return (user + nice + system + sum(interrupts)) / 100


def _ours() -> float:
    mine, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return mine.ru_utime + mine.ru_stime + children.ru_utime + children.ru_stime


def _clock(pid: int) -> float:
    # The clock id of another process, as clock_getcpuclockid(3) makes it.
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def _parent(entry: Path) -> int | None:
    try:
        # The name in parentheses may hold anything, so the fields are counted from its end.
        return int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return None
