"""The vault behind the pretended gateway is a real one: a store, an index and the desks of the gateway, with a past of a week."""

import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

from ostiary.adapters.search import open_search
from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.assembly.memory_desk import MemoryAtDesk
from ostiary.assembly.vault_desk import VaultAtDesk
from ostiary.contracts.content import Label, Text, Trust
from ostiary.contracts.errors import OstiaryError
from ostiary.contracts.events import ModelAnswered, TurnInput, TurnStarted
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import Address, UserId
from ostiary.contracts.model import Usage
from ostiary.contracts.store import Append, MarkTurn, Put, SaveSession, SessionRecord, Write
from ostiary.core.memory.memory import Memory, make_memory
from ostiary.core.memory.rules import MemoryRules
from ostiary.core.memory.writing import Wish
from ostiary.gateway.auth import ALL_SCOPES, Caller
from ostiary.gateway.methods import all_methods
from ostiary.gateway.methods.services import Call
from ostiary.gateway.protocol.errors import MethodError, from_error
from ostiary.kit.clock import ManualClock
from tests.browser.fake_gateway.wire import Refused

KEY = bytes(range(32))
OWNER = Principal(user=UserId(channel="api", stable_id="token"), role="owner")
OWN = Label(trust=Trust.OWNER, sources=("api:token",))
WEB = Label(trust=Trust.UNTRUSTED, sources=("web:recipes.example",), private=True)
MAIN = SessionKey("main", "main")
HOUR = 3600.0
DAY = 24 * HOUR
DOT = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)

NAMES = [name for name in all_methods() if name.startswith(("vault.", "memory.")) or name == "sessions.search"]
PARAMS: dict[str, Any] = {name: all_methods()[name].params for name in NAMES}

PLAN = """# Winter journey

- Train to **Ljubljana** on the 12th, seat 41
- Two nights at the old mill
- Skates for Ana

| day | where | cost |
|---|---|---:|
| 12 | Ljubljana | 120 € |
| 13 | Bled | 80 € |

```python
total = sum(cost for _, cost in days)
```
"""
SECOND_PLAN = PLAN.replace("Skates for Ana", "Skis for Ana")
FIRST_PLAN = SECOND_PLAN.replace("seat 41", "seat 12").replace("- Two nights at the old mill\n", "")
JELLY = "2 kg quinces\n1 kg sugar\nlemon\n"
SCRIPT = 'import sys\n\nfor name in sys.argv[1:]:\n    print("Hello,", name)\n'


class FakeVault:
    """`clock` stands at the present and moves a second with every call."""

    def __init__(self, store: SqliteStore, memory: Memory, services: SimpleNamespace, clock: ManualClock) -> None:
        self.store = store
        self.memory = memory
        self.clock = clock
        self._services = services

    async def on(self, method: str, params: dict[str, Any]) -> Any:
        """By the handlers of the gateway itself. Raises Refused."""
        self.clock.jump(1)
        served = all_methods()[method]
        caller = Caller(id="page", principal=OWNER, scopes=ALL_SCOPES, kind="token")
        call = Call(
            params=msgspec.convert(params, served.params),
            caller=caller,
            connection=None,  # type: ignore[arg-type]
            hub=None,  # type: ignore[arg-type]
            services=self._services,  # type: ignore[arg-type]
        )
        try:
            return msgspec.to_builtins(await served.handler(call))
        except OstiaryError as error:
            refusal = from_error(error)
        except MethodError as error:
            refusal = error
        raise Refused(refusal.code, refusal.message, hint=refusal.hint, details=refusal.details)

    async def put(self, collection: str, path: str, content: str | bytes, *, ago: float = 0.0, **more: Any) -> int:
        put = self._put(collection, path, content, ago=ago, **more)
        (version,) = await self.store.commit([put])
        return version

    def _put(self, collection: str, path: str, content: str | bytes, *, ago: float = 0.0, **more: Any) -> Put:
        raw = content.encode() if isinstance(content, str) else content
        facts: dict[str, Any] = {"author": "api:token", "label": OWN, **more}
        return Put(collection=collection, path=path, content=raw, at=self.clock.now() - ago, **facts)

    async def seed(self) -> None:
        """A week in the life of a house."""
        said = "My locker at the station is number 4711, please remember it."
        await self.store.commit(self._talk("t1", said, "Noted: your locker at the station is number 4711."))
        agent = {"author": "agent:main", "turn": "t1"}
        puts = [
            self._put("_workspace", "plans/winter.md", FIRST_PLAN, ago=5 * DAY),
            self._put("_workspace", "plans/winter.md", SECOND_PLAN, ago=2 * DAY, **agent),
            self._put("_workspace", "plans/winter.md", PLAN, ago=3 * HOUR),
            self._put("_workspace", "src/hello.py", SCRIPT, ago=4 * DAY, **agent),
            self._put("_workspace", "recipes/quince jelly.txt", JELLY, ago=DAY, author="agent:main", label=WEB),
            self._put("_workspace", "pictures/dot.png", DOT, ago=DAY),
            self._put("_workspace", "readme.md", "# Read me\n\nWhat lies where.\n", ago=6 * DAY),
            self._put("_bootstrap", "AGENTS.md", "# How to work\n\nBe brief.\n", ago=7 * DAY, author="ostiary"),
            self._put("_bootstrap", "SOUL.md", "# Who you are\n\nA doorkeeper.\n", ago=7 * DAY, author="ostiary"),
            self._put("notes", "garden/trees.md", "# Trees\n\nThe quince tree stands behind the shed.\n", ago=6 * DAY),
            self._put("_memory", "letters/aunt.md", "Dear Ana,\n\nthe quinces are ripe.\n", ago=3 * DAY),
        ]  # fmt: skip
        await self.store.commit(puts)
        self.clock.jump(-2 * DAY)
        await self.memory.note("Ana is allergic to walnuts.", by=OWNER, area="long")
        await self.keep("Their locker at the station is number 4711.", Label(trust=Trust.OWNER, private=True), turn="t1")
        await self.memory.note("The plumber comes on Tuesdays.", by=OWNER, area="shared")
        await self.memory.note("Talked about the winter journey.", by=OWNER, area="daily")
        self.clock.jump(2 * DAY)
        await self.memory.note("The car is a blue Saab.", by=OWNER, area="daily")
        await self.keep("The bank's new telephone number is 555-0100.", WEB, turn="t1")
        await self.keep("Quince jelly sets at 105 degrees.", WEB, turn="t1", area="daily")

    async def keep(self, text: str, label: Label, *, turn: str = "", area: Any = "long") -> None:
        """As the assistant keeps a note in a turn."""
        kept = await self.memory.writing.plan(Wish(text=text, principal=OWNER, label=label, area=area, turn=turn))
        await self.store.commit(kept.writes)

    def _talk(self, turn: str, said: str, answered: str) -> list[Write]:
        at = self.clock.now() - 2 * DAY
        place = Address(channel="webchat", account="default", chat=str(MAIN))
        inputs = (TurnInput(item=1, sender=OWNER.user, at=at, parts=(Text(text=said, label=OWN),)),)
        parts = (Text(text=answered, label=OWN),)
        record = SessionRecord(key=MAIN, created_at=at, updated_at=at, title="Planning the trip to Vienna", last_seq=2)
        return [
            Append(session=MAIN, turn=turn, at=at, event=TurnStarted(inputs=inputs, principal=OWNER, reply_to=place)),
            Append(
                session=MAIN, turn=turn, at=at + 2, event=ModelAnswered(step=1, parts=parts, stop="end", usage=Usage(), model="m")
            ),
            MarkTurn(turn=turn, session=MAIN, lane="main", state="ended"),
            SaveSession(record=record),
        ]


@asynccontextmanager
async def open_vault() -> AsyncIterator[FakeVault]:
    clock = ManualClock(time.time())
    with tempfile.TemporaryDirectory(prefix="ostiary-vault-") as name:
        folder = Path(name)
        async with (
            open_store(folder / "store.db", KEY, clock=clock) as store,
            open_search(folder / "search.db", KEY, store=store, embedder=None, clock=clock) as search,
        ):
            memory = make_memory(
                store=store,
                documents=store.documents,
                search=search,
                clock=clock,
                zone=lambda: UTC,
                rules=MemoryRules,
                is_private=lambda session: True,
                redact=lambda text: text,
                drop=lambda session: None,
                wants_summary=lambda session: False,
            )
            documents = store.documents
            services = SimpleNamespace(
                vault=VaultAtDesk(store=store, documents=documents, search_index=search, clock=clock),
                memory=MemoryAtDesk(memory=memory, store=store, documents=documents, search_index=search),
            )
            made = FakeVault(store, memory, services, clock)
            await made.seed()
            yield made
