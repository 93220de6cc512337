from ostiary.gateway.protocol.events import ChatDelta
from ostiary.gateway.socket.deltas import Deltas


class Screen:
    def __init__(self) -> None:
        self.now = 0.0
        self.told: list[tuple[str, int, str]] = []
        self.deltas = Deltas(self._tell, monotonic=lambda: self.now, seconds=0.05, cap=50)

    def put(self, text: str, offset: int, session: str = "s", attempt: int = 1) -> None:
        delta = ChatDelta(key=session, turn="t", step=1, attempt=attempt, offset=offset, text=text, stream="assistant")
        self.deltas.put(session, delta)

    def _tell(self, session: str, delta: ChatDelta) -> None:
        self.told.append((session, delta.offset, delta.text))


def test_the_first_piece_is_told_at_once_and_the_next_are_joined() -> None:
    screen = Screen()
    screen.put("He", 0)
    screen.put("ll", 2)
    screen.put("o", 4)
    assert screen.told == [("s", 0, "He")]
    screen.now = 0.05
    screen.deltas.flush()
    assert screen.told[1:] == [("s", 2, "llo")]


def test_sessions_do_not_wait_for_each_other() -> None:
    screen = Screen()
    screen.put("a", 0, "one")
    screen.put("b", 0, "two")
    assert screen.told == [("one", 0, "a"), ("two", 0, "b")]


def test_a_session_that_was_quiet_is_told_at_once_again() -> None:
    screen = Screen()
    screen.put("a", 0)
    screen.now = 0.06
    screen.deltas.flush()
    assert not screen.deltas.waits
    screen.put("b", 1)
    assert screen.told == [("s", 0, "a"), ("s", 1, "b")]


def test_a_new_attempt_is_not_joined_with_the_old_one() -> None:
    screen = Screen()
    screen.put("a", 0)
    screen.put("b", 1)
    screen.put("x", 0, attempt=2)
    screen.deltas.flush()
    assert screen.told == [("s", 0, "a"), ("s", 1, "b"), ("s", 0, "x")]


def test_what_is_kept_is_bounded() -> None:
    screen = Screen()
    screen.put("a", 0)
    for offset in range(1, 200):
        screen.put("b", offset)
    assert len(screen.told) > 3
    assert "".join(text for _, _, text in screen.told).startswith("abbb")


def test_what_is_kept_of_a_session_can_be_told_before_something_else() -> None:
    screen = Screen()
    screen.put("a", 0)
    screen.put("b", 1)
    screen.deltas.flush_session("s")
    assert screen.told == [("s", 0, "a"), ("s", 1, "b")]
