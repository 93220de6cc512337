"""The prompt of a turn: remembered while nothing changed, new as soon as something did, private things kept private."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.assembly.config.load import load
from ostiary.assembly.prompting import FILES_SECONDS, HousePrompts, is_private_place
from ostiary.assembly.rules import Rules, compile_rules
from ostiary.contracts.events import TurnStarted
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import Address, UserId
from ostiary.contracts.model import ModelFacts, ModelRef
from ostiary.contracts.store import Put
from ostiary.core.agent.bootstrap import BOOTSTRAP, MEMORY
from ostiary.core.agent.context import Prepared
from ostiary.core.sessions.session import Session, Turn
from ostiary.kit.clock import ManualClock
from tests.unit.core.engines import KEY, Tool

FACTS = ModelFacts(ref=ModelRef("kit", "m"))
OWNER = Principal(user=UserId(channel="telegram", stable_id="1"), role="owner")
GUEST = Principal(user=UserId(channel="telegram", stable_id="2"))


class Desk:
    def __init__(self, store: SqliteStore, rules: Rules, clock: ManualClock, **more: Any) -> None:
        self.store, self.rules, self.clock = store, rules, clock
        self.prompts = HousePrompts(
            documents=store.documents,
            tools={"session_status": Tool("session_status"), "exec": Tool("exec")},
            clock=clock,
            rules=lambda: self.rules,
            names=lambda agent: "Pat",
            pushes=lambda channel: channel == "telegram",
            first_session=more.get("first_session", "none"),
        )

    async def write(self, name: str, text: str) -> None:
        collection = MEMORY if name == "MEMORY.md" else BOOTSTRAP
        await self.store.commit([Put(collection=collection, path=name, content=text.encode(), at=0.0, author="owner")])

    async def prompt(
        self, principal: Principal = OWNER, *, scope: str = "main", facts: ModelFacts = FACTS, channel: str = "telegram"
    ) -> Prepared:
        address = Address(channel=channel, account="default", chat="c")
        started = TurnStarted(inputs=(), principal=principal, reply_to=address)
        turn = Turn(id="t", started=started, started_at=0.0, items=[])
        return await self.prompts.prepare(session=Session(SessionKey("main", scope)), turn=turn, facts=facts)


@asynccontextmanager
async def desk(tmp_path: Path, config: dict[str, Any] | None = None, **more: Any) -> AsyncIterator[Desk]:
    path = tmp_path / "ostiary.json5"
    path.write_text(json.dumps(config or {}))
    path.chmod(0o600)
    rules, clock = compile_rules(load(tmp_path, {}).config, 1), ManualClock()
    async with open_store(tmp_path / "store.db", KEY, clock=clock) as store:
        yield Desk(store, rules, clock, **more)


async def test_nothing_is_made_twice_while_nothing_changes(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        assert await made.prompt() is await made.prompt()


async def test_an_edited_file_counts_after_a_minute_and_every_edit_counts(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        for number in range(40):
            await made.write("SOUL.md", f"Be kind, number {number}.")
            await made.clock.advance(FILES_SECONDS + 1)
            prefix = (await made.prompt()).prefix
            assert f"number {number}." in prefix


async def test_a_new_generation_counts_at_once(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        before = await made.prompt()
        made.rules = replace(made.rules, generation=2, zone_name="Asia/Tokyo")
        assert (await made.prompt()).digest != before.digest


async def test_the_owners_memory_is_for_the_owner_alone_with_the_assistant(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        await made.write("MEMORY.md", "The safe's number is 1234.")
        assert "1234" in (await made.prompt(OWNER)).prefix
        assert "1234" not in (await made.prompt(OWNER, scope="telegram:group:room")).prefix
        assert "1234" not in (await made.prompt(GUEST)).prefix
        assert "1234" not in (await made.prompt(GUEST, scope="telegram:direct:2")).prefix


async def test_the_model_is_shown_only_tools_this_person_may_use(tmp_path: Path) -> None:
    async with desk(tmp_path, {"tools": {"profile": "minimal", "switches": False}}) as made:
        assert [spec.name for spec in (await made.prompt(OWNER)).tools] == ["session_status"]
        assert (await made.prompt(GUEST)).tools == ()


async def test_the_embedded_model_gets_a_shorter_prompt(tmp_path: Path) -> None:
    small = ModelFacts(ref=ModelRef("embedded", "m"))
    async with desk(tmp_path) as made:
        assert len((await made.prompt(facts=small)).prefix) < len((await made.prompt()).prefix)


async def test_only_the_first_conversation_sees_the_bootstrap_file(tmp_path: Path) -> None:
    async with desk(tmp_path, first_session="") as made:
        await made.write("BOOTSTRAP.md", "Introduce yourself.")
        assert "Introduce yourself." in (await made.prompt(scope="main")).prefix
        assert "Introduce yourself." not in (await made.prompt(scope="telegram:direct:1")).prefix
        assert "Introduce yourself." in (await made.prompt(scope="main")).prefix


async def test_what_is_remembered_is_bounded(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        for number in range(200):
            await made.prompt(facts=ModelFacts(ref=ModelRef("kit", f"m{number}")))
        assert len(made.prompts._made) <= 64


def test_groups_and_rooms_are_not_private() -> None:
    assert [is_private_place(SessionKey("main", scope)) for scope in ("main", "telegram:direct:1", "telegram:group:x")] == [
        True,
        True,
        False,
    ]


async def test_a_prefix_is_never_found_by_files_that_are_gone(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        await made.write("SOUL.md", "Be kind.")
        await made.prompt()
        first = {known[7] for known in made.prompts._made}
        await made.write("SOUL.md", "Be quick.")
        await made.clock.advance(FILES_SECONDS + 1)
        await made.prompt()
        second = {known[7] for known in made.prompts._made} - first
        assert (first, second) == ({1}, {2})


async def test_files_that_were_read_again_and_did_not_change_keep_their_prefix(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        await made.write("SOUL.md", "Be kind.")
        before = await made.prompt()
        await made.clock.advance(FILES_SECONDS + 1)
        assert await made.prompt() is before


async def test_a_file_is_shown_as_far_as_the_configuration_says(tmp_path: Path) -> None:
    async with desk(tmp_path, {"agents": {"defaults": {"bootstrapMaxChars": 100}}}) as made:
        await made.write("SOUL.md", "x" * 5000)
        assert "x" * 200 not in (await made.prompt()).prefix
