"""What changed in the store, taken into a generation of the index: some documents or events at a time, each batch whole."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import apsw

from ostiary.adapters.search import database
from ostiary.adapters.search.database import Generation, Indexed
from ostiary.adapters.search.embedders.embedded import Embedded
from ostiary.adapters.search.extraction import MOST_BYTES, extract
from ostiary.adapters.search.journals import COLLECTION, Stretch, joined, stretches
from ostiary.adapters.search.memory import Memory
from ostiary.adapters.search.rows import Row
from ostiary.adapters.store.codec import decode_label, encode
from ostiary.adapters.store.sqlite.threads import Threads
from ostiary.contracts.errors import EmbedderUnavailable
from ostiary.contracts.events import Recorded
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.search import Embedder
from ostiary.contracts.store import Documents, DocumentVersion, Write

_CHANGES = 1_000
_DOCUMENTS = 128
_BYTES = 4_000_000
_EVENTS = 500


class Source(Protocol):
    """What the index reads of a store."""

    @property
    def documents(self) -> Documents: ...

    async def events_after(self, after: int, *, limit: int = 1000) -> tuple[tuple[int, Recorded], ...]: ...

    async def read(self, session: SessionKey, *, after: int = 0, turn: str = "", limit: int = 0) -> tuple[Recorded, ...]: ...

    async def values(self, space: str) -> Mapping[str, bytes]: ...

    async def commit(self, writes: Sequence[Write]) -> tuple[int, ...]: ...


Fetched = tuple[str, str, DocumentVersion | None, bytes]


class Intake:
    """Reads on the event loop, works in the writing thread. Raises StoreError."""

    def __init__(self, source: Source, writing: Threads, memory: Memory, embedder: Embedder | None) -> None:
        self._source = source
        self._writing = writing
        self._memory = memory
        self._embedded = embedder if isinstance(embedder, Embedded) else None

    async def documents(self, generation: Generation) -> Generation | None:
        """One batch; how far the generation is now, or None if there was nothing to read."""
        changes = await self._source.documents.changes(generation.documents_place, limit=_CHANGES)
        if not changes:
            return None
        newest = {(version.collection, version.path): version.version for _, version in changes}
        known = await self._writing.run(lambda connection: database.versions(connection, generation.id, newest))
        fetched: dict[tuple[str, str], Fetched] = {}
        size = 0
        place = generation.documents_place
        for at, version in changes:
            key = (version.collection, version.path)
            if key not in fetched and known.get(key, 0) < newest[key]:
                if len(fetched) >= _DOCUMENTS or size > _BYTES:
                    break
                fetched[key] = await self._fetch(version)
                size += len(fetched[key][3])
            place = at
        batch = list(fetched.values())
        return await self._writing.run(lambda connection: self._write_documents(connection, generation, batch, place))

    async def one(self, generation: Generation, collection: str, path: str) -> None:
        """Drop what is indexed of a path and index what the store holds of it now."""
        found = await self._source.documents.get(collection, path)
        item: Fetched = (collection, path, *found) if found is not None else (collection, path, None, b"")

        def rewrite(connection: apsw.Connection) -> None:
            old = database.text_of(connection, generation.id, collection, path)
            self._write(connection, generation, [item], lambda: _forget_vectors(connection, generation, old))

        await self._writing.run(rewrite, certain=True)

    async def events(self, generation: Generation) -> Generation | None:
        """As `documents`, over the journals."""
        events = await self._source.events_after(generation.events_place, limit=_EVENTS)
        if not events:
            return None
        by_session: dict[str, list[Recorded]] = {}
        for _, recorded in events:
            by_session.setdefault(recorded.session, []).append(recorded)
        place = events[-1][0]
        return await self._writing.run(lambda connection: self._write_events(connection, generation, by_session, place))

    async def session(self, generation: Generation, session: str) -> None:
        """Drop what is indexed of a session and index what the store holds of it now."""
        key = SessionKey.parse(session)
        events = list(await self._source.read(key))

        def rewrite(connection: apsw.Connection) -> None:
            old = database.texts_under(connection, generation.id, COLLECTION, f"{session}/")
            with connection:
                _forget_vectors(connection, generation, old)
                gone = database.remove_under(connection, generation.id, COLLECTION, f"{session}/")
                connection.execute("DELETE FROM journals WHERE generation = ? AND session = ?", (generation.id, session))
                rows, _ = self._extend(connection, generation, session, events)
            self._memory.change(generation.id, gone=gone, new=rows)

        await self._writing.run(rewrite, certain=True)

    async def _fetch(self, version: DocumentVersion) -> Fetched:
        if version.size > MOST_BYTES:
            return version.collection, version.path, version, b""
        found = await self._source.documents.get(version.collection, version.path)
        if found is None:
            return version.collection, version.path, None, b""
        return version.collection, version.path, *found

    def _write_documents(
        self, connection: apsw.Connection, generation: Generation, batch: list[Fetched], place: int
    ) -> Generation | None:
        current = _current(connection, generation)
        if current is None or current.documents_place != generation.documents_place:
            # Somebody else took it in meanwhile.
            return current
        self._write(connection, generation, batch, lambda: database.advance(connection, generation.id, documents=place))
        return _current(connection, generation)

    def _write(
        self, connection: apsw.Connection, generation: Generation, batch: Sequence[Fetched], finish: Callable[[], None]
    ) -> None:
        rows: list[Row] = []
        gone: list[int] = []
        with connection:
            for collection, path, version, content in batch:
                if version is None:
                    gone.append(database.remove(connection, generation.id, collection, path))
                    continue
                label = None if version.label is None else encode(version.label)
                document = self.prepared(generation, collection, path, version.version, version.at, label, extract(path, content))
                number, old = database.write(connection, generation.id, document)
                gone.append(old)
                rows.append(row_of(number, document))
            finish()
        self._memory.change(generation.id, gone=gone, new=rows)

    def _write_events(
        self, connection: apsw.Connection, generation: Generation, sessions: dict[str, list[Recorded]], place: int
    ) -> Generation | None:
        current = _current(connection, generation)
        if current is None or current.events_place != generation.events_place:
            return current
        rows: list[Row] = []
        gone: list[int] = []
        with connection:
            for session, events in sessions.items():
                new, old = self._extend(connection, generation, session, events)
                rows += new
                gone += old
            database.advance(connection, generation.id, events=place)
        self._memory.change(generation.id, gone=gone, new=rows)
        return _current(connection, generation)

    def _extend(
        self, connection: apsw.Connection, generation: Generation, session: str, events: list[Recorded]
    ) -> tuple[list[Row], list[int]]:
        """Inside a transaction: the segment that is open goes on, further ones begin. New rows, ids that are replaced."""
        gone: list[int] = []
        if events and events[0].seq == 1:
            # A session that was deleted and begun again counts from 1 again.
            gone += database.remove_under(connection, generation.id, COLLECTION, f"{session}/")
            connection.execute("DELETE FROM journals WHERE generation = ? AND session = ?", (generation.id, session))
        first, last, before, label = _open_segment(connection, generation.id, session)
        rows: dict[int, Row] = {}
        news = [one for one in events if one.seq > last]
        parts, stays_open = stretches(news, open_length=len(before))
        for part in parts:
            first, text = (first, before + part.text) if part.goes_on else (part.first, part.text)
            document = self._of_stretch(generation, part, first, text, label if part.goes_on else None)
            number, old = database.write(connection, generation.id, document)
            gone.append(old)
            rows[number] = row_of(number, document)
        if news:
            connection.execute(
                "INSERT OR REPLACE INTO journals (generation, session, first, last) VALUES (?, ?, ?, ?)",
                (generation.id, session, first if stays_open else 0, news[-1].seq),
            )
        return list(rows.values()), gone

    def _of_stretch(self, generation: Generation, part: Stretch, first: int, text: str, before: bytes | None) -> Indexed:
        label = joined(decode_label(before), part.label)
        return self.prepared(
            generation,
            COLLECTION,
            f"{part.session}/{first}",
            part.last,
            part.at,
            None if label is None else encode(label),
            text,
        )

    def prepared(
        self, generation: Generation, collection: str, path: str, version: int, at: float, label: bytes | None, text: str
    ) -> Indexed:
        """Cut, counted and, if the vectors are made here, embedded."""
        from ostiary.adapters.search.entries import entry, pack_vectors

        # A session's key says nothing about what was said in it.
        made = entry("" if collection == COLLECTION else path, text)
        vectors: bytes | None = None
        if self._embedded is not None and self._embedded.name == generation.embedder and made.texts:
            try:
                vectors = pack_vectors(self._embedded.embed_now(made.texts), generation.dimensions)
            except EmbedderUnavailable:
                vectors = None
        return Indexed(
            collection=collection,
            path=path,
            version=version,
            at=at,
            label=label,
            text=text,
            units=len(made.texts),
            places=made.places,
            sizes=made.sizes,
            terms=made.terms,
            counts=made.counts,
            vectors=vectors,
        )


def row_of(number: int, document: Indexed) -> Row:
    return Row(
        id=number,
        collection=document.collection,
        path=document.path,
        version=document.version,
        at=document.at,
        label=document.label,
        places=document.places,
        sizes=document.sizes,
        terms=document.terms,
        counts=document.counts,
        vectors=document.vectors,
    )


def _forget_vectors(connection: apsw.Connection, generation: Generation, texts: Sequence[str]) -> None:
    from ostiary.adapters.search.embedders.cache import key_of
    from ostiary.adapters.search.entries import entry

    embedded = [part for text in texts for part in entry("", text).texts]
    database.forget_vectors(connection, [key_of(generation.embedder, "passage", part) for part in embedded])


def _current(connection: apsw.Connection, generation: Generation) -> Generation | None:
    return next((each for each in database.generations(connection) if each.id == generation.id), None)


def _open_segment(connection: apsw.Connection, generation: int, session: str) -> tuple[int, int, str, bytes | None]:
    """First and last seq, text and label of the segment that is still open; zeros and nothing if there is none."""
    found: list[tuple[Any, ...]] = connection.execute(
        "SELECT j.first, j.last, d.id, d.label FROM journals j LEFT JOIN documents d ON d.generation = j.generation"
        " AND d.collection = ? AND d.path = j.session || '/' || j.first WHERE j.generation = ? AND j.session = ?",
        (COLLECTION, generation, session),
    ).fetchall()
    if not found:
        return 0, 0, "", None
    first, last, number, label = found[0]
    return first, last, "" if number is None else database.whole_text(connection, number), label
