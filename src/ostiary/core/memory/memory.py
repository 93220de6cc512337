"""Memory as the house holds it: all its parts, standing on the same store."""

from collections.abc import Callable
from datetime import tzinfo

from ostiary.contracts.clock import Clock
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.search import Search
from ostiary.contracts.store import Audit, Documents, Store
from ostiary.core.memory.confirming import Confirming
from ostiary.core.memory.diary import Diary, Retell
from ostiary.core.memory.forgetting import Forgetter
from ostiary.core.memory.hands import MemoryHands
from ostiary.core.memory.origin import Origins
from ostiary.core.memory.paths import Area
from ostiary.core.memory.recall import Recall
from ostiary.core.memory.rules import MemoryRules
from ostiary.core.memory.writing import Kept, Wish, Writing


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """`hands` is what the tools stand on; the rest is for the owner's desk and commands. `diary` runs until cancelled."""

    store: Store
    clock: Clock
    hands: MemoryHands
    recall: Recall
    writing: Writing
    origins: Origins
    confirming: Confirming
    forgetter: Forgetter
    diary: Diary

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


def make_memory(
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
    retell: Retell | None = None,
) -> Memory:
    """`redact` takes secrets out of a text; a note from which it would take something is refused. `drop` throws a session's
    cached fold away. `wants_summary`: whether the diary tells of this session."""
    writing = Writing(documents=documents, clock=clock, zone=zone, has_secret=lambda text: redact(text) != text)
    recall = Recall(documents=documents, search=search, rules=rules, is_private=is_private)
    origins = Origins(store=store, documents=documents)
    return Memory(
        store=store,
        clock=clock,
        hands=MemoryHands(recall, writing),
        recall=recall,
        writing=writing,
        origins=origins,
        confirming=Confirming(store=store, documents=documents, writing=writing, origins=origins, clock=clock),
        forgetter=Forgetter(store=store, documents=documents, search=search, clock=clock, rules=rules, drop=drop),
        diary=Diary(
            store=store,
            documents=documents,
            clock=clock,
            zone=zone,
            is_wanted=wants_summary,
            redact=redact,
            retell=retell,
        ),
    )
