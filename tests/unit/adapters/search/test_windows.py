import numpy as np

from ostiary.adapters.search.entries import entry
from ostiary.adapters.search.ranking import Scored
from ostiary.adapters.search.rows import Row
from ostiary.adapters.search.segments import Segment, segment
from ostiary.adapters.search.windows import WINDOW, windows


def _segment(*texts: str) -> Segment:
    rows = []
    for number, text in enumerate(texts):
        made = entry("", text)
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
                vectors=None,
            )
        )
    return segment(rows, 0)


def _scores(each: Segment, **marks: float) -> list[Scored]:
    total = np.zeros(each.size, dtype=np.float32)
    for place, score in marks.items():
        total[int(place[1:])] = score
    return [Scored(total=total, meaning=np.zeros_like(total))]


LINES = "\n".join(f"Anna: {'word ' * 30}{number}" for number in range(60))


def test_a_window_is_filled_with_neighbours_and_never_longer_than_allowed() -> None:
    each = _segment(LINES)
    (one,) = windows([each], _scores(each, u30=1.0), 6)
    length = int(each.places[one.last, 1] - each.places[one.first, 0])
    assert one.first <= 30 <= one.last
    assert WINDOW - 200 < length <= WINDOW


def test_windows_do_not_overlap_and_are_not_more_than_asked_for() -> None:
    each = _segment(LINES)
    found = windows([each], _scores(each, **{f"u{place}": 1.0 for place in range(0, 60, 3)}), 4)
    units = [unit for one in found for unit in range(one.first, one.last + 1)]
    assert len(found) == 4
    assert len(units) == len(set(units))


def test_a_single_good_line_counts_more_than_many_poor_ones() -> None:
    each = _segment(LINES, "- the answer")
    marks = {f"u{place}": 0.5 for place in range(20)} | {"u60": 1.0}
    assert windows([each], _scores(each, **marks), 1)[0].first == 60


def test_a_window_never_reaches_into_the_next_document() -> None:
    each = _segment("- one", "- two", "- three")
    found = windows([each], _scores(each, u0=0.9, u1=1.0, u2=0.8), 6)
    assert [(one.first, one.last) for one in found] == [(1, 1), (0, 0), (2, 2)]


def test_nothing_that_scored_gives_no_window() -> None:
    each = _segment(LINES)
    assert windows([each], _scores(each), 6) == []
    assert windows([], [], 6) == []


def test_the_last_windows_are_those_that_mean_the_same_whatever_their_words() -> None:
    each = _segment(LINES, LINES)
    words = {f"u{place}": 1.0 for place in range(0, 60, 20)} | {f"u{place}": 0.1 for place in range(60, 120)}
    (score,) = _scores(each, **words)
    score.meaning[90] = 1.0
    found = windows([each], [score], 3, by_meaning=1)
    assert [one.first <= 90 <= one.last for one in found] == [False, False, True]
    assert [one.first <= 90 <= one.last for one in windows([each], [score], 3)] == [False, False, False]
    units = [unit for one in found for unit in range(one.first, one.last + 1)]
    assert len(units) == len(set(units))


def test_meaning_shows_nothing_that_may_not_be_seen() -> None:
    each = _segment(LINES)
    (score,) = _scores(each, u3=1.0)
    score.meaning[40] = 1.0
    (one,) = windows([each], [score], 3, by_meaning=2)
    assert one.first <= 3 <= one.last
