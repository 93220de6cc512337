from hypothesis import given
from hypothesis import strategies as st

from ostiary.gateway.openai_api.stopping import StopAt, before_stop

LETTERS = st.text(alphabet="ab\n", max_size=12)


@given(st.lists(LETTERS, max_size=8), st.lists(st.text(alphabet="ab\n", min_size=1, max_size=4), max_size=3))
def test_the_pieces_a_text_comes_in_make_no_difference(pieces: list[str], stops: list[str]) -> None:
    text = "".join(pieces)
    found = [(text.find(stop) + len(stop), text.find(stop)) for stop in stops if stop in text]
    at = StopAt(stops)
    told = "".join(at.feed(piece) for piece in pieces) + at.rest()
    assert told == before_stop(text, stops) == text[: min(found, default=(0, len(text)))[1]]


def test_the_stop_that_is_complete_first_ends_the_answer() -> None:
    assert before_stop("abab", ["abab", "b"]) == "a"


def test_what_cannot_become_a_stop_is_not_held_back() -> None:
    at = StopAt(["STOP"])
    assert [at.feed("go on S"), at.feed("o"), at.feed(" and STO"), at.feed("P here"), at.rest()] == [
        "go on ",
        "So",
        " and ",
        "",
        "",
    ]
