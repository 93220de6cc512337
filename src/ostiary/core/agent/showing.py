"""An answer as it may be shown while it is written: without what is meant for us, without secrets, and where it could carry
private data out, not before it is whole."""

from collections.abc import Sequence

from ostiary.contracts.content import Label, Message
from ostiary.core.agent.leaks import Known, could_leak, harmless
from ostiary.core.agent.shaping import StreamFilter
from ostiary.core.policy.secrets import Guard
from ostiary.core.routing.reply_tags import TagFilter


class Shown:
    """Pieces of one attempt go in; what comes out may be seen by everybody. `tags` tells which message it answers."""

    __slots__ = ("_filter", "_text", "_thoughts", "tags")

    def __init__(self, guard: Guard | None, label: Label, messages: Sequence[Message]) -> None:
        self._filter = StreamFilter()
        self.tags = TagFilter()
        self._text = Screened(guard, label, messages)
        self._thoughts = Screened(guard, label, messages)

    def feed(self, piece: str) -> str:
        return self._text.feed(self.tags.feed(self._filter.feed(piece)))

    def finish(self) -> str:
        return self._text.feed(self.tags.feed(self._filter.finish()) + self.tags.finish()) + self._text.end()

    def think(self, piece: str) -> str:
        return self._thoughts.feed(piece)

    def thought(self) -> str:
        """The rest of what it thought."""
        return self._thoughts.end()


class Screened:
    """One text that is being written. `end` may be called again: then it gives what came since."""

    __slots__ = ("_held", "_holds", "_messages", "_stream")

    def __init__(self, guard: Guard | None, label: Label, messages: Sequence[Message]) -> None:
        self._stream = guard.stream() if guard is not None else None
        self._holds = could_leak(label)
        self._messages = messages
        self._held: list[str] = []

    def feed(self, piece: str) -> str:
        safe = self._stream.feed(piece) if self._stream is not None else piece
        if not self._holds:
            return safe
        self._held.append(safe)
        return ""

    def end(self) -> str:
        rest = self._stream.end() if self._stream is not None else ""
        if not self._holds:
            return rest
        whole, self._held = "".join((*self._held, rest)), []
        return harmless(whole, Known(self._messages)) if whole else ""
