"""An answer as it may be shown while it is written: without what is meant for us, without secrets, and where it could carry
private data out, not before it is whole."""

from collections.abc import Sequence

from ostiary.contracts.content import Label, Message
from ostiary.core.agent.leaks import Known, could_leak, harmless
from ostiary.core.agent.shaping import StreamFilter
from ostiary.core.policy.secrets import Guard
from ostiary.core.routing.reply_tags import TagFilter


class Shown:
    """The answer of one attempt, as much of it as everybody may see. It is noted as it comes and screened when somebody looks,
    which gives the same text however late that is. `tags` tells which message it answers."""

    __slots__ = ("_ends", "_filter", "_noted", "_screen", "_text", "_thinks", "_thought", "_thoughts", "tags")

    def __init__(self, guard: Guard | None, label: Label, messages: Sequence[Message]) -> None:
        self.tags = TagFilter()
        self._filter = StreamFilter()
        self._screen = Screened(guard, label, messages)
        self._thoughts = Screened(guard, label, messages)
        self._noted: list[str] = []
        self._thought: list[str] = []
        self._text = ""
        self._thinks = False
        self._ends = False

    @property
    def text(self) -> str:
        self.look()
        return self._text

    def write(self, piece: str) -> None:
        self._noted.append(piece)
        self._thinks = False

    def think(self, piece: str) -> None:
        self._thought.append(piece)
        self._thinks = True

    def finish(self) -> None:
        """Nothing more of it comes."""
        self._ends, self._thinks = True, False

    def look(self) -> tuple[int, str]:
        """What may be seen beyond what was given before, and the place where it stands."""
        place, seen = len(self._text), ""
        if self._noted:
            piece, self._noted = "".join(self._noted), []
            seen = self._screen.feed(self.tags.feed(self._filter.feed(piece)))
        if self._ends:
            self._ends = False
            seen += self._screen.feed(self.tags.feed(self._filter.finish()) + self.tags.finish()) + self._screen.end()
        self._text += seen
        return place, seen

    def look_at_thoughts(self) -> str:
        """The same of what it thought."""
        seen = ""
        if self._thought:
            piece, self._thought = "".join(self._thought), []
            seen = self._thoughts.feed(piece)
        return seen if self._thinks else seen + self._thoughts.end()


class Screened:
    """One text that is being written. `end` may be called again: then it gives what came since."""

    __slots__ = ("_has_more", "_held", "_holds", "_messages", "_stream")

    def __init__(self, guard: Guard | None, label: Label, messages: Sequence[Message]) -> None:
        self._stream = guard.stream() if guard is not None else None
        self._holds = could_leak(label)
        self._messages = messages
        self._held: list[str] = []
        self._has_more = False

    def feed(self, piece: str) -> str:
        self._has_more = True
        safe = self._stream.feed(piece) if self._stream is not None else piece
        if not self._holds:
            return safe
        self._held.append(safe)
        return ""

    def end(self) -> str:
        if not self._has_more:
            return ""
        self._has_more = False
        rest = self._stream.end() if self._stream is not None else ""
        if not self._holds:
            return rest
        whole, self._held = "".join((*self._held, rest)), []
        return harmless(whole, Known(self._messages)) if whole else ""
