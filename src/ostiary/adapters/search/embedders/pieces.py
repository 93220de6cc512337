"""Words cut into the pieces of a fixed vocabulary, as byte-pair encoding does it.

A piece's place in the vocabulary is also its rank: of two possible joins the one that gives the earlier piece is made first.
"""

import re
from collections.abc import Callable, Mapping
from itertools import chain

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SPACE = "▁"
_LONGEST = 48
_KEPT = 60_000


class _Known(dict[str, tuple[int, ...]]):
    """The pieces of each word that was seen, up to a limit."""

    def __init__(self, cut: Callable[[str], tuple[int, ...]]) -> None:
        self._cut = cut

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= _KEPT:
            self.clear()
        pieces = self[word] = self._cut(word)
        return pieces


class Pieces:
    """Not for two threads at once. Remembers the pieces of the words it has seen, up to a limit."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._ranks = vocabulary
        self._known = _Known(self._cut)

    def of(self, text: str) -> list[int]:
        """The pieces of all words in order; signs between words count for nothing."""
        return list(chain.from_iterable(map(self._known.__getitem__, _WORD.findall(text))))

    def _cut(self, word: str) -> tuple[int, ...]:
        cut: list[int] = []
        for start in range(0, len(word), _LONGEST):
            cut.extend(self._joined(([_SPACE] if start == 0 else []) + list(word[start : start + _LONGEST])))
        return tuple(cut)

    def _joined(self, parts: list[str]) -> list[int]:
        ranks = self._ranks
        while len(parts) > 1:
            rank, place = min((ranks.get(parts[i] + parts[i + 1], len(ranks)), i) for i in range(len(parts) - 1))
            if rank == len(ranks):
                break
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        return [piece for part in parts for piece in self._piece(part)]

    def _piece(self, part: str) -> list[int]:
        rank = self._ranks.get(part)
        if rank is not None:
            return [rank]
        # A character that the vocabulary lacks is spelled as its bytes.
        return [self._ranks[f"<0x{byte:02X}>"] for byte in part.encode("utf-8", "replace")]
