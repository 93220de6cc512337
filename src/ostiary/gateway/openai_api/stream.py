"""A turn as server-sent events: deltas as they come, everything that is ready at once in one write."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

import anyio

from ostiary.contracts.content import ToolCall
from ostiary.contracts.engine import Outcome
from ostiary.contracts.events import (
    ApprovalAnswered,
    ApprovalAsked,
    Delta,
    Recorded,
    Shown,
    Steered,
    ToolIntended,
    TurnEnded,
    TurnStarted,
    TurnSuspended,
)
from ostiary.gateway.asgi import Send
from ostiary.gateway.errors import ApiError, from_outcome
from ostiary.gateway.openai_api.begin import Begun
from ostiary.gateway.openai_api.narration import Narration, Say
from ostiary.gateway.openai_api.stopping import StopAt

_START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"cache-control", b"no-store"),
        (b"x-accel-buffering", b"no"),
        (b"x-content-type-options", b"nosniff"),
    ],
}

_KEEP_ALIVE = b": keep-alive\n\n"

Calls = Sequence[tuple[str, ToolCall]]
Question = Callable[[str], object]
"""What waits for a person under an id, as plain data for a screen; None if it waits no more."""


class Voice(Protocol):
    """How one interface words an answer. Each method gives the bytes of its events; none if it has no word for it."""

    def opening(self) -> bytes: ...

    def text(self, text: str) -> bytes: ...

    def thinking(self, text: str) -> bytes: ...

    def tool(self, name: str) -> bytes:
        """A tool of ours begins."""
        ...

    def asked(self, question: object) -> bytes:
        """The turn waits for a person."""
        ...

    def settled(self, approval: str, answer: str) -> bytes:
        """It waits no more."""
        ...

    def restarted(self) -> bytes:
        """What was said so far is void."""
        ...

    def ending(self, outcome: Outcome, calls: Calls) -> bytes: ...

    def failing(self, error: ApiError) -> bytes: ...


class Pipe:
    """Bytes on their way to the client. Writing never waits; `pump` sends all there is at once, adjoining text as one chunk.

    The status goes out with the first bytes, so a turn that fails before it says anything can still answer with an error.
    """

    def __init__(self, send: Send, keep_alive: float, text_chunk: Callable[[str], bytes]) -> None:
        self._send = send
        self._keep_alive = keep_alive
        self._text_chunk = text_chunk
        self._ready: list[bytes] = []
        self._text: list[str] = []
        self._wake = anyio.Event()
        self._closed = False
        self.started = False
        self.drained = anyio.Event()

    def write(self, make: Callable[[], bytes]) -> None:
        """`make` is called after the text before it was worded: events may be numbered."""
        self._join_text()
        self._ready.append(make())
        self._wake.set()

    def write_text(self, text: str) -> None:
        self._text.append(text)
        self._wake.set()

    def close(self) -> None:
        self._closed = True
        self._wake.set()

    @property
    def is_untouched(self) -> bool:
        return not self.started and not self._ready and not self._text

    def _join_text(self) -> None:
        if self._text:
            self._ready.append(self._text_chunk("".join(self._text)))
            self._text.clear()

    async def pump(self) -> None:
        """Until closed and empty. A comment goes out when nothing else did for a while."""
        while True:
            if not self._ready and not self._text and not self._closed:
                self._wake = anyio.Event()
                with anyio.move_on_after(self._keep_alive):
                    await self._wake.wait()
            if self._closed and self.is_untouched:
                break
            if not self.started:
                self.started = True
                await self._send(_START)
            self._join_text()
            data = b"".join(self._ready) if self._ready or self._closed else _KEEP_ALIVE
            self._ready.clear()
            closing = self._closed
            await self._send({"type": "http.response.body", "body": data, "more_body": not closing})
            if closing:
                break
        self.drained.set()


class Narrator:
    """Writes one turn's answer into the pipe as it happens, then what the outcome adds."""

    def __init__(
        self,
        pipe: Pipe,
        voice: Voice,
        *,
        shows_detail: bool,
        stops: Sequence[str] = (),
        question: Question = lambda approval: None,
    ) -> None:
        self._question = question
        self._pipe = pipe
        self._voice = voice
        self._shows_detail = shows_detail
        self._stop = StopAt(stops)
        self._narration = Narration()
        self._opened = False
        self.finished = anyio.Event()

    async def follow(self, shown: AsyncIterator[Shown], begun: Begun) -> None:
        """Until the turn that took the item ended or waits for the client."""
        mine = ""
        async for event in shown:
            if isinstance(event, Delta):
                if begun.resumes or event.turn == mine:
                    self._say(self._narration.hear(event))
                continue
            mine = event.turn if _takes(event, begun.item) else mine
            if (begun.resumes or event.turn == mine) and self._note(event):
                break
        self.finished.set()

    def end(self, outcome: Outcome, calls: Calls) -> None:
        """Say what is left of the reply, why it ended, and that it is over."""
        if outcome.status in ("failed", "timeout"):
            self.fail(from_outcome(outcome))
            return
        self._say(self._narration.ended(outcome.text))
        self._open()
        self._text(self._stop.rest())
        self._pipe.write(lambda: self._voice.ending(outcome, calls))

    def fail(self, error: ApiError) -> None:
        """Raises `error` while the status can still tell it; afterwards it goes into the stream."""
        if self._pipe.is_untouched:
            raise error
        self._pipe.write(lambda: self._voice.failing(error))

    def _note(self, event: Recorded) -> bool:
        match event.event:
            case ToolIntended(name=name) if self._shows_detail:
                self._open()
                self._pipe.write(lambda: self._voice.tool(name))
            case ApprovalAsked(approval=approval):
                self._ask(approval)
            case ApprovalAnswered(approval=approval, answer=answer) if self._shows_detail:
                self._open()
                self._pipe.write(partial(self._voice.settled, approval, answer))
            case TurnEnded():
                return True
            case TurnSuspended(waiting_for="client_tool"):
                return True
        return False

    def _ask(self, approval: str) -> None:
        """A screen is told what there is to answer; for others a comment, which no client shows, keeps the line open."""
        question = self._question(approval) if self._shows_detail else None
        if question is None:
            self._pipe.write(lambda: f": waiting for a person, {approval}\n\n".encode())
            return
        self._open()
        self._pipe.write(lambda: self._voice.asked(question))

    def _open(self) -> None:
        if not self._opened:
            self._opened = True
            self._pipe.write(self._voice.opening)

    def _say(self, sayings: Iterable[Say]) -> None:
        for say in sayings:
            if say.kind == "thinking" and not self._shows_detail:
                continue
            self._open()
            match say.kind:
                case "text":
                    self._text(self._stop.feed(say.text))
                case "thinking":
                    self._pipe.write(partial(self._voice.thinking, say.text))
                case "restart":
                    self._stop.restart()
                    self._pipe.write(self._voice.restarted)

    def _text(self, text: str) -> None:
        if text:
            self._pipe.write_text(text)


def _takes(event: Recorded, item: int) -> bool:
    return isinstance(event.event, TurnStarted | Steered) and any(each.item == item for each in event.event.inputs)
