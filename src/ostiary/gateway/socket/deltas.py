"""Pieces of answers on their way to screens: the first at once, what follows joined, so that a fast model costs no more."""

from collections.abc import Callable

from ostiary.gateway.protocol.events import ChatDelta, ChatProgress
from ostiary.gateway.socket.narration import continues

Piece = ChatDelta | ChatProgress
Tell = Callable[[str, Piece], None]


class Deltas:
    """`put` tells the first piece of a session at once and keeps what follows within `seconds` for `flush`.

    At most `cap` characters are kept per session; beyond that they are told early."""

    def __init__(self, tell: Tell, *, monotonic: Callable[[], float], seconds: float, cap: int = 16_384) -> None:
        self._tell = tell
        self._monotonic = monotonic
        self._seconds = seconds
        self._cap = cap
        self._last: dict[str, float] = {}
        self._kept: dict[str, list[Piece]] = {}

    @property
    def waits(self) -> bool:
        """Whether `flush` has something to do now or soon."""
        return bool(self._last)

    def put(self, session: str, delta: Piece) -> None:
        if session not in self._last:
            self._last[session] = self._monotonic()
            self._tell(session, delta)
            return
        kept = self._kept.setdefault(session, [])
        if kept and continues(kept[-1], delta):
            earlier = kept[-1]
            # Joined in place: nobody else has seen it yet.
            earlier.text += delta.text
        else:
            kept.append(delta)
        if len(kept[-1].text) > self._cap or len(kept) > 64:
            self.flush_session(session)

    def flush_session(self, session: str) -> None:
        """Before anything else is told of it: order is kept."""
        for delta in self._kept.pop(session, ()):
            self._tell(session, delta)

    def flush(self) -> None:
        """Tell what is due. A session that was quiet for a while is told at once again."""
        now = self._monotonic()
        for session in list(self._last):
            if session in self._kept:
                self.flush_session(session)
                self._last[session] = now
            elif now - self._last[session] >= self._seconds:
                del self._last[session]
