"""Stopping the parts of the house side by side, each within its time; what does not stop is named, not waited for."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import field

import anyio
from anyio.abc import TaskGroup

from ostiary.contracts.control import Killable, Killed
from ostiary.contracts.records import dataclass
from ostiary.core.cancellation import Cancelled, is_wanted

log = logging.getLogger("ostiary.control")

PART_SECONDS = 0.8
COUNTED = ("turns", "queued", "processes", "sends", "jobs", "grants")


@dataclass(slots=True)
class Sweep:
    """What stopping some parts came to."""

    counts: dict[str, int] = field(default_factory=dict)
    unfinished: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Nothing was found and nothing is left."""
        return not self.unfinished and not any(self.counts.values())

    def add(self, later: "Sweep") -> None:
        """What a later sweep found besides; it also knows better what is left."""
        for name, count in later.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        self.unfinished = later.unfinished

    def told(self, seconds: float) -> Killed:
        counted = {name: self.counts.get(name, 0) for name in COUNTED}
        return Killed(**counted, seconds=seconds, unfinished=self.unfinished)


@dataclass(slots=True, eq=False)
class _Stopping:
    """One part on its way to a stop."""

    part: Killable
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)
    counts: Mapping[str, int] | None = None

    async def run(self, reason: str) -> None:
        try:
            with self.scope:
                found = await self.part.stop_all(reason)
                self.counts = {self.part.name: found} if isinstance(found, int) else found
        except (Exception, Cancelled()) as error:
            # One part that cannot stop must not keep the others running.
            if is_wanted(error):
                raise
            log.exception("%s could not be stopped", self.part.name)
        finally:
            self.ended.set()


async def stop_parts(parts: Sequence[Killable], reason: str, *, group: TaskGroup, seconds: float = PART_SECONDS) -> Sweep:
    """Gives after `seconds` at the latest, also if a part takes no notice of being given up; that one goes on in `group`."""
    stopping = [_Stopping(part) for part in parts]
    for each in stopping:
        group.start_soon(each.run, reason)
    with anyio.move_on_after(seconds):
        for each in stopping:
            await each.ended.wait()
    sweep = Sweep()
    for each in stopping:
        if each.counts is None:
            each.scope.cancel()
        else:
            sweep.add(Sweep(dict(each.counts)))
    sweep.unfinished = tuple(sorted({each.part.name for each in stopping if each.counts is None}))
    return sweep
