"""Memory as the house holds it: all its parts, standing on the same store.

What every turn may need is made at once; what the owner asks for now and then is imported when it is first asked for.
"""

from collections.abc import Callable
from datetime import tzinfo
from functools import cached_property
from typing import TYPE_CHECKING

from ostiary.contracts.clock import Clock
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.search import Search
from ostiary.contracts.store import Audit, Documents, Store
from ostiary.core.memory.hands import MemoryHands
from ostiary.core.memory.paths import Area
from ostiary.core.memory.recall import Recall
from ostiary.core.memory.rules import MemoryRules
from ostiary.core.memory.writing import Kept, Wish, Writing

if TYPE_CHECKING:
    from ostiary.core.memory.confirming import Confirming
    from ostiary.core.memory.diary import Diary, Retell
    from ostiary.core.memory.forgetting import Forgetter
    from ostiary.core.memory.origin import Origins


class Memory:
    """`hands` is what the tools stand on; the rest is for the owner's desk and commands. `diary` runs until cancelled.

    `redact` takes secrets out of a text; a note from which it would take something is refused. `drop` throws a session's
    cached fold away. `wants_summary`: whether the diary tells of this session."""

    def __init__(
        self,
        *,
        store: Store,
        documents: Documents,
        search: Search,
        clock: Clock,
        zone: Callable[[], tzinfo],
        rules: Callable[[], MemoryRules],
        is_private: Callable[[SessionKey], bool],
        redact: Callable[[str], str],
        drop: Callable[[SessionKey], None],
        wants_summary: Callable[[SessionKey], bool],
        retell: "Retell | None" = None,
    ) -> None:
        self.store = store
        self.clock = clock
        self._documents = documents
        self._search = search
        self._zone = zone
        self._rules = rules
        self.redact = redact
        self._drop = drop
        self._wants_summary = wants_summary
        self._retell = retell
        self.writing = Writing(documents=documents, clock=clock, zone=zone, has_secret=lambda text: redact(text) != text)
        self.recall = Recall(documents=documents, search=search, rules=rules, is_private=is_private)
        self.hands = MemoryHands(self.recall, self.writing)

    @cached_property
    def origins(self) -> "Origins":
        from ostiary.core.memory.origin import Origins

        return Origins(store=self.store, documents=self._documents)

    @cached_property
    def confirming(self) -> "Confirming":
        from ostiary.core.memory.confirming import Confirming

        return Confirming(store=self.store, documents=self._documents, writing=self.writing, clock=self.clock)

    @cached_property
    def forgetter(self) -> "Forgetter":
        from ostiary.core.memory.forgetting import Forgetter

        return Forgetter(
            store=self.store,
            documents=self._documents,
            search=self._search,
            clock=self.clock,
            rules=self._rules,
            drop=self._drop,
        )

    @cached_property
    def diary(self) -> "Diary":
        from ostiary.core.memory.diary import Diary

        return Diary(
            store=self.store,
            documents=self._documents,
            clock=self.clock,
            zone=self._zone,
            is_wanted=self._wants_summary,
            redact=self.redact,
            retell=self._retell,
        )

    async def note(self, text: str, *, by: Principal, area: Area | None = None, title: str = "", agent: str = "main") -> Kept:
        """A person writes a note by themselves, on their own word. Committed when it returns. Raises BadInput, Conflict,
        StoreError."""
        trust = Trust.OWNER if by.is_owner else Trust.CONTACT
        label = Label(trust=trust, sources=(str(by.user),), private=True)
        kept = await self.writing.plan(Wish(text=text, principal=by, label=label, area=area or "", title=title, agent=agent))
        if kept.writes:
            audit = Audit(at=self.clock.now(), kind="memory.written", actor=str(by.user), subject=kept.path, outcome=kept.outcome)
            await self.store.commit([*kept.writes, audit])
        return kept


make_memory = Memory
