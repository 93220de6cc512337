import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.core.agent.tokens import estimate_tokens

PROSE = (
    "The store keeps the inbox, the journal of each turn and the outbox. A session is a fold of its journal, so nothing "
    "that was accepted can be lost when the process is killed between two steps of a turn."
)
CODE = (
    "def total(items: list[int]) -> int:\n    result = 0\n    for item in items:\n        result += item * 2\n    return result\n"
)


@pytest.mark.parametrize(("text", "counted"), [(PROSE, 45), (CODE, 34)])
def test_an_estimate_of_prose_or_code_is_within_a_third_of_a_real_tokenizers_count(text: str, counted: int) -> None:
    assert abs(estimate_tokens(text) - counted) <= counted / 3


def test_no_text_has_no_tokens_and_any_text_has_some() -> None:
    assert (estimate_tokens(""), estimate_tokens(" "), estimate_tokens("\ud800")) == (0, 1, 1)


@given(st.text(), st.text())
def test_more_text_never_means_fewer_tokens(text: str, more: str) -> None:
    assert estimate_tokens(text + more) >= estimate_tokens(text)
