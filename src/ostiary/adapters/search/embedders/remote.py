"""Vectors made elsewhere: batches, patience and distrust around one provider's dialect."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import anyio
import msgspec

from ostiary.adapters.egress import Egress, EgressFailed, Limits
from ostiary.adapters.models.wires.retry_after import from_headers
from ostiary.adapters.search.embedders.providers import DIALECTS, Asking, Provider, own_dimensions, worded
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import BadInput, EgressRefused, EmbedderUnavailable, OstiaryError
from ostiary.contracts.records import dataclass
from ostiary.contracts.search import EmbedKind

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ostiary.adapters.egress.transport import Response

_TOO_SHORT = 1e-6
_ANSWER_BYTES = 64 * 1024 * 1024
_WORDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteOptions:
    """`size` texts in a request and `concurrency` requests at once for one call; the provider's own limits hold besides.
    `characters` of a text are sent at most. A request takes `seconds`; it is made `attempts` times, with pauses that double
    from `pause` up to `longest_pause`. A provider that asks for a longer one is given up on. A whole call takes
    `passage_seconds`, or `query_seconds` since somebody waits for the answer: less than the index allows, so that what went
    wrong is said in the provider's words."""

    size: int = 64
    concurrency: int = 2
    characters: int = 8_000
    seconds: float = 20.0
    query_seconds: float = 2.5
    passage_seconds: float = 55.0
    attempts: int = 4
    pause: float = 0.5
    longest_pause: float = 20.0


class _TryAgain(Exception):
    """The provider may do better next time; `after` is how long it asked us to wait."""

    def __init__(self, words: str, after: float | None = None) -> None:
        super().__init__(words)
        self.after = after


class Remote:
    """An `Embedder` over HTTP. What it gives back was checked: as many vectors as texts, of the right length, all numbers
    finite, each scaled to length 1. Raises EmbedderUnavailable and nothing else; its text never holds the secret.

    `secret` lends the key for one request. Building raises BadInput: an address that cannot be used, or a model whose
    vectors' length is not known and was not given."""

    is_local = False

    def __init__(
        self,
        provider: Provider,
        egress: Egress,
        *,
        secret: Callable[[], str],
        clock: Clock,
        model: str = "",
        base_url: str = "",
        dimensions: int = 0,
        options: RemoteOptions | None = None,
    ) -> None:
        self._provider = provider
        self._dialect = DIALECTS[provider]
        self._secret = secret
        self._clock = clock
        self._model = model or self._dialect.model
        self._wanted = dimensions
        self._dimensions = dimensions or own_dimensions(self._model)
        if not self._dimensions:
            raise BadInput(f"How long the vectors of {self._model} are is not known.", hint="Say it in memory.search.dimensions.")
        try:
            self._origin = egress.configured(_address(provider, base_url) or self._dialect.base_url)
        except EgressRefused as error:
            raise BadInput(str(error), hint="Check memory.search.baseUrl.") from error
        elsewhere = f"@{self._origin.origin}" if base_url else ""
        self._name = f"{provider}:{self._model}{elsewhere}:{self._dimensions}"
        self._options = options or RemoteOptions()
        seconds = self._options.seconds
        self._limits = Limits(connect_seconds=min(10.0, seconds), idle_seconds=seconds, total_seconds=seconds)

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return self._dimensions

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> tuple[bytes, ...]:
        """All or nothing. Cancelling it ends the requests under way."""
        sent = [worded(self._model, text, kind, self._options.characters) for text in texts]
        made: dict[int, tuple[bytes, ...]] = {}
        failures: list[EmbedderUnavailable] = []
        troubles: list[str] = []
        waiting = enumerate(self._batches(sent))

        async def work() -> None:
            try:
                for place, batch in waiting:
                    made[place] = await self._batch(batch, kind, troubles)
            except EmbedderUnavailable as error:
                failures.append(error)
                group.cancel_scope.cancel()

        seconds = self._options.query_seconds if kind == "query" else self._options.passage_seconds
        with anyio.move_on_after(seconds) as limit:
            async with anyio.create_task_group() as group:
                for _ in range(max(1, self._options.concurrency)):
                    group.start_soon(work)
        if failures:
            raise failures[0]
        if limit.cancelled_caught:
            what = troubles[-1] if troubles else f"{self._provider} is slow."
            raise EmbedderUnavailable(f"{what} There was no answer within {seconds:g} seconds.")
        return tuple(vector for place in sorted(made) for vector in made[place])

    def _batches(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        most = max(1, min(self._options.size, self._dialect.most_texts))
        start, size = 0, 0
        for place, text in enumerate(texts):
            if place > start and (place - start >= most or size + len(text) > self._dialect.most_characters):
                yield texts[start:place]
                start, size = place, 0
            size += len(text)
        if start < len(texts):
            yield texts[start:]

    async def _batch(self, texts: Sequence[str], kind: EmbedKind, troubles: list[str]) -> tuple[bytes, ...]:
        options = self._options
        pause = options.pause
        attempt = 1
        while True:
            try:
                return self._checked(await self._ask(texts, kind), len(texts))
            except _TryAgain as again:
                wait = pause if again.after is None else again.after
                if attempt >= options.attempts:
                    raise EmbedderUnavailable(f"{again} It was asked {attempt} times.") from None
                if wait > options.longest_pause:
                    raise EmbedderUnavailable(f"{again} It wants to be asked again in {wait:.0f} seconds.") from None
                troubles.append(str(again))
            await self._clock.sleep(wait)
            pause = min(2 * pause, options.longest_pause)
            attempt += 1

    async def _ask(self, texts: Sequence[str], kind: EmbedKind) -> list[list[float]]:
        body = self._dialect.body(Asking(model=self._model, texts=texts, kind=kind, wanted=self._wanted))
        exchange = self._origin.post(
            self._dialect.path(self._model),
            msgspec.json.encode(body),
            {"Content-Type": "application/json"},
            secret_headers=self._dialect.headers(self._lent()),
            limits=self._limits,
        )
        try:
            async with exchange as response:
                if response.status != 200:
                    raise await self._refusal(response)
                answer = await response.body(_ANSWER_BYTES)
        except EgressFailed as error:
            if error.failure in ("certificate", "too_large"):
                raise EmbedderUnavailable(str(error)) from None
            raise _TryAgain(str(error)) from None
        except EgressRefused as error:
            raise EmbedderUnavailable(str(error), hint=error.hint) from None
        try:
            return self._dialect.read(answer)
        except (msgspec.DecodeError, ValueError) as error:
            raise _TryAgain(f"{self._provider} sent an answer that cannot be read: {str(error)[:_WORDS]}.") from None

    def _lent(self) -> str:
        try:
            return self._secret()
        except OstiaryError as error:
            raise EmbedderUnavailable(f"There is no key for {self._provider}: {error}", hint=error.hint) from error

    async def _refusal(self, response: "Response") -> _TryAgain | EmbedderUnavailable:
        words = " ".join((await response.error_text()).split())[:_WORDS].rstrip(".")
        said = f"{self._provider} answered {response.status}{': ' if words else ''}{words}."
        if response.status in (408, 409, 425, 429) or response.status >= 500:
            return _TryAgain(said, from_headers(response.headers, now=self._clock.now()))
        if response.status in (401, 403):
            return EmbedderUnavailable(said, hint=f"Check the key of {self._provider} (memory.search.apiKey).")
        return EmbedderUnavailable(said, hint="Check memory.search.model, baseUrl and dimensions.")

    def _checked(self, vectors: list[list[float]], count: int) -> tuple[bytes, ...]:
        """Raises EmbedderUnavailable: a provider that sends something else will send it again."""
        if len(vectors) != count:
            raise EmbedderUnavailable(f"{self._provider} sent {len(vectors)} vectors for {count} texts.")
        odd = next((len(vector) for vector in vectors if len(vector) != self._dimensions), None)
        if odd is not None:
            raise EmbedderUnavailable(
                f"{self._provider} sent vectors of {odd} numbers where {self._dimensions} were expected.",
                hint="Set memory.search.dimensions to what the model gives.",
            )
        return tuple(row.tobytes() for row in self._scaled(vectors))

    def _scaled(self, vectors: list[list[float]]) -> "npt.NDArray[np.float32]":
        import numpy as np

        rows = np.array(vectors, dtype=np.float64)
        if not np.isfinite(rows).all():
            raise EmbedderUnavailable(f"{self._provider} sent a vector that holds something other than numbers.")
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if (lengths < _TOO_SHORT).any():
            raise EmbedderUnavailable(f"{self._provider} sent a vector without direction.")
        scaled: npt.NDArray[np.float32] = np.ascontiguousarray(rows / lengths, dtype="<f4")
        return scaled


def _address(provider: Provider, base_url: str) -> str:
    """Ollama's own API lies beside the imitation that its users are used to configure."""
    plain = base_url.rstrip("/")
    return plain.removesuffix("/v1") if provider == "ollama" else plain
