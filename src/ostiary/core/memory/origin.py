"""Where a remembered fact came from: who wrote it, when, in which turn, and what the person had said."""

import re
from collections.abc import Sequence
from typing import Protocol

from ostiary.contracts.content import Label, Text, Trust
from ostiary.contracts.errors import BadInput
from ostiary.contracts.events import Steered, TurnInput, TurnStarted
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Documents, DocumentVersion, Store
from ostiary.core.agent.bootstrap import folder_of
from ostiary.core.memory.entries import Entry, entries, holding
from ostiary.core.memory.paths import COLLECTION, place_of
from ostiary.core.memory.shelf import as_text, notes
from ostiary.core.memory.text import normal

MOST_ORIGINS = 20
LEAST_CHARACTERS = 3
_WORDS = 2_000
_MOST_SEEN = 128
_PLACE = re.compile(r"(?P<path>[^#\n]+?)(?:#L?|:)(?P<line>\d{1,7})(?:-L?\d{1,7})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """`version` is the one that brought the lines as they stand now. `session` and `words` are empty where no turn wrote
    them, or where that was erased."""

    path: str
    start: int
    end: int
    text: str
    version: int
    at: float
    author: str
    trust: str
    sources: tuple[str, ...]
    is_confirmed: bool
    turn: str = ""
    session: str = ""
    words: str = ""


class Versions(Protocol):
    """What tracing a text needs of `Documents`."""

    async def history(self, collection: str, path: str) -> Sequence[DocumentVersion]: ...

    async def get(self, collection: str, path: str, *, version: int | None = None) -> tuple[DocumentVersion, bytes] | None: ...


class Seen:
    """Documents of which the same is asked again and again while one list is made: entries of a file share its versions."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._histories: dict[tuple[str, str], tuple[DocumentVersion, ...]] = {}
        self._contents: dict[tuple[str, str, int | None], tuple[DocumentVersion, bytes] | None] = {}

    async def history(self, collection: str, path: str) -> tuple[DocumentVersion, ...]:
        if (collection, path) not in self._histories:
            self._histories[collection, path] = await self._documents.history(collection, path)
        return self._histories[collection, path]

    async def get(self, collection: str, path: str, *, version: int | None = None) -> tuple[DocumentVersion, bytes] | None:
        key = (collection, path, version)
        if key not in self._contents:
            if len(self._contents) >= _MOST_SEEN:
                del self._contents[next(iter(self._contents))]
            self._contents[key] = await self._documents.get(collection, path, version=version)
        return self._contents[key]


class Origins:
    def __init__(self, *, store: Store, documents: Documents) -> None:
        self._store = store
        self._documents = documents

    async def why(self, target: str, *, agent: str = "main") -> tuple[Origin, ...]:
        """Of a place (`MEMORY.md#L12`) or of every entry that holds a text, at most 20. Raises BadInput if there is no such
        place or the text is too short; StoreError."""
        return tuple([await self._origin(path, entry, agent) for path, entry in await self._wanted(target.strip(), agent)])

    async def _wanted(self, target: str, agent: str) -> list[tuple[str, Entry]]:
        place = _PLACE.fullmatch(target)
        if place is not None:
            found = await self._documents.get(COLLECTION, folder_of(agent) + place["path"])
            text = as_text(found[1]) if found is not None else None
            if text is not None:
                number = int(place["line"])
                entry = next((each for each in entries(text) if each.start <= number <= each.end), None)
                if entry is None:
                    raise BadInput(f"{place['path']} has nothing on line {number}.")
                return [(place["path"], entry)]
        wanted = normal(target)
        if len(wanted) < LEAST_CHARACTERS:
            raise BadInput(f"Give a place like MEMORY.md#L12, or at least {LEAST_CHARACTERS} letters of the text.")
        found_entries: list[tuple[str, Entry]] = []
        async for note in notes(self._documents, agent=agent):
            found_entries.extend((note.path, entry) for entry in holding(note.text, wanted))
            if len(found_entries) >= MOST_ORIGINS:
                break
        return found_entries[:MOST_ORIGINS]

    async def _origin(self, path: str, entry: Entry, agent: str) -> Origin:
        version = await self.brought_by(folder_of(agent) + path, entry.text)
        label = version.label or Label(trust=Trust.UNTRUSTED)
        session = await self._store.session_of(version.turn) if version.turn else None
        words = ""
        if session is not None:
            events = await self._store.read(session, turn=version.turn)
            said = [text for each in events for text in _said(each.event)]
            words = "\n".join(said)[:_WORDS]
        return Origin(
            path=path,
            start=entry.start,
            end=entry.end,
            text=entry.text,
            version=version.version,
            at=version.at,
            author=version.author,
            trust=str(label.trust),
            sources=label.sources,
            is_confirmed=place_of(path) != "unconfirmed",
            turn=version.turn,
            session="" if session is None else str(session),
            words=words,
        )

    async def brought_by(self, path: str, text: str) -> DocumentVersion:
        """The version that first held the lines as they stand. Notes grow at the end, so it is found by halving; where a text
        went and came back, one of the times it came. Raises BadInput if there is no such document."""
        return await brought_by(self._documents, path, text)


async def brought_by(documents: Versions, path: str, text: str) -> DocumentVersion:
    """As `Origins.brought_by`."""
    history = [each for each in await documents.history(COLLECTION, path) if not each.erased]
    if not history:
        raise BadInput(f"There is no memory file {path[:200]}.")
    low, high = -1, len(history) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if await _held(documents, history[middle], text):
            high = middle
        else:
            low = middle
    return history[high]


async def _held(documents: Versions, version: DocumentVersion, text: str) -> bool:
    found = await documents.get(COLLECTION, version.path, version=version.version) if version.digest else None
    content = as_text(found[1]) if found is not None else None
    return content is not None and f"\n{text}\n" in f"\n{content}\n"


def _said(event: object) -> list[str]:
    inputs: tuple[TurnInput, ...] = event.inputs if isinstance(event, TurnStarted | Steered) else ()
    return [part.text for each in inputs for part in each.parts if isinstance(part, Text)]
