"""The index of one bot: asks, keeps itself up to date, and makes itself anew in the background."""

from collections.abc import Callable
from importlib.util import find_spec

import anyio
import apsw

from ostiary.adapters.search import database
from ostiary.adapters.search.chunking import CHUNKING
from ostiary.adapters.search.database import Generation
from ostiary.adapters.search.embedders.embedded import Embedded
from ostiary.adapters.search.intake import Intake, Source
from ostiary.adapters.search.journals import COLLECTION as SESSIONS
from ostiary.adapters.search.memory import Memory
from ostiary.adapters.store import erasures
from ostiary.adapters.store.sqlite.threads import Threads
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import BadInput, Busy, EmbedderUnavailable, StoreError, StoreUnavailable
from ostiary.contracts.records import dataclass
from ostiary.contracts.search import Embedder, EmbedKind, Found, IndexStatus, Mode, Passage, Reach

_LONGEST_QUERY = 8_000
_MOST_RESULTS = 50
_EMBEDDED_AT_ONCE = 16
_LONGEST_EMBEDDING = 60.0

_MUCH_CHANGED = 200
_MUCH_SAID = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """Seconds. `patience`: how long a query takes in changes first; `first`: the same while nothing was taken in yet, so that
    the first question to a new index finds something. `embedding`: how long it waits for its vector; after a
    failure none is asked for during `pause`. `every`: how often `run` takes in what changed while questions are asked;
    `look`: how often it looks otherwise whether much has come together. `idle`: after so long without a query the index
    leaves memory."""

    patience: float = 0.15
    first: float = 2.0
    embedding: float = 3.0
    pause: float = 30.0
    every: float = 5.0
    look: float = 60.0
    idle: float = 600.0


class SearchIndex:
    """A `Search`. Derived data: whatever is lost here is made again from the store."""

    def __init__(
        self,
        *,
        source: Source,
        embedder: Embedder | None,
        clock: Clock,
        options: SearchOptions,
        writing: Threads,
        reading: Threads,
        memory: Memory,
    ) -> None:
        self._embedder = embedder
        self._clock = clock
        self._options = options
        self._writing = writing
        self._reading = reading
        self._memory = memory
        self._intake = Intake(source, writing, memory, embedder)
        self._source = source
        self._turn = anyio.Lock()
        self._building = anyio.Lock()
        self._nudge = anyio.Event()
        self._asked_at = 0.0
        self._silent_until = 0.0
        self._problem = ""
        self._progress: float | None = None

    @property
    def progress(self) -> float | None:
        """0..1 while a new index is made, else None."""
        return self._progress

    @property
    def is_loaded(self) -> bool:
        """Whether the index is in memory right now."""
        return self._memory.segments is not None

    async def generation(self) -> int:
        """The number of the index that answers; a rebuilt one has a higher number."""
        return (await self._live()).id

    async def query(self, text: str, *, reach: Reach, limit: int = 6) -> Found:
        """Raises BadInput (empty or overlong question, silly limit), StoreError."""
        # Half a surrogate is no text: no embedder takes it.
        question = text.encode("utf-8", "replace").decode().strip()
        if not question:
            raise BadInput("There is nothing to search for")
        if len(question) > _LONGEST_QUERY:
            raise BadInput(f"A question has at most {_LONGEST_QUERY} characters, this one {len(question)}")
        if not 1 <= limit <= _MOST_RESULTS:
            raise BadInput(f"Between 1 and {_MOST_RESULTS} results can be asked for")
        self._asked_at = self._clock.monotonic()
        notices: list[str] = []
        live = await self._catch_up(self._options.patience, self._options.first)
        if live is None:
            notices.append("Some of the newest text is not in the index yet.")
            live = await self._live()
        if self._progress is not None:
            notices.append(f"A new index is being made ({self._progress:.0%}); this answer comes from the one before.")
        if not reach.collections:
            return Found(passages=(), mode="words", notices=tuple(notices))
        vector = await self._vector(question, live, notices)
        passages, mode = await self._ranked(question, live, reach, vector, limit)
        return Found(passages=passages, mode=mode, notices=tuple(notices))

    async def status(self) -> IndexStatus:
        live = await self._live()
        documents, chunks = await self._reading.run(lambda connection: database.tally(connection, live.id))
        changes = await self._source.documents.changes(live.documents_place)
        waiting = {(version.collection, version.path) for _, version in changes}
        return IndexStatus(
            documents=documents,
            chunks=chunks,
            waiting=len(waiting),
            embedder=live.embedder,
            rebuilding=self._progress,
            problem=self._problem,
        )

    async def forget(self, collection: str, path: str) -> None:
        """For `_sessions` the path is a session's key, or begins with one: the whole session is indexed again."""
        async with self._turn:
            await self._forget_erased((collection, _session(path) if collection == SESSIONS else path))

    async def _forget_erased(self, *further: tuple[str, str]) -> None:
        """In turn. What the store has noted as erased leaves the index before anything else happens to it; a note stays until
        that is done, so a crash only delays it."""
        notes = await self._source.values(erasures.SPACE)
        gone = dict.fromkeys((*further, *erasures.noted(notes)))
        if not gone:
            return
        for generation in await self._writing.run(database.generations):
            for collection, path in gone:
                if collection == SESSIONS:
                    await self._intake.session(generation, path)
                else:
                    await self._intake.one(generation, collection, path)
        await self._writing.run(self._swept, certain=True)
        if notes:
            await self._source.commit(erasures.settled(notes))

    def _swept(self, connection: apsw.Connection) -> None:
        """What was dropped is in no file and no memory any more."""
        self._memory.clear()
        connection.execute("PRAGMA wal_checkpoint(truncate)").fetchall()

    async def take_in(self) -> None:
        """Everything that is committed can be found by its words when this returns, however long it takes."""
        await self._catch_up()

    async def settle(self) -> None:
        """Take in everything that is committed and make the vectors that are missing, as far as they can be made now."""
        await self._catch_up()
        await self._build()
        await self._embed_waiting()

    async def reindex(self) -> None:
        """Make the whole index anew; the old one answers until that is done. Goes on in `run` if this is cancelled."""
        await self._writing.run(lambda connection: self._begin(connection, is_live=False))
        await self._build()

    async def ask_reindex(self) -> None:
        """As `reindex`, made by `run`, which begins at once. While one is being made already that one is it."""
        if self._progress is None:
            await self._live()
            await self._writing.run(lambda connection: self._begin(connection, is_live=False))
            self._progress = 0.0
        self._nudge.set()

    async def run(self) -> None:
        """Until cancelled: takes in what changed, embeds what has no vectors, makes a new index when one is needed.

        While nobody asks, little is left for the next question to take in, so that a quiet house loads nothing."""
        while True:
            try:
                if self._is_asked or await self._is_due():
                    await self.settle()
                self._rest()
            except (StoreError, Busy) as error:
                # The store may be away for a while; the index waits for it.
                self._problem = str(error)
            await self._pause(self._options.every if self._is_asked else self._options.look)

    async def _pause(self, seconds: float) -> None:
        """Shorter if somebody asks for a new index."""
        async with anyio.create_task_group() as group:

            async def sleep() -> None:
                await self._clock.sleep(seconds)
                group.cancel_scope.cancel()

            group.start_soon(sleep)
            await self._nudge.wait()
            group.cancel_scope.cancel()
        self._nudge = anyio.Event()

    @property
    def _is_asked(self) -> bool:
        return bool(self._asked_at) and self._clock.monotonic() - self._asked_at < self._options.idle

    async def _is_due(self) -> bool:
        """Whether something was erased, a new index is needed, or more waits than a question should take in."""
        if self._progress is not None or await self._source.values(erasures.SPACE):
            return True
        live = await self._live()
        if not self._fits(live):
            return True
        documents = await self._source.documents.changes(live.documents_place + _MUCH_CHANGED, limit=1)
        return bool(documents or await self._source.events_after(live.events_place + _MUCH_SAID, limit=1))

    async def _ranked(
        self, question: str, live: Generation, reach: Reach, vector: bytes | None, limit: int
    ) -> tuple[tuple[Passage, ...], Mode]:
        from ostiary.adapters.search.passages import passages
        from ostiary.adapters.search.questions import question as parsed

        segments = self._memory.segments
        if segments is None or self._memory.generation != live.id:
            segments = await self._writing.run(lambda connection: self._memory.load(connection, live))

        def rank(connection: apsw.Connection) -> tuple[tuple[Passage, ...], Mode]:
            visible = [self._memory.visible(each, reach) for each in segments]
            asked = parsed(question, segments)
            mode: Mode = "words" if vector is None else "hybrid" if asked.words else "meaning"
            return passages(connection, segments, visible, asked, vector, limit), mode

        return await self._reading.run(rank)

    async def _vector(self, question: str, live: Generation, notices: list[str]) -> bytes | None:
        embedder = self._embedder
        if embedder is None:
            return None
        if embedder.name != live.embedder or embedder.dimensions != live.dimensions:
            notices.append("Searched by words alone until the new index is ready.")
            return None
        if self._clock.monotonic() < self._silent_until:
            notices.append(f"Searched by words alone: {self._problem}")
            return None
        try:
            made = await self._embed(embedder, [question], "query", self._options.embedding)
        except EmbedderUnavailable as error:
            self._silent_until = self._clock.monotonic() + self._options.pause
            self._problem = str(error)
            notices.append(f"Searched by words alone: {error}")
            return None
        self._problem = ""
        return made[0]

    async def _embed(self, embedder: Embedder, texts: list[str], kind: EmbedKind, seconds: float) -> tuple[bytes, ...]:
        """Raises EmbedderUnavailable also for a slow answer and for one that does not fit."""
        from ostiary.adapters.search.entries import are_numbers

        with anyio.move_on_after(seconds):
            made = await embedder.embed(texts, kind)
            if len(made) != len(texts) or any(len(vector) != 4 * embedder.dimensions for vector in made):
                raise EmbedderUnavailable(f"{embedder.name} gave vectors of another size than it promised")
            if not are_numbers(made):
                raise EmbedderUnavailable(f"{embedder.name} gave vectors that are no numbers")
            return made
        raise EmbedderUnavailable(f"{embedder.name} did not answer within {seconds:g} seconds")

    async def _catch_up(self, patience: float | None = None, first: float | None = None) -> Generation | None:
        """The live generation when everything committed before is in it; None if that takes longer than `patience`, or
        `first` where nothing at all was taken in yet."""
        live = await self._live()
        with anyio.move_on_after(patience if live.documents_place or live.events_place else first):
            while (further := await self._step(live)) is not None:
                live = further
            return live
        return None

    async def _step(self, generation: Generation) -> Generation | None:
        """Take in one batch; None if there was nothing. Whoever else wants to change the index has a turn between two of them,
        and what was read before an erasure is never written after it."""
        async with self._turn:
            await self._forget_erased()
            # Documents first: they are what people look for at once.
            return await self._intake.documents(generation) or await self._intake.events(generation)

    async def _live(self) -> Generation:
        if find_spec("numpy") is None:
            raise StoreUnavailable("Searching needs numpy, which is not installed", hint="Run: pip install 'ostiary[memory]'")
        return await self._writing.run(self._prepare)

    def _prepare(self, connection: apsw.Connection) -> Generation:
        """The generation that answers; made if there is none. One that no longer fits gets a successor."""
        known = database.generations(connection)
        live = next((each for each in known if each.is_live), None)
        if live is None:
            self._begin(connection, is_live=True)
            return self._prepare(connection)
        if not self._fits(live) and not any(self._fits(each) for each in known):
            self._begin(connection, is_live=False)
        return live

    def _fits(self, generation: Generation) -> bool:
        embedder = self._embedder
        name, dimensions = ("", 0) if embedder is None else (embedder.name, embedder.dimensions)
        return (generation.embedder, generation.dimensions, generation.chunking) == (name, dimensions, CHUNKING)

    def _begin(self, connection: apsw.Connection, *, is_live: bool) -> None:
        embedder = self._embedder
        database.begin(
            connection,
            embedder="" if embedder is None else embedder.name,
            dimensions=0 if embedder is None else embedder.dimensions,
            chunking=CHUNKING,
            is_live=is_live,
        )

    async def _build(self) -> None:
        """Bring the newest fitting generation to where the live one is, put it in its place, and drop all others."""
        async with self._building:
            known = await self._writing.run(database.generations)
            live = next((each for each in known if each.is_live), None)
            latest = max((each for each in known if self._fits(each) and not each.is_live), key=lambda one: one.id, default=None)
            if live is not None and latest is not None:
                await self._fill(latest, live)
                await self._writing.run(lambda connection: self._switch(connection, latest.id), certain=True)
                self._progress = None
            elif live is None or not self._fits(live):
                return
            for other in await self._writing.run(database.generations):
                while not other.is_live and not await self._writing.run(_dropping(other.id)):
                    pass

    async def _fill(self, generation: Generation, live: Generation) -> None:
        while True:
            self._progress = _share(generation, live)
            further = await self._step(generation)
            if further is None:
                break
            generation = further
        while await self._embed_some(generation):
            pass

    def _switch(self, connection: apsw.Connection, generation: int) -> None:
        database.go_live(connection, generation)
        self._memory.clear()

    async def _embed_waiting(self) -> None:
        live = await self._live()
        if self._embedder is not None and self._embedder.name == live.embedder:
            while await self._embed_some(live):
                pass

    async def _embed_some(self, generation: Generation) -> bool:
        """Vectors for a few documents that have none. False when none is left or none can be made now."""
        from ostiary.adapters.search.entries import entry, pack_vectors

        embedder = self._embedder
        if embedder is None or self._clock.monotonic() < self._silent_until:
            return False
        waiting = await self._reading.run(lambda connection: _unembedded(connection, generation.id))
        for number, path, version, text in waiting:
            try:
                texts = list(entry(path, text).texts)
                made = await self._embed(embedder, texts, "passage", _LONGEST_EMBEDDING)
            except EmbedderUnavailable as error:
                self._silent_until = self._clock.monotonic() + self._options.pause
                self._problem = str(error)
                return False
            vectors = pack_vectors(made, generation.dimensions)
            await self._writing.run(self._keeping(generation.id, (number, path, version), vectors), certain=True)
        return bool(waiting)

    def _keeping(self, generation: int, of: tuple[int, str, int], vectors: bytes) -> Callable[[apsw.Connection], None]:
        def keep(connection: apsw.Connection) -> None:
            if database.set_vectors(connection, *of, vectors):
                self._memory.change(generation, gone=[of[0]], new=database.rows_of(connection, [of[0]]))

        return keep

    def _rest(self) -> None:
        if not self._is_asked:
            self._memory.clear()
        if isinstance(self._embedder, Embedded):
            self._embedder.rest()


def _session(path: str) -> str:
    """The session's key, whether or not the first seq of a segment stands behind it."""
    head, _, tail = path.rpartition("/")
    return head if head and tail.isdigit() else path


def _share(generation: Generation, live: Generation) -> float:
    goal = live.documents_place + live.events_place
    return min(1.0, (generation.documents_place + generation.events_place) / goal) if goal else 0.0


def _dropping(generation: int) -> Callable[[apsw.Connection], bool]:
    return lambda connection: database.drop(connection, generation)


def _unembedded(connection: apsw.Connection, generation: int) -> list[tuple[int, str, int, str]]:
    waiting = database.unembedded(connection, generation, _EMBEDDED_AT_ONCE)
    return [(number, path, version, database.whole_text(connection, number)) for number, path, version in waiting]
