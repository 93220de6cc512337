"""The diary: a conversation that was ended by /new or /reset is summed up in the daily note, in the background, once.

The journal is read from where the diary stands; the note and the new place go in one commit, so a crash in the middle leaves
either both or neither, and the next start goes on from there.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence, Set
from datetime import tzinfo

import anyio

from ostiary.contracts.clock import Clock
from ostiary.contracts.content import Label, Message, Trust
from ostiary.contracts.errors import BadInput, OstiaryError
from ostiary.contracts.events import Branched, Recorded, Reset, TurnStarted
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.store import Documents, Extend, SetValue, Store, Write
from ostiary.core.agent.bootstrap import folder_of
from ostiary.core.memory.entries import rendered
from ostiary.core.memory.paths import COLLECTION, day_of, numbered, person_folder, unconfirmed_path
from ostiary.core.memory.summary import Covered, Summary, summarised
from ostiary.core.memory.writing import FILE_BYTES
from ostiary.core.sessions.session import fold

log = logging.getLogger("ostiary.memory")

SPACE = "memory.diary"
PLACE = "place"
AUTHOR = "diary"
_PAGE = 1000
_MOST_FILES = 20
_RETRY_SECONDS = 60.0
_SUMMARY_SECONDS = 60.0

Retell = Callable[[Sequence[Message], Summary], Awaitable[str]]


class Diary:
    """`is_wanted` tells whether this session's conversations belong into the daily note. `redact` takes secrets out.
    `retell` may word a summary better, with a model; where it fails, the plain one stands."""

    def __init__(
        self,
        *,
        store: Store,
        documents: Documents,
        clock: Clock,
        zone: Callable[[], tzinfo],
        is_wanted: Callable[[SessionKey], bool],
        redact: Callable[[str], str],
        retell: Retell | None = None,
    ) -> None:
        self._store = store
        self._documents = documents
        self._clock = clock
        self._zone = zone
        self._is_wanted = is_wanted
        self._redact = redact
        self._retell = retell
        self._due = anyio.Event()

    def stir(self) -> None:
        """A conversation began afresh: look what there is to write."""
        self._due.set()

    async def run(self) -> None:
        """Until cancelled. Takes up what an earlier process left."""
        while True:
            self._due = anyio.Event()
            try:
                await self.catch_up()
            except OstiaryError as error:
                log.warning("the daily note waits: %s", error)
                await self._clock.sleep(_RETRY_SECONDS)
                continue
            await self._due.wait()

    async def catch_up(self) -> int:
        """Write every summary that is due; gives how many. Raises StoreError."""
        kept = await self._store.value(SPACE, PLACE)
        if kept is None:
            await self._begin()
            return 0
        place, written = int(kept), 0
        while page := await self._store.events_after(place, limit=_PAGE):
            for at, recorded in page:
                if isinstance(recorded.event, Reset) and _is_by_hand(recorded.event.reason):
                    writes = await self._due_writes(recorded)
                    await self._store.commit([*writes, _standing(at)])
                    written += bool(writes)
                place = at
            await self._store.commit([_standing(place)])
        return written

    async def _begin(self) -> None:
        """What was before the diary is left alone."""
        place = 0
        while page := await self._store.events_after(place, limit=_PAGE):
            place = page[-1][0]
        await self._store.commit([_standing(place)])

    async def _due_writes(self, reset: Recorded) -> list[Write]:
        """What cannot be written, now or ever, must not keep what comes after it from being written."""
        try:
            return await self._writes(reset)
        except BadInput as error:
            log.warning("a conversation is not in the daily note: %s", error)
            return []

    async def _writes(self, reset: Recorded) -> list[Write]:
        key = SessionKey.parse(reset.session)
        if not self._is_wanted(key):
            return []
        events = [each for each in await self._store.read(key) if each.seq < reset.seq]
        began = max((n for n, each in enumerate(events) if isinstance(each.event, Reset | Branched)), default=-1)
        part = events[began + 1 :]
        begun = {each.turn for each in part if isinstance(each.event, TurnStarted)}
        if not begun:
            return []
        # A turn that was under way at the new beginning belongs to the conversation before.
        part = [each for each in part if not each.turn or each.turn in begun]
        messages = tuple(fold(key, part).messages)
        made = summarised(messages, Covered(session=key, first=part[0].seq, last=part[-1].seq))
        if made is None:
            return []
        text = self._redact(await self._worded(messages, made))
        people = {each.event.principal for each in part if isinstance(each.event, TurnStarted)}
        return [await self._write(key, text, made.label, reset, people)]

    async def _worded(self, messages: Sequence[Message], made: Summary) -> str:
        if self._retell is None:
            return made.text
        try:
            with anyio.fail_after(_SUMMARY_SECONDS):
                head = made.text.partition("\n")[0]
                return f"{head}\n{(await self._retell(messages, made)).strip()}"
        except (OstiaryError, TimeoutError) as error:
            log.info("the plain summary is kept: %s", error)
            return made.text

    async def _write(self, key: SessionKey, text: str, label: Label, reset: Recorded, people: Set[Principal]) -> Extend:
        day = day_of(reset.at, self._zone())
        base, waits = _place_for(people, label, day)
        entry = rendered(text, meant_for="daily" if waits else "")
        for number in range(1, _MOST_FILES + 1):
            path = folder_of(key.agent) + numbered(base, number)
            found = await self._documents.get(COLLECTION, path)
            before = found[1] if found is not None else b""
            if len(before) + len(entry.encode()) + 2 <= FILE_BYTES:
                break
        else:
            raise BadInput(f"the daily notes of {day} are full")
        gap = "" if before.endswith(b"\n") else "\n" if before else f"# {day}\n\n"
        content = f"{gap}{entry}\n".encode()
        return Extend(collection=COLLECTION, path=path, content=content, at=self._clock.now(), author=AUTHOR, label=label)


def _place_for(people: Set[Principal], label: Label, day: str) -> tuple[str, bool]:
    """The file, and whether it waits for the owner: what others said must not come back as the house's own note. Somebody who
    talked with the assistant alone speaks for themselves, in a place of their own."""
    if label.trust is not Trust.UNTRUSTED:
        if all(each.is_owner for each in people):
            return f"memory/{day}.md", False
        if len(people) == 1:
            return f"{person_folder(next(iter(people)).user)}{day}.md", False
    return unconfirmed_path(day), True


def _is_by_hand(reason: str) -> bool:
    return reason.startswith(("/new", "/reset"))


def _standing(place: int) -> SetValue:
    return SetValue(space=SPACE, key=PLACE, value=str(place).encode())
