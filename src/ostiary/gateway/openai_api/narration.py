"""What a stream may still say. The wire cannot take a word back, so each new attempt is held against what was sent."""

from collections.abc import Iterator
from typing import Literal

from ostiary.contracts.events import Delta
from ostiary.contracts.records import dataclass

SEPARATOR = "\n\n"


@dataclass(frozen=True, slots=True)
class Say:
    text: str
    kind: Literal["text", "thinking", "restart"] = "text"


class Narration:
    """Turns deltas into text to send, each word once.

    A later attempt at a step first repeats what was said: as long as it agrees nothing is sent, beyond that the rest is.
    Where it disagrees the answer restarts: a marked separator, then the new text from its beginning. After a gap (this
    watcher was too slow) nothing more is said of the step; `ended` supplies what is missing.
    """

    def __init__(self) -> None:
        self._at = (-1, 0)
        self._earlier = ""
        self._pieces: list[str] = []
        self._sent = 0
        self._heard = 0
        self._replay: str | None = None
        self._lost = False

    def hear(self, delta: Delta) -> Iterator[Say]:
        """What to send because of `delta`."""
        at = (delta.step, delta.attempt)
        if at < self._at:
            return
        if at > self._at:
            self._begin(delta)
        if delta.stream == "thinking":
            yield Say(delta.text, "thinking")
        elif delta.stream == "assistant" and delta.text:
            if delta.offset != self._heard:
                self._lost = True
            if not self._lost:
                self._heard += len(delta.text)
                yield from self._say(delta.text) if self._replay is None else self._compare(delta.text)

    def ended(self, reply: str) -> Iterator[Say]:
        """`reply` is the answer as the engine shaped it: say of it what was not said."""
        step = "".join(self._pieces)
        if not reply or (self._earlier + step).rstrip().endswith(reply.strip()):
            return
        if step and reply.startswith(step):
            yield Say(reply[len(step) :])
        elif step:
            yield Say(SEPARATOR, "restart")
            yield Say(reply)
        else:
            yield Say(SEPARATOR + reply if self._earlier else reply)

    def _begin(self, delta: Delta) -> None:
        if delta.step > self._at[0]:
            self._earlier += "".join(self._pieces)
            self._pieces, self._sent, self._replay = [], 0, None
        elif self._sent:
            self._pieces = ["".join(self._pieces)]
            self._replay = ""
        self._at, self._heard, self._lost = (delta.step, delta.attempt), 0, False

    def _compare(self, text: str) -> Iterator[Say]:
        said = self._pieces[0]
        self._replay = replay = (self._replay or "") + text
        if replay.startswith(said):
            self._replay = None
            yield from self._say(replay[len(said) :])
        elif not said.startswith(replay):
            self._replay, self._pieces, self._sent = None, [], 0
            yield Say(SEPARATOR, "restart")
            self._pieces.append(replay)
            self._sent = len(replay)
            yield Say(replay)

    def _say(self, text: str) -> Iterator[Say]:
        if not text:
            return
        begins = self._earlier and not self._sent
        self._pieces.append(text)
        self._sent += len(text)
        yield Say(SEPARATOR + text if begins else text)
