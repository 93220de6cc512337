"""A cut never falls inside what people see as one character."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.contracts.graphemes import boundary


@pytest.mark.parametrize(
    "cluster",
    [
        "e\u0301",
        "👍🏽",
        "👨\u200d👩\u200d👧",
        "🇨🇭",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "❤\ufe0f",
        "\u1112\u1161\u11ab",
        "\r\n",
        "\ud83d\ude00",
    ],
)
def test_a_cluster_stays_whole_wherever_it_would_be_cut(cluster: str) -> None:
    text = f"ab{cluster}cd"
    cuts = {boundary(text, at) for at in range(2, 3 + len(cluster))}
    assert cuts <= {2, 2 + len(cluster)}


def test_flags_are_cut_between_pairs_of_letters() -> None:
    text = "🇨🇭🇩🇪🇫🇷"
    assert [boundary(text, at) for at in range(1, 6)] == [0, 2, 2, 4, 4]


def test_an_endless_cluster_is_cut_rather_than_kept() -> None:
    text = "a" + "\u0301" * 500
    assert boundary(text, 300) == 300


@given(st.text(), st.integers(-5, 200))
def test_the_place_is_never_after_the_one_asked_for(text: str, at: int) -> None:
    assert 0 <= boundary(text, at) <= max(0, min(at, len(text)))


@given(st.text(alphabet=st.characters(max_codepoint=0x2FF, exclude_characters="\r\n")), st.integers(0, 50))
def test_plain_letters_may_be_cut_anywhere(text: str, at: int) -> None:
    assert boundary(text, at) == min(at, len(text))
