import pytest

from ostiary.adapters.search.thesaurus import related
from ostiary.adapters.search.words import terms


def _term(word: str) -> int:
    (number,) = terms(word)
    return number


@pytest.mark.parametrize(
    ("asked", "written"), [("married", "wedding"), ("kid", "toddler"), ("vehicle", "car"), ("camped", "tent"), ("wager", "bet")]
)
def test_the_tables_fit_the_terms_of_the_index(asked: str, written: str) -> None:
    assert _term(written) in related(_term(asked))


def test_weights_are_shares() -> None:
    assert all(0.0 < weight <= 1.0 for weight in related(_term("animal")).values())


def test_a_word_that_is_not_known_has_no_relatives() -> None:
    assert related(_term("zyxwvut")) == {}
    assert related(2**32 - 1) == {}
