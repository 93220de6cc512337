"""Which message a reply answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.core.routing.reply_tags import ReplyToMode, TagFilter, Tagged, read_reply_tag, reply_targets, response_prefix


@pytest.mark.parametrize(
    ("text", "tagged"),
    [
        ("[[reply_to_current]] Hello", Tagged(text="Hello", reply_to="m1")),
        ("[[ reply_to_current ]]\nHello", Tagged(text="Hello", reply_to="m1")),
        ("[[reply_to:42]] Hello", Tagged(text="Hello", reply_to="42")),
        ("[[ reply_to: a/b.c ]] Hello", Tagged(text="Hello", reply_to="a/b.c")),
        ("Hello [[REPLY_TO_CURRENT]]", Tagged(text="Hello", reply_to="m1")),
        ("[[reply_to:1]][[reply_to:2]] Hello", Tagged(text="Hello", reply_to="1")),
        ("[[wiki link]] Hello", Tagged(text="[[wiki link]] Hello")),
        ("[[reply_to:]] Hello", Tagged(text="[[reply_to:]] Hello")),
        ("Write `[[reply_to_current]]` for that", Tagged(text="Write `[[reply_to_current]]` for that")),
        ("```\n[[reply_to:1]]\n```", Tagged(text="```\n[[reply_to:1]]\n```")),
    ],
)
def test_tags_are_read_and_taken_out(text: str, tagged: Tagged) -> None:
    assert read_reply_tag(text, "m1") == tagged


@given(st.text())
def test_text_without_tags_is_left_as_it_is(text: str) -> None:
    assert read_reply_tag(text.replace("[", "("), "m1") == Tagged(text=text.replace("[", "("))


@pytest.mark.parametrize(
    ("mode", "tagged", "targets"),
    [
        ("off", "", ["", "", ""]),
        ("first", "", ["m1", "", ""]),
        ("all", "", ["m1", "m1", "m1"]),
        ("off", "9", ["9", "", ""]),
        ("all", "9", ["9", "9", "9"]),
    ],
)
def test_a_tag_counts_before_the_habit(mode: ReplyToMode, tagged: str, targets: list[str]) -> None:
    assert reply_targets(mode, tagged, "m1", 3) == targets


def test_the_most_specific_prefix_counts_and_an_empty_one_means_none() -> None:
    assert response_prefix((None, "[work]", "[all]")) == "[work] "
    assert response_prefix(("", "[work]", "[all]")) == ""
    assert response_prefix((None, None, "[all]"), first=False) == ""
    assert response_prefix((None, None)) == ""


@given(
    st.lists(
        st.sampled_from(
            ["[", "[[", "reply_to", "_current", ":", " ", "42", "]]", "]", "`", "```", "\n", "word", "[[reply_to_current]]"]
        ),
        max_size=14,
    ),
    st.data(),
)
def test_what_a_stream_shows_does_not_depend_on_how_it_was_cut(words: list[str], data: st.DataObject) -> None:
    text = "".join(words)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    places = list(zip([0, *cuts], [*cuts, len(text)], strict=True))
    whole, streamed = TagFilter(), TagFilter()
    at_once = whole.feed(text) + whole.finish()
    bit_by_bit = "".join(streamed.feed(text[start:end]) for start, end in places) + streamed.finish()
    assert (bit_by_bit, streamed.found, streamed.first) == (at_once, whole.found, whole.first)


@pytest.mark.parametrize(
    ("deltas", "shown"),
    [
        (("[", "[reply_to_cur", "rent]]", " ", "\n", "Hi"), ["", "", "", "", "", "Hi"]),
        (("Hi", " there"), ["Hi", " there"]),
        (("see [", "1] and [[wiki", "]]"), ["see ", "[1] and [[wiki", "]]"]),
        (("`[[reply_to_", "current]]`", " Hi"), ["`[[reply_to_", "current]]", "` Hi"]),
    ],
)
def test_no_half_of_a_tag_is_shown_and_nothing_else_is_held_back(deltas: tuple[str, ...], shown: list[str]) -> None:
    tags = TagFilter()
    assert [tags.feed(delta) for delta in deltas] == shown
