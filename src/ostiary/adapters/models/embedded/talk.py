"""One request to a loaded model: text as it is written, then how it ended and what it cost."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio

from ostiary.adapters.models.embedded.frames import Frame
from ostiary.adapters.models.embedded.process import Child, ChildGone
from ostiary.contracts.errors import ContextOverflow, ModelError, ModelRejected, ModelUnavailable
from ostiary.contracts.model import StopReason, Usage

_REASONS: Mapping[str, StopReason] = {"stop": "stop", "length": "length"}


class Talk:
    """Iterate `text()`; afterwards `reason` and `usage` hold."""

    def __init__(self, child: Child, number: int, *, silence: float, patience: float) -> None:
        self.reason: StopReason = "other"
        self.usage = Usage(cost=0.0)
        self._child = child
        self._number = number
        self._silence = silence
        self._patience = patience
        self._ended = False

    async def text(self) -> AsyncGenerator[str, None]:
        """Raises ModelError; if it is ModelUnavailable the child is gone."""
        while not self._ended:
            frame = await self._next()
            if piece := frame.get("text"):
                yield str(piece)
            elif reason := frame.get("done"):
                self._ended = True
                self.reason = _REASONS.get(reason, "other")
                self.usage = Usage(
                    input=int(frame.get("prompt", 0)),
                    output=int(frame.get("written", 0)),
                    cache_read=int(frame.get("cached", 0)),
                    cost=0.0,
                )
            elif "error" in frame:
                self._ended = True
                raise _error(frame)

    async def leave(self) -> None:
        """Make the model stop writing if it still does; a child that does not stop in time is killed."""
        if self._ended or not self._child.alive:
            return
        with anyio.CancelScope(shield=True):
            try:
                await self._child.send({"op": "stop", "id": self._number})
                with anyio.fail_after(self._patience):
                    while not self._ended:
                        frame = await self._child.receive(self._patience)
                        self._ended = frame.get("id") == self._number and ("done" in frame or "error" in frame)
            except (ChildGone, TimeoutError):
                await self._child.kill()

    async def _next(self) -> Frame:
        while True:
            try:
                frame = await self._child.receive(self._silence)
            except ChildGone as gone:
                self._ended = True
                raise ModelUnavailable(
                    f"The embedded model broke off: {gone}.", hint="Try again; a fresh one is started for the next message."
                ) from None
            if frame.get("id") == self._number:
                return frame


@asynccontextmanager
async def talk(child: Child, number: int, body: Mapping[str, object], *, silence: float, patience: float) -> AsyncIterator[Talk]:
    """Send the request; leaving early stops the model. Raises ModelUnavailable if the child is gone."""
    try:
        await child.send({"op": "chat", "id": number, "body": body})
    except ChildGone as gone:
        raise ModelUnavailable(f"The embedded model broke off: {gone}.", hint="Try again.") from None
    begun = Talk(child, number, silence=silence, patience=patience)
    try:
        yield begun
    finally:
        await begun.leave()


def total(*usages: Usage) -> Usage:
    return Usage(
        input=sum(usage.input for usage in usages),
        output=sum(usage.output for usage in usages),
        cache_read=sum(usage.cache_read for usage in usages),
        cost=0.0,
    )


def _error(frame: Frame) -> ModelError:
    text = str(frame["error"])
    if "context" in str(frame.get("kind", "")) or "exceeds the available context" in text:
        return ContextOverflow("The conversation is too long for the embedded model.")
    return ModelRejected(f"The embedded model refused the request: {text[:200]}")
