"""One download that several requests can wait for and watch."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import anyio

from ostiary.adapters.models.embedded.catalogue import Weights
from ostiary.adapters.models.embedded.weights import Report, find_weights, pull
from ostiary.contracts.errors import ModelUnavailable

Pull = Callable[[Path, Report, Weights], Awaitable[Path]]
_LOOK_SECONDS = 1.0


class Fetching:
    """The state of one download. `run` is started once, in the owner's task group; `watch` by anyone."""

    def __init__(self, directory: Path, weights: Weights, fetch: Pull = pull) -> None:
        self.error: ModelUnavailable | None = None
        self._directory = directory
        self._weights = weights
        self._fetch = fetch
        self._what = "looking for a source"
        self._done = 0
        self._changed = anyio.Event()
        self.finished = anyio.Event()

    async def run(self) -> None:
        try:
            await self._fetch(self._directory, self._note, self._weights)
        except ModelUnavailable as error:
            self.error = error
        finally:
            self.finished.set()
            self._changed.set()

    async def watch(self) -> AsyncGenerator[tuple[str, int, int], None]:
        """What is done, the bytes done and the bytes in all, until it is over. Raises ModelUnavailable if it failed."""
        while not self.finished.is_set():
            yield self._what, self._done, self._weights.size
            with anyio.move_on_after(_LOOK_SECONDS):
                await self._changed.wait()
            if self._changed.is_set():
                self._changed = anyio.Event()
        if self.error is not None:
            raise ModelUnavailable(str(self.error), hint=self.error.hint)
        if find_weights(self._directory, self._weights) is None:
            raise ModelUnavailable("The embedded model's file vanished while it was fetched.", hint="Try again.")

    def _note(self, what: str, done: int, total: int) -> None:
        self._what, self._done = what, done
        self._changed.set()
