from collections.abc import Sequence

import numpy as np
import pytest

from ostiary.adapters.search import ranking
from ostiary.adapters.search.entries import entry, pack_vectors
from ostiary.adapters.search.ranking import scored
from ostiary.adapters.search.rows import Row
from ostiary.adapters.search.segments import Segment, segment
from ostiary.adapters.search.words import terms


def _segment(texts: Sequence[str], vectors: np.ndarray | None = None) -> Segment:
    rows = []
    for number, text in enumerate(texts):
        made = entry("", text)
        row = None if vectors is None else vectors[number]
        rows.append(
            Row(
                id=number,
                collection="c",
                path=f"{number}.md",
                version=1,
                at=0.0,
                label=None,
                places=made.places,
                sizes=made.sizes,
                terms=made.terms,
                counts=made.counts,
                vectors=None if row is None else pack_vectors([row.astype("<f4").tobytes()], 64),
            )
        )
    return segment(rows, 64 if vectors is not None else 0)


def _ask(*words: str) -> dict[int, float]:
    return {term: 1.0 for word in words for term in terms(word)}


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    each = _segment(["- the cat sat"] * 20 + ["- the barometer"])
    (score,) = scored([each], [each.alive], _ask("cat", "barometer"), None)
    assert int(score.total.argmax()) == 20


def test_a_neighbour_of_the_word_counts_more_than_a_far_line() -> None:
    each = _segment(["- where is the barometer\n- in the hall\n- x\n- y\n- z\n- far away"])
    (score,) = scored([each], [each.alive], _ask("barometer"), None)
    assert score.total[0] > score.total[1] > score.total[5] > 0


def test_what_may_not_be_seen_has_no_part_in_any_number() -> None:
    texts = ["- the red boat", "- the red house", "- a blue boat"]
    hidden = ["- boat boat boat"] * 50
    alone, among = _segment(texts), _segment(texts + hidden)
    sees = np.arange(among.size) < alone.size
    (expected,) = scored([alone], [alone.alive], _ask("red", "boat"), None)
    (found,) = scored([among], [sees], _ask("red", "boat"), None)
    assert np.allclose(found.total[: alone.size], expected.total)
    assert not found.total[alone.size :].any()


def test_two_segments_score_as_one_would() -> None:
    texts = [f"- item {number} of the boat" if number % 3 else f"- the red house {number}" for number in range(30)]
    whole, parts = _segment(texts), [_segment(texts[:7]), _segment(texts[7:])]
    (expected,) = scored([whole], [whole.alive], _ask("red", "boat"), None)
    found = scored(parts, [each.alive for each in parts], _ask("red", "boat"), None)
    assert np.allclose(np.concatenate([each.total for each in found]), expected.total, atol=1e-6)


def test_the_nearest_by_sign_are_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.random.default_rng(7)
    vectors = numbers.normal(size=(600, 64))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    each = _segment(["- words"] * 600, vectors)
    asked = vectors[123] + 0.2 * numbers.normal(size=64) / 8
    (exact,) = scored([each], [each.alive], {}, asked.astype(np.float32))
    monkeypatch.setattr(ranking, "_ALL", 10)
    monkeypatch.setattr(ranking, "_NEAREST", 60)
    (quick,) = scored([each], [each.alive], {}, asked.astype(np.float32))
    assert int(quick.meaning.argmax()) == int(exact.meaning.argmax()) == 123
    assert np.allclose(quick.meaning[quick.meaning > 0], exact.meaning[quick.meaning > 0])


def test_words_alone_and_meaning_alone_give_scores_from_nought_to_one_and_neighbours() -> None:
    vectors = np.eye(64)[:3]
    each = _segment(["- red boat", "- blue boat", "- green house"], vectors)
    for terms_asked, vector in ((_ask("boat"), None), ({}, vectors[1].astype(np.float32))):
        (score,) = scored([each], [each.alive], terms_asked, vector)
        assert 0 <= float(score.total.min()) <= float(score.total.max()) <= 1.5
        assert score.total.any()
