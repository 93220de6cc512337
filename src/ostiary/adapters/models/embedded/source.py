"""What a source of a model's bytes is: it continues a partial file, or says in one sentence why it could not."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from ostiary.adapters.models.embedded.catalogue import Weights

Progress = Callable[[int], None]
"""Told how many bytes of the file are there or on their way."""


class SourceFailed(Exception):
    """This source cannot give the bytes; the text says why. What was written so far is good and may be continued."""


class Source(Protocol):
    """`fetch` appends to `partial` until it has the file's size. Raises SourceFailed."""

    name: str

    async def fetch(self, weights: Weights, partial: Path, progress: Progress) -> None: ...
