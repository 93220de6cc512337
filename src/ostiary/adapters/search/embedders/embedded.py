"""Vectors made in the process itself, offline: one learned vector per word piece, averaged over a text.

The weights are those of WordLlama (l2_supercat_256, MIT licence, see weights/LICENSE), kept as four bits per number, two
numbers in a byte, with a scale for each piece: half the size of bytes, and as much is found.
"""

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel

from ostiary.adapters.search.embedders.pieces import Pieces
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import EmbedderUnavailable
from ostiary.contracts.search import EmbedKind

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DIMENSIONS = 256
NAME = "wordllama-l2-256-4bit"
# Below this many characters the work takes less time than handing it to a thread.
_SMALL = 4_000
_AT_ONCE = 2_048


class _Weights:
    """`vectors` as signed bytes: twice what is kept, so that the middle of each of the sixteen steps is a whole number."""

    __slots__ = ("pieces", "scales", "vectors")

    def __init__(self) -> None:
        import numpy as np

        folder = files(__package__) / "weights"
        self.pieces = Pieces({piece: rank for rank, piece in enumerate(json.loads((folder / "pieces.json").read_bytes()))})
        packed = np.load(str(folder / "vectors.npy"))
        self.scales: Any = np.load(str(folder / "scales.npy")) / 2
        if packed.shape != (len(self.scales), DIMENSIONS // 2):
            raise ValueError("the tables do not fit each other")
        self.vectors: Any = np.empty((len(packed), DIMENSIONS), dtype=np.int8)
        self.vectors[:, 0::2] = (packed & 15) * 2
        self.vectors[:, 1::2] = (packed >> 4) * 2
        self.vectors -= 15


class Embedded:
    """An `Embedder` that needs no network. Weights are read at the first use and let go after `idle` seconds without one."""

    is_local = True

    def __init__(self, *, clock: Clock, idle: float = 300.0) -> None:
        self._clock = clock
        self._idle = idle
        self._weights: _Weights | None = None
        self._used = 0.0
        self._turn = anyio.Lock()

    @property
    def name(self) -> str:
        return NAME

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    @property
    def is_loaded(self) -> bool:
        return self._weights is not None

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> tuple[bytes, ...]:
        """Raises EmbedderUnavailable if the weights or numpy are not there."""
        async with self._turn:
            self._used = self._clock.monotonic()
            if self._weights is not None and sum(map(len, texts)) <= _SMALL:
                return _embed(self._weights, texts)
            return await anyio.to_thread.run_sync(self.embed_now, texts)

    def embed_now(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        """The same in the caller's thread, which must be the only one to call. Raises EmbedderUnavailable."""
        try:
            if self._weights is None:
                self._weights = _Weights()
            return _embed(self._weights, texts)
        except (ImportError, OSError, ValueError) as error:
            raise EmbedderUnavailable(
                f"The embedded vectors cannot be made: {error}", hint="Install Ostiary again; its weights or numpy are missing."
            ) from error

    def rest(self) -> None:
        """Let the weights go if they were not used for a while."""
        if self._weights is not None and self._clock.monotonic() - self._used >= self._idle:
            self._weights = None


def _embed(weights: _Weights, texts: Sequence[str]) -> tuple[bytes, ...]:
    made: list[bytes] = []
    for start in range(0, len(texts), _AT_ONCE):
        made += [row.tobytes() for row in _pooled(weights, texts[start : start + _AT_ONCE])]
    return tuple(made)


def _pooled(weights: _Weights, texts: Sequence[str]) -> "npt.NDArray[np.float32]":
    """One row of length 1 per text. A text without a word gets the first axis, which means nothing and is near nothing."""
    import numpy as np

    sums = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
    for place, text in enumerate(texts):
        pieces = weights.pieces.of(text)
        if pieces:
            # Text by text: together they would not fit into the processor's cache.
            chosen = np.array(pieces, dtype=np.intp)
            vectors = weights.vectors.take(chosen, axis=0).astype(np.float32)
            sums[place] = np.einsum("i,ij->j", weights.scales.take(chosen), vectors)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    sums[lengths[:, 0] == 0, 0] = 1.0
    lengths[lengths == 0] = 1.0
    rows: npt.NDArray[np.float32] = np.ascontiguousarray(sums / lengths, dtype="<f4")
    return rows
