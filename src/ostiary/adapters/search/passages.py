"""From windows to what people and models read: whole lines, a snippet, and why."""

from collections.abc import Mapping, Sequence

import apsw
import numpy as np

from ostiary.adapters.search import database
from ostiary.adapters.search.entries import Array
from ostiary.adapters.search.questions import Question
from ostiary.adapters.search.ranking import MEASURED, Scored, Weights, scored
from ostiary.adapters.search.segments import Segment
from ostiary.adapters.search.windows import WINDOW, Window, windows
from ostiary.adapters.store.codec import decode_label
from ostiary.contracts.search import Passage

SNIPPET = 700


def passages(
    connection: apsw.Connection,
    segments: Sequence[Segment],
    visible: Sequence[Array],
    asked: Question,
    vector: bytes | None,
    limit: int,
    weights: Weights = MEASURED,
) -> tuple[Passage, ...]:
    direction = None if vector is None else np.frombuffer(vector, dtype="<f4")
    scores = scored(segments, visible, asked.terms, direction, weights)
    # Whoever names nothing has forgotten the words: a third of the results does without them.
    by_meaning = 0 if asked.names or direction is None else limit // 3
    found = windows(segments, scores, limit, weights, by_meaning=by_meaning)
    said = _said(segments, found, asked.words)
    made = [
        _passage(connection, segments[one.segment], scores[one.segment], one, words, weights)
        for one, words in zip(found, said, strict=True)
    ]
    return tuple(passage for passage in made if passage is not None)


def _passage(
    connection: apsw.Connection, each: Segment, score: Scored, window: Window, words: list[str], weights: Weights
) -> Passage | None:
    """None if the document has gone since the windows were chosen."""
    known = each.documents[each.document[window.first]]
    begin, end = int(each.places[window.first, 0]), int(each.places[window.last, 1])
    text = database.text(connection, known.id, begin, end)[:WINDOW]
    if not text.strip():
        return None
    return Passage(
        collection=known.collection,
        path=known.path,
        version=known.version,
        start=int(each.places[window.first, 2]),
        end=int(each.places[window.last, 3]),
        score=round(min(1.0, window.score / (1.0 + 2.0 * weights.smoothing)), 4),
        text=text,
        snippet=_snippet(text, each, window, begin),
        why=_why(words, float(score.meaning[window.best])),
        at=known.at,
        label=decode_label(known.label),
    )


def _snippet(text: str, each: Segment, window: Window, begin: int) -> str:
    """The best unit and as many neighbours as fit, the following before the preceding."""
    first = last = window.best
    while True:
        if last < window.last and each.places[last + 1, 1] - each.places[first, 0] <= SNIPPET:
            last += 1
        elif first > window.first and each.places[last, 1] - each.places[first - 1, 0] <= SNIPPET:
            first -= 1
        else:
            break
    return text[int(each.places[first, 0]) - begin : int(each.places[last, 1]) - begin][:SNIPPET]


def _said(segments: Sequence[Segment], found: Sequence[Window], asked: Mapping[int, str]) -> list[list[str]]:
    """Which of the question's words each window holds."""
    said: list[list[str]] = [[] for _ in found]
    for number, each in enumerate(segments):
        here = [place for place, window in enumerate(found) if window.segment == number]
        firsts = np.array([found[place].first for place in here], dtype=np.int32)
        lasts = np.array([found[place].last for place in here], dtype=np.int32)
        for term, word in asked.items() if here else ():
            units, _ = each.postings(term)
            holds = np.searchsorted(units, firsts) < np.searchsorted(units, lasts, side="right")
            for place in np.flatnonzero(holds):
                said[here[place]].append(word)
    return said


def _why(words: list[str], meaning: float) -> tuple[str, ...]:
    reasons = [f"words: {', '.join(words)}"] if words else []
    if meaning >= 0.5:
        reasons.append(f"meaning: {meaning:.2f} of the closest line")
    return tuple(reasons or ["its document is about it"])
