from collections.abc import Sequence

import numpy as np

from ostiary.adapters.search.entries import entry, pack_vectors
from ostiary.adapters.search.rows import Row
from ostiary.adapters.search.segments import Segment, added, merged, segment, without
from ostiary.adapters.search.words import terms


def _row(number: int, text: str, *, is_embedded: bool = True) -> Row:
    made = entry(f"{number}.md", text)
    vectors = [np.full(64, 1 / 8, dtype="<f4").tobytes() for _ in made.texts]
    return Row(
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
        vectors=pack_vectors(vectors, 64) if is_embedded else None,
    )


def _holders(segments: Sequence[Segment], word: str) -> list[int]:
    (term,) = terms(word)
    return [each.documents[each.document[unit]].id for each in segments for unit in each.postings(term)[0] if each.alive[unit]]


def test_postings_name_the_units_that_hold_a_word() -> None:
    made = segment([_row(1, "- apples\n- pears\n- apples and pears"), _row(2, "only pears")], 64)
    (term,) = terms("apple")
    assert [int(made.places[unit, 2]) for unit in made.postings(term)[0]] == [1, 3]
    assert _holders([made], "pears") == [1, 1, 2]
    assert _holders([made], "plums") == []


def test_merging_gives_what_one_segment_of_the_living_would_have_been() -> None:
    rows = [_row(number, f"shared word{number}\n- item{number}") for number in range(6)]
    (first,) = without([segment(rows[:3], 64)], frozenset([1]))
    both, whole = merged(first, segment(rows[3:], 64)), segment([rows[0], rows[2], *rows[3:]], 64)
    assert both.documents == whole.documents
    for name in ("bounds", "document", "places", "lengths", "vocabulary", "starts", "units", "counts", "vectors", "bits"):
        assert np.array_equal(getattr(both, name), getattr(whole, name)), name


def test_a_document_that_is_gone_has_no_living_unit() -> None:
    left = without([segment([_row(1, "apples"), _row(2, "apples")], 64)], frozenset([1]))
    assert _holders(left, "apples") == [2]


def test_many_small_additions_leave_few_segments() -> None:
    segments: tuple[Segment, ...] = ()
    for number in range(400):
        segments = added(segments, segment([_row(number, "apples\n- a\n- b")], 64))
    assert len(segments) <= 4
    assert sorted(_holders(segments, "apples")) == list(range(400))


def test_a_document_without_vectors_has_no_length() -> None:
    made = segment([_row(1, "apples", is_embedded=False), _row(2, "pears")], 64)
    assert list(made.norms > 0) == [False, True]
