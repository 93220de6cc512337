"""A question as weighted terms: the words it is about, and words related to them that the index knows."""

import re
from collections.abc import Sequence

import numpy as np

from ostiary.adapters.search.segments import Segment
from ostiary.adapters.search.thesaurus import related
from ostiary.adapters.search.words import asked
from ostiary.contracts.records import dataclass

_MOST_WORDS = 48
_MOST_RELATED = 32
_RELATED = 0.8
# A capital letter or a digit that does not begin the question; "I" names nobody that could be looked for.
_NAME = re.compile(r"\s\W*[A-ZÀ-ÖØ-Þ0-9][^\W_]")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """`words` maps a term to how people wrote it; `terms` maps these and related ones to how much they count. `names`: it
    names somebody or something, as far as writing shows that."""

    words: dict[int, str]
    terms: dict[int, float]
    names: bool


def question(text: str, segments: Sequence[Segment]) -> Question:
    """A very long text is asked by its rarest words, so that it costs no more than a long question."""
    words = asked(text)
    if len(words) > _MOST_WORDS:
        often = {term: sum(len(each.postings(term)[0]) for each in segments) for term in words}
        kept = sorted((term for term in words if often[term]), key=lambda term: often[term])[:_MOST_WORDS]
        words = {term: words[term] for term in kept}
    kin: dict[int, float] = {}
    for term in words:
        for other, weight in related(term).items():
            if other not in words:
                kin[other] = max(kin.get(other, 0.0), weight)
    known = _known(kin, segments)
    best = sorted(known, key=lambda term: (-kin[term], term))[:_MOST_RELATED]
    terms = dict.fromkeys(words, 1.0) | {term: _RELATED * kin[term] for term in best}
    return Question(words=words, terms=terms, names=_NAME.search(text) is not None)


def _known(terms: dict[int, float], segments: Sequence[Segment]) -> list[int]:
    wanted = np.fromiter(terms, dtype=np.uint32)
    found = np.zeros(len(wanted), dtype=bool)
    for each in segments:
        places = np.searchsorted(each.vocabulary, wanted)
        inside = places < len(each.vocabulary)
        found[inside] |= each.vocabulary[places[inside]] == wanted[inside]
    return [int(term) for term in wanted[found]]
