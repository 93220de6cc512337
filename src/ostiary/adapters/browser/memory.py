"""What the browser's processes hold in memory, and an end for those that take too much. Runs inside the fence."""

import contextlib
import os
import resource
import signal

import anyio

from ostiary.contracts.records import dataclass

_EVERY = 0.3
_PAGE = resource.getpagesize()


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One process: bytes of its own, and whether it draws pages (and may be ended without ending the browser)."""

    pid: int
    size: int
    is_renderer: bool


def held() -> list[Held]:
    """Every process behind the fence; inside, the pid namespace shows no other."""
    found: list[Held] = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{name}/statm", "rb") as statm:
                _, resident, shared = statm.read().split()[:3]
            with open(f"/proc/{name}/cmdline", "rb") as cmdline:
                is_renderer = b"--type=renderer" in cmdline.read(65_536)
            found.append(Held(pid=int(name), size=(int(resident) - int(shared)) * _PAGE, is_renderer=is_renderer))
    return found


def too_greedy(processes: list[Held], most: int) -> Held | None:
    """The renderer to end: the largest, once all together hold more than `most`. None while all is well."""
    if sum(each.size for each in processes) <= most:
        return None
    return max((each for each in processes if each.is_renderer), key=lambda each: each.size, default=None)


async def keep_within(most: int) -> None:
    """Until cancelled. A renderer that is ended is a crash to whoever uses its page."""
    while True:
        await anyio.sleep(_EVERY)
        greedy = too_greedy(held(), most)
        if greedy is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(greedy.pid, signal.SIGKILL)


def limit_each(most: int) -> None:
    """No process of ours, and none it starts, may hold more than this at any moment; no core files either."""
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("800")
