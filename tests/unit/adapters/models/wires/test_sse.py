from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.adapters.models.wires.sse import MAX_LINE, Lines, ServerSentEvents
from ostiary.contracts.errors import ModelUnavailable

STREAM = b': hello\r\nevent: x\r\ndata: {"a":1}\r\n\r\ndata:{"b":2}\n\nid: 7\nretry: 10\ndata: one\ndata: two\n\ndata: [DONE]\n\n'
EVENTS = [b'{"a":1}', b'{"b":2}', b"one\ntwo", b"[DONE]"]


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_events_are_the_same_however_the_bytes_are_cut(cuts: list[int]) -> None:
    splitter = ServerSentEvents("x")
    places = [0, *sorted(cuts), len(STREAM)]
    events = [event for start, end in pairwise(places) for event in splitter.feed(STREAM[start:end])]
    assert events + splitter.end() == EVENTS


def test_an_event_not_closed_by_an_empty_line_counts_at_the_end() -> None:
    splitter = ServerSentEvents("x")
    assert splitter.feed(b"data: last") == []
    assert splitter.end() == [b"last"]


@pytest.mark.parametrize(
    ("before", "last"),
    [
        (b"", b"data: " + b"x" * (MAX_LINE + 1)),
        (b"data: " + b"x" * (MAX_LINE - 9), b"y" * 99 + b"\n"),
        (b"", b"data: a\n" * MAX_LINE),
    ],
)
def test_an_event_without_end_is_refused(before: bytes, last: bytes) -> None:
    splitter = ServerSentEvents("x")
    splitter.feed(before)
    with pytest.raises(ModelUnavailable, match="more than"):
        splitter.feed(last)


def test_lines_come_whole() -> None:
    lines = Lines("x")
    assert lines.feed(b'{"a"') == []
    assert lines.feed(b':1}\n{"b":2}') == [b'{"a":1}']
    assert lines.end() == [b'{"b":2}']
