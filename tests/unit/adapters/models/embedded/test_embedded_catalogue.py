import pytest

from ostiary.adapters.models.embedded.catalogue import CATALOGUE, Weights, facts, find
from ostiary.contracts.errors import ModelMisconfigured


@pytest.mark.parametrize("weights", CATALOGUE, ids=lambda each: each.model)
def test_the_pieces_of_a_model_add_up_to_its_file(weights: Weights) -> None:
    assert sum(piece.size for piece in weights.pieces) == weights.size
    assert {len(piece.sha256) for piece in weights.pieces} == {64}


def test_facts_name_the_window_that_is_really_used() -> None:
    assert facts("qwen2.5-coder-0.5b").context_window == find("qwen2.5-coder-0.5b").context


def test_an_unknown_model_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ModelMisconfigured) as refused:
        find("gpt-9")
    assert "embedded/qwen2.5-coder-0.5b" in refused.value.hint
