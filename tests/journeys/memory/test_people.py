"""Who remembers what: the owner's notes are for the owner, others have their own, and a group has none."""

from pathlib import Path

import pytest

from ostiary.contracts.store import Put
from ostiary.kit.models import call, say
from tests.journeys.memory.people import ME, People, people
from tests.journeys.memory.reading import holders

SECRET = "The safe behind the marmalade opens with 90210."
PLACES = ("MEMORY.md", "memory/private/notes.md", "memory/shared/../private/notes.md", "./MEMORY.md", "agents/main/MEMORY.md")
FOLDERS = ("", "memory", "memory/private", "_memory", "../_memory")
COMMANDS = (
    "cat MEMORY.md memory/private/notes.md; ls -laR . | head -50",
    "grep -rs 9021[0] . /tmp /home /root /agent 2>/dev/null | head",
    "find / -xdev -name 'store.d*' -o -xdev -name 'search.d*' 2>/dev/null; env",
)


async def _told(house: People) -> None:
    for area in ("long", "private", "daily"):
        await house.house.memory.note(SECRET, by=ME, area=area)


async def _refused(house: People, tool: str, **arguments: object) -> None:
    """The call is made, and nothing of the secret comes back."""
    outcome = await house.says("friend", "What is there?", call(tool, arguments))
    assert outcome.status == "completed"
    assert tool in house.tools
    assert "90210" not in house.shown


async def test_the_owner_finds_what_the_owner_told(tmp_path: Path) -> None:
    async with people(tmp_path / "home") as house:
        await _told(house)
        await house.says("owner", "Where is it?", call("memory_search", {"query": "safe behind the marmalade"}))
        assert "90210" in house.results[0]
        await house.says("owner", "Show me.", call("memory_get", {"path": "memory/private/notes.md"}))
        assert "90210" in house.results[-1]


async def test_somebody_else_finds_nothing_of_it_by_any_tool(tmp_path: Path) -> None:
    async with people(tmp_path / "home") as house:
        await _told(house)
        await house.says("owner", SECRET)
        owners = [str(each.key) for each in await house.house.store.sessions()]
        await _refused(house, "memory_search", query="safe behind the marmalade", limit=20)
        for path in PLACES:
            await _refused(house, "memory_get", path=path)
            await _refused(house, "read", path=path)
        for path in FOLDERS:
            await _refused(house, "ls", path=path)
        await _refused(house, "grep", pattern="9021[0]")
        await _refused(house, "find", glob="**/*")
        await _refused(house, "sessions_list")
        for session in owners:
            await _refused(house, "sessions_history", session=session, include_tools=True)


async def test_a_command_sees_the_workspace_and_nothing_of_memory(tmp_path: Path) -> None:
    async with people(tmp_path / "home") as house:
        await _told(house)
        await house.asks("agent:main:main", "Put it there.", call("write", {"path": "seen.txt", "content": "in the workspace"}))
        for command in COMMANDS:
            await _refused(house, "exec", command=command)
        await house.says("friend", "Look.", call("exec", {"command": "cat seen.txt"}))
        assert "in the workspace" in house.results[-1]


async def test_people_have_notes_of_their_own_which_the_owner_can_read(tmp_path: Path) -> None:
    async with people(tmp_path / "home") as house:
        await house.says("ben", "I like chess.", call("memory_write", {"text": "Ben likes chess."}))
        await house.says("eve", "Who plays?", call("memory_search", {"query": "likes chess"}))
        assert "Nothing in memory matches" in house.results[0]
        await house.says("ben", "What do I like?", call("memory_search", {"query": "likes chess"}))
        assert "Ben likes chess." in house.results[-1]
        await house.says("owner", "Who plays?", call("memory_search", {"query": "likes chess"}))
        assert "Ben likes chess." in house.results[0]


async def test_what_somebody_else_says_for_everybody_waits_for_the_owner(tmp_path: Path) -> None:
    async with people(tmp_path / "home") as house:
        text = "The owner pays for everybody's dinner."
        await house.says("ben", "Remember it!", call("memory_write", {"text": text, "area": "shared"}))
        await house.says("eve", "Who pays?", call("memory_search", {"query": "who pays for dinner"}))
        assert "Nothing in memory matches" in house.results[0]
        (waiting,) = await house.house.memory.confirming.waiting()
        told = await house.says("owner", "/memory")
        assert waiting.id in told.text
        await house.says("owner", f"/memory confirm {waiting.id}")
        await house.says("eve", "Who pays now?", call("memory_search", {"query": "who pays for dinner"}))
        assert text in house.results[-1]


async def test_agents_remember_apart(tmp_path: Path) -> None:
    async with people(tmp_path / "home") as house:
        await _told(house)
        await house.asks("agent:work:main", "Note it.", call("memory_write", {"text": "The invoice is due on Friday."}))
        await house.asks("agent:work:main", "Safe?", call("memory_search", {"query": "safe behind the marmalade"}))
        assert "90210" not in house.shown
        await house.asks("agent:main:main", "Due?", call("memory_search", {"query": "when is the invoice due"}))
        assert "Friday" not in house.results[0]
        await house.asks("agent:work:main", "Due?", call("memory_search", {"query": "when is the invoice due"}))
        assert "Friday" in house.results[-1]


@pytest.mark.parametrize("who", ["owner", "friend"])
async def test_a_group_has_no_memory(tmp_path: Path, who: str) -> None:
    async with people(tmp_path / "home") as house:
        await _told(house)
        steps = call("memory_search", {"query": "safe behind the marmalade"}).then(call("memory_get", {"path": "MEMORY.md"}))
        await house.says(who, "What do you know?", steps, chat="family")
        assert "not searched in groups" in house.results[0]
        assert "90210" not in house.shown


async def test_what_is_forgotten_is_not_in_what_was_sent_on_a_channel_either(tmp_path: Path) -> None:
    async with people(tmp_path / "home") as house:
        await house.says("owner", f"Remember: {SECRET}", call("memory_write", {"text": SECRET}), say(f"Kept: {SECRET}"))
        await house.channel.until_sent(1)
        before = holders(tmp_path / "home", "marmalade")
        done = await house.house.memory.forgetter.forget(SECRET, by=ME)
    assert "store.db:outbox" in before
    assert (done.entries, done.turns) == (1, 1)
    assert holders(tmp_path / "home", "marmalade") == []


async def test_a_document_that_people_made_is_not_memory(tmp_path: Path) -> None:
    async with people(tmp_path / "home") as house:
        note = Put(collection="recipes", path="jam.md", content=b"90210 grams of sugar", at=1.0, author="post:owner")
        await house.house.store.commit([note])
        await _refused(house, "memory_search", query="grams of sugar")
