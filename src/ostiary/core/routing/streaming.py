"""Block streaming: a long answer leaves in blocks while it is still being written.

A pure machine: deltas and the time go in, blocks come out. A block that came out is fixed: the caller commits it before it is
sent, together with its progress. After a crash or another attempt the same words must come again before anything new leaves;
if others come, the rest of the reply says that it was interrupted.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import field
from typing import Literal

import anyio

from ostiary.contracts.clock import Clock
from ostiary.contracts.records import dataclass
from ostiary.core.routing.chunks import Fence, best_break, open_fence, past_closing

INTERRUPTED = "(The message above was interrupted.)"
_LONGEST_FENCE_LINE = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRules:
    """A block holds `minimum` to `maximum` characters. `message_end` holds everything back until the answer is complete.

    With `gather`, blocks are joined until they hold that many characters, or until nothing came for `idle` seconds."""

    enabled: bool = False
    minimum: int = 800
    maximum: int = 1200
    break_at: Literal["text_end", "message_end"] = "text_end"
    gather: int = 0
    idle: float = 1.0


CHANNEL_RULES = {
    "signal": StreamRules(gather=1500),
    "slack": StreamRules(gather=1500),
    "discord": StreamRules(gather=1500),
    "irc": StreamRules(gather=300),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What has left so far: how many blocks, and the words of the answer that they hold."""

    blocks: int = 0
    source: str = ""

    def packed(self) -> bytes:
        return f"{self.blocks}\n{self.source}".encode("utf-8", "replace")

    @classmethod
    def unpack(cls, packed: bytes) -> "Progress":
        """Raises ValueError for what `packed` did not make."""
        number, _, source = packed.decode().partition("\n")
        return cls(blocks=int(number), source=source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """`place` counts from 0 within its step. `text` is ready to be rendered: its fences are closed.

    `progress` is what has left once this block has: it is committed together with the block."""

    place: int
    text: str
    progress: Progress = field(default_factory=Progress, compare=False)

    def key(self, turn: str, step: int) -> str:
        return f"{turn}:{step}:{self.place}"


class BlockStream:
    """The blocks of one answer (one step of a turn)."""

    def __init__(self, rules: StreamRules, *, limit: int = 4000, progress: Progress | None = None) -> None:
        self._holds = not rules.enabled or rules.break_at == "message_end"
        self._want = min(rules.gather or rules.minimum, limit)
        self._low = min(rules.minimum, self._want, limit)
        self._high = max(self._low, min(max(rules.maximum, self._want), limit))
        self._idle = rules.idle
        self._progress = progress or Progress()
        self._buffer = ""
        self._heard = 0.0
        self._fence = open_fence(self._progress.source)
        self._awaited = self._progress.source
        self._diverged = False

    @property
    def idle(self) -> float:
        """After so many seconds of silence `tick` has something to say."""
        return self._idle

    @property
    def progress(self) -> Progress:
        """As of the blocks given out so far; what a resumed stream is made from."""
        return self._progress

    def restart(self) -> None:
        """Another attempt begins: what was not given out is void."""
        self._buffer = ""
        self._awaited = self._progress.source
        self._diverged = False

    def feed(self, delta: str, now: float) -> list[Block]:
        self._heard = now
        if self._holds or self._diverged:
            return []
        if self._awaited:
            delta = self._repeated(delta)
        self._buffer += delta
        return self._cut()

    def tick(self, now: float) -> list[Block]:
        """Nothing came for a while: what is complete need not wait for more."""
        if self._holds or self._diverged or now - self._heard < self._idle or len(self._buffer) < self._low:
            return []
        at = self._outside_fences(min(len(self._buffer) - 1, self._high), self._low // 2)
        return [self._give(at)] if at else []

    def finish(self, final: str) -> list[Block]:
        """What is left to say once the reply is known, as at most one block. Empty: nothing is left."""
        source = self._progress.source
        if not final.strip():
            return []
        if not source.strip():
            return [self._last(final.strip(), None)]
        at = final.find(source.strip())
        if at < 0:
            return [self._last(f"{INTERRUPTED}\n\n{final.strip()}", None)]
        # What was put before the answer comes late, but it comes.
        before, after = final[:at].strip(), final[at + len(source.strip()) :]
        if not (before or after.strip()):
            return []
        fence = open_fence(source)
        rest = after.strip("\n") if fence else after.strip()
        if fence is None and before:
            rest = f"{before}\n\n{rest}".strip()
        last = self._last(rest, fence)
        return [last] if last.text else []

    def _repeated(self, delta: str) -> str:
        """Swallow what has been sent already; gives what goes beyond it."""
        known = min(len(self._awaited), len(delta))
        if self._awaited[:known] != delta[:known]:
            self._diverged = True
            return ""
        self._awaited = self._awaited[known:]
        return delta[known:]

    def _cut(self) -> list[Block]:
        blocks: list[Block] = []
        while len(self._buffer) >= self._want:
            at = self._paragraph_end()
            if not at and len(self._buffer) > self._high:
                at = self._outside_fences(self._high, self._low // 2) or self._forced()
            if not at:
                break
            blocks.append(self._give(at))
        return blocks

    def _paragraph_end(self) -> int:
        """The last end of a paragraph, outside fences, that makes a block of the right size."""
        at = min(len(self._buffer), self._high)
        while True:
            at = self._buffer.rfind("\n\n", self._low, at)
            if at < 0:
                return 0
            if open_fence(self._buffer, 0, at, self._fence) is None:
                return at

    def _outside_fences(self, high: int, low: int) -> int:
        """The best place up to `high` that is in no fence; 0 if there is none."""
        at = best_break(self._buffer, max(low, 1), high)
        fence = open_fence(self._buffer, 0, at, self._fence)
        if fence is None:
            # The line being written may yet turn out to open a fence.
            start = self._buffer.rfind("\n", 0, at) + 1
            return at if not self._buffer[start:at].lstrip(" ").startswith(("``", "~~")) else start - 1 if start > low else 0
        return fence.at if fence is not self._fence and fence.at >= max(low, 1) else 0

    def _forced(self) -> int:
        """The fence is longer than a block: cut between two of its lines, or where a line is too long, within it."""
        newline = self._buffer.rfind("\n", self._low // 2, self._high)
        return newline if newline > 0 else best_break(self._buffer, self._high - 1, self._high)

    def _give(self, at: int) -> Block:
        taken, self._buffer = self._buffer[:at], self._buffer[at:]
        now = open_fence(taken, 0, None, self._fence)
        place = self._progress.blocks
        self._progress = Progress(blocks=place + 1, source=self._progress.source + taken)
        block = Block(place=place, text=_whole(taken, self._fence, now), progress=self._progress)
        self._fence = Fence(now.line, now.mark, -1) if now else None
        return block

    def _last(self, text: str, fence: Fence | None) -> Block:
        place = self._progress.blocks
        self._progress = Progress(blocks=place + 1, source=self._progress.source)
        self._buffer = ""
        self._diverged = True
        return Block(place=place, text=_whole(text, fence, None), progress=self._progress)


def _whole(text: str, before: Fence | None, after: Fence | None) -> str:
    """Open the fence that the text stands in, and close the one it leaves open."""
    past = past_closing(text, before) if before is not None else 0
    if past:
        text, before = text[past:], None
    text = text.strip("\n") if before else text.strip()
    if before is not None:
        text = f"{before.line if len(before.line) <= _LONGEST_FENCE_LINE else before.mark}\n{text}"
    return text + after.closing if after is not None else text


@asynccontextmanager
async def streamed(
    stream: BlockStream, clock: Clock, idle: float, commit: Callable[[Block], Awaitable[None]]
) -> AsyncIterator[Callable[[str], Awaitable[None]]]:
    """Gives the function to feed deltas to. Blocks are committed one at a time and in order, also those a pause brings out.

    Whatever `commit` raises ends the stream and is raised here."""
    one_at_a_time = anyio.Lock()
    failures: list[Exception] = []

    async def feed(delta: str) -> None:
        async with one_at_a_time:
            for block in stream.feed(delta, clock.monotonic()):
                await commit(block)

    async def tick() -> None:
        try:
            while True:
                await clock.sleep(idle)
                async with one_at_a_time:
                    for block in stream.tick(clock.monotonic()):
                        await commit(block)
        except Exception as error:  # noqa: BLE001 - raised below, as itself rather than in a group
            failures.append(error)
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        try:
            yield feed
        except Exception as error:  # noqa: BLE001 - raised below, as itself rather than in a group
            failures.append(error)
        group.cancel_scope.cancel()
    if failures:
        raise failures[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanDelay:
    """A pause before every block but the first, as a person who types would make. Milliseconds."""

    mode: Literal["off", "natural", "custom"] = "off"
    shortest: int = 800
    longest: int = 2500


def human_delay(delay: HumanDelay, place: int, chance: float) -> float:
    """Seconds to wait before the block at `place`; `chance` is between 0 and 1."""
    if delay.mode == "off" or place <= 0:
        return 0.0
    natural = HumanDelay()
    low, high = (natural.shortest, natural.longest) if delay.mode == "natural" else (delay.shortest, delay.longest)
    low, high = max(0, min(low, high)), max(0, low, high)
    return (low + (high - low) * min(max(chance, 0.0), 1.0)) / 1000
