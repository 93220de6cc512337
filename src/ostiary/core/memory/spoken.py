"""Looking through journals for a text, and which events must go with it."""

import dataclasses
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import anyio.to_thread

from ostiary.contracts.content import Image, Label, ToolCall
from ostiary.contracts.events import (
    KIND_OF,
    Compacted,
    Erased,
    PrefixPinned,
    Recorded,
    Reset,
    ToolIntended,
    TurnStarted,
)
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import Address, Attachment
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Store
from ostiary.core.memory.text import holds, normal

PAGE = 1000
_DEEPEST = 12
# They say nothing that a person or a model said.
_WORDLESS = frozenset(
    {"model.requested", "model.spent", "turn.suspended", "turn.resumed", "session.reset", "session.trimmed", "session.prefix"}
    | {"session.setting", "session.declassified", "approval.answered"}
)
_NO_TEXT = (Label, Principal, Address, SessionKey)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """Events of one session that must go: those of whole turns, and those outside of turns. `summaries` are the summaries
    made of them, which are made anew from what is left."""

    session: SessionKey
    turns: tuple[str, ...]
    events: tuple[int, ...]
    summaries: tuple[int, ...]


async def spoken(store: Store, wanted: Collection[str], turns: Collection[str]) -> tuple[Spoken, ...]:
    """Where any of the normal texts was said, in all sessions, and the named turns. A turn in which it was said goes as a
    whole: the answer is made of the question. Raises StoreError."""
    hit: dict[str, set[str]] = defaultdict(set)
    loose: dict[str, set[int]] = defaultdict(set)
    place = 0
    while page := await store.events_after(place, limit=PAGE):
        place = page[-1][0]
        events = [recorded for _, recorded in page]
        # Reading a thousand events word by word would hold everybody up.
        for recorded in await anyio.to_thread.run_sync(_saying, events, wanted, turns):
            if recorded.turn:
                hit[recorded.session].add(recorded.turn)
            else:
                loose[recorded.session].add(recorded.seq)
    found = []
    for name in sorted({*hit, *loose}):
        key = SessionKey.parse(name)
        each = _gathered(key, await store.read(key), hit[name], loose[name])
        if each.events or each.summaries:
            found.append(each)
    return tuple(found)


async def prompts(store: Store) -> tuple[str, ...]:
    """The digests of all prompts that conversations were held with. Raises StoreError."""
    found: dict[str, None] = {}
    place = 0
    while page := await store.events_after(place, limit=PAGE):
        place = page[-1][0]
        found.update(dict.fromkeys(each.event.digest for _, each in page if isinstance(each.event, PrefixPinned)))
    return tuple(found)


async def files(store: Store, gone: Collection[Spoken]) -> tuple[str, ...]:
    """The digests of pictures and files that came with these events and with no other. Raises StoreError."""
    doomed = {(str(each.session), seq) for each in gone for seq in each.events}
    theirs: dict[str, None] = {}
    others: set[str] = set()
    place = 0
    while doomed and (page := await store.events_after(place, limit=PAGE)):
        place = page[-1][0]
        for _, recorded in page:
            found = _digests(recorded.event)
            if (recorded.session, recorded.seq) in doomed:
                theirs.update(dict.fromkeys(found))
            else:
                others.update(found)
    return tuple(digest for digest in theirs if digest not in others)


def _digests(value: object, depth: int = 0) -> Iterator[str]:
    if depth > _DEEPEST or isinstance(value, (str, *_NO_TEXT)):
        return
    if isinstance(value, Image | Attachment):
        yield value.digest
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _digests(each, depth + 1)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _digests(getattr(value, field.name), depth + 1)


def _saying(events: Sequence[Recorded], wanted: Collection[str], turns: Collection[str]) -> list[Recorded]:
    living = (each for each in events if not isinstance(each.event, Erased))
    return [each for each in living if each.turn in turns or _says(each, wanted)]


def _says(recorded: Recorded, wanted: Collection[str]) -> bool:
    if KIND_OF.get(type(recorded.event), "") in _WORDLESS:
        return False
    text = normal("\n".join(texts(recorded.event)))
    return any(holds(text, each) for each in wanted)


def _gathered(key: SessionKey, events: Iterable[Recorded], turns: set[str], loose: set[int]) -> Spoken:
    """A summary covers what lies between the last new beginning and the turn it keeps from; a later one holds the earlier."""
    doomed: list[int] = []
    summaries: list[int] = []
    starts: dict[str, int] = {}
    dirty: list[int] = []
    for recorded in events:
        event = recorded.event
        if isinstance(event, TurnStarted | Erased) and recorded.turn:
            starts.setdefault(recorded.turn, recorded.seq)
        if isinstance(event, Reset):
            dirty = []
        elif isinstance(event, Compacted):
            kept_from = starts.get(event.kept_from, recorded.seq)
            if recorded.seq in loose or any(seq < kept_from for seq in dirty):
                summaries.append(recorded.seq)
                dirty.append(recorded.seq)
        elif recorded.seq in loose or recorded.turn in turns:
            dirty.append(recorded.seq)
            if not isinstance(event, Erased) and KIND_OF.get(type(event), "") not in _WORDLESS:
                doomed.append(recorded.seq)
    return Spoken(session=key, turns=tuple(sorted(turns)), events=tuple(doomed), summaries=tuple(summaries))


def texts(value: object, depth: int = 0) -> Iterator[str]:
    """Every text in an event, also inside of arguments that are written as JSON."""
    if depth > _DEEPEST or isinstance(value, _NO_TEXT):
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from texts(each, depth + 1)
    elif isinstance(value, tuple | list):
        for each in value:
            yield from texts(each, depth + 1)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        if isinstance(value, ToolCall | ToolIntended):
            yield from texts(_parsed(value.arguments), depth + 1)
        for field in dataclasses.fields(value):
            yield from texts(getattr(value, field.name), depth + 1)


def _parsed(arguments: str) -> object:
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return ""
