"""Forgetting: the text is nowhere any more, and what is left still holds together."""

import hashlib
from pathlib import Path

import pytest

from ostiary.contracts.content import Image, Text, UserMessage
from ostiary.contracts.errors import BadInput, Busy, NotAllowed
from ostiary.contracts.events import Branched, Compacted, Erased, Noted, PrefixPinned
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import Append, MarkTurn, Put, PutBlob, SetValue, Tombstone
from ostiary.core.memory.forgetting import Forgetter
from ostiary.core.sessions.session import fold
from tests.unit.core.memory.house import BEN, MAIN, ME, MINE, WEB, Home, home, ruled

OTHER = SessionKey("main", "telegram:direct:7")


async def everything(house: Home) -> str:
    """All that can still be read: every version of every document, every event, every value."""
    parts = [repr(each) for _, each in await house.store.events_after(0, limit=10_000)]
    for _, version in await house.documents.changes(0, limit=10_000):
        found = await house.documents.get(version.collection, version.path, version=version.version)
        parts.append("" if found is None else found[1].decode())
    parts.extend(value.decode() for value in (await house.store.values("command-replies")).values())
    return "\n".join(parts)


async def test_a_forgotten_fact_is_nowhere_any_more(house: Home) -> None:
    await house.turn("Ben is my brother", "Noted.", wrote="The brother of the owner is Ben.")
    await house.turn("Btw my sister is called Ana", "Noted, Ana.", wrote="The sister of the owner is Ana.")
    await house.turn("What do you know?", "The sister of the owner is Ana, I think.", session=OTHER)
    await house.keep("The cat is called Mimi.")
    done = await house.memory.forgetter.forget("sister of the owner is Ana", by=ME)
    assert "Ana" not in await everything(house)
    assert await house.text("MEMORY.md") == "# Memory\n\n- The brother of the owner is Ben.\n- The cat is called Mimi.\n"
    assert (done.places, done.entries, done.versions, done.turns) == (("MEMORY.md#L4",), 1, 2, 2)
    assert done.sessions == (str(MAIN), str(OTHER))
    assert "in 30 days" in done.notices[0]


async def test_what_is_left_still_folds_and_verifies(house: Home) -> None:
    await house.turn("Ben is my brother", "Noted.", wrote="The brother of the owner is Ben.")
    await house.turn("Btw my sister is called Ana", "Noted.", wrote="The sister of the owner is Ana.")
    await house.turn("Thanks", "Welcome")
    await house.memory.forgetter.forget("sister of the owner", by=ME)
    session = fold(MAIN, await house.store.read(MAIN))
    said = [
        part.text
        for message in session.messages
        if isinstance(message, UserMessage)
        for part in message.parts
        if isinstance(part, Text)
    ]
    assert said == ["Ben is my brother", "Thanks"]
    assert session.turn is None
    assert await house.store.verify(MAIN) == ""


async def test_a_look_first_changes_nothing(house: Home) -> None:
    await house.turn("Btw my sister is called Ana", "Noted.", wrote="The sister of the owner is Ana.")
    before = await everything(house)
    plan = await house.memory.forgetter.plan("sister of the owner")
    assert [loss.path for loss in plan.losses] == ["MEMORY.md"]
    assert plan.spoken[0].turns == ("turn_1",)
    assert await everything(house) == before


async def test_summaries_made_of_it_go_and_others_stay(house: Home) -> None:
    await house.turn("Ben is my brother", "Noted.")
    await house.append(Compacted(summary="A clean one.", kept_from="", label=MINE))
    await house.turn("My sister is called Ana", "Noted.")
    third = await house.turn("Thanks", "Welcome")
    await house.append(Compacted(summary="There is a woman in the family.", kept_from=third, label=MINE))
    await house.append(Compacted(summary="Made of the one before.", kept_from=third, label=MINE))
    await house.reset("daily")
    await house.turn("hello", "hi")
    await house.append(Compacted(summary="After a new beginning.", kept_from="", label=MINE))
    done = await house.memory.forgetter.forget("sister is called Ana", by=ME)
    left = [each.event.summary for each in await house.store.read(MAIN) if isinstance(each.event, Compacted)]
    assert done.summaries == 2
    assert left == ["A clean one.", "After a new beginning."]


async def test_a_summary_that_kept_the_turn_itself_stays(house: Home) -> None:
    await house.turn("Ben is my brother", "Noted.")
    second = await house.turn("My sister is called Ana", "Noted.")
    await house.append(Compacted(summary="About Ben.", kept_from=second, label=MINE))
    done = await house.memory.forgetter.forget("sister is called Ana", by=ME)
    assert done.summaries == 0


async def test_the_daily_summary_of_the_conversation_goes_too(house: Home) -> None:
    await house.memory.diary.catch_up()
    await house.turn("What is the weather like?", "Fine. You said your sister comes.")
    await house.reset()
    await house.turn("My sister is called Ana", "Noted.")
    await house.turn("Unrelated words", "Yes.")
    await house.reset()
    await house.memory.diary.catch_up()
    await house.memory.forgetter.forget("sister is called Ana", by=ME)
    day = await house.text("memory/2026-11-16.md") or ""
    assert "weather" in day
    assert "Unrelated" not in day


async def test_old_homes_of_a_note_are_erased_as_well(house: Home) -> None:
    old = Put(collection="_bootstrap", path="MEMORY.md", content=b"Ana is my sister.\n", at=1.0, author="me", label=MINE)
    await house.commit(old, Tombstone(collection="_bootstrap", path="MEMORY.md", at=2.0, author="me"))
    await house.keep("Ana is my sister.", label=WEB)
    (note,) = await house.memory.confirming.waiting()
    await house.memory.confirming.confirm([note.id], by=ME)
    done = await house.memory.forgetter.forget("Ana is my sister", by=ME)
    assert "Ana" not in await everything(house)
    assert done.versions == 3
    assert await house.text("MEMORY.md") is None


async def test_events_outside_of_turns_and_kept_replies_go(house: Home) -> None:
    await house.append(Noted(text="Ana is my sister.", by="me", label=MINE))
    await house.append(
        Branched(parent="agent:main:x", at=1, messages=(UserMessage(parts=(Text(text="ana is my sister", label=MINE),)),))
    )
    await house.commit(SetValue(space="command-replies", key="5", value=b"- Ana is my sister."))
    await house.memory.forgetter.forget("Ana is my sister", by=ME)
    assert await house.kinds() == ["Erased", "Erased"]
    assert await house.store.value("command-replies", "5") is None


async def test_it_is_found_inside_of_arguments_written_as_json(house: Home) -> None:
    await house.turn("x", "ok", wrote="Zo\\u00eb is my sister.")
    await house.memory.forgetter.forget("Zoë is my sister", by=ME)
    assert not any(not isinstance(each.event, Erased) for each in await house.store.read(MAIN))


async def test_the_audit_tells_of_it_without_the_text(house: Home) -> None:
    await house.keep("Ana is my sister.")
    done = await house.memory.forgetter.forget("Ana is my sister", by=ME)
    (entry,) = await house.store.audit().entries(kind="memory.forgotten")
    assert (entry.actor, entry.subject, entry.outcome) == ("telegram:1", done.digest, "erased")
    assert "Ana" not in f"{entry} {done}"


async def test_open_sessions_and_the_index_are_renewed(house: Home) -> None:
    await house.turn("Ana is my sister", "Noted.", wrote="Ana is my sister.")
    await house.memory.forgetter.forget("Ana is my sister", by=ME)
    assert house.dropped == [MAIN]
    assert house.search.forgotten == [("_memory", "MEMORY.md"), ("_sessions", str(MAIN))]


async def test_nothing_is_erased_while_it_is_being_talked_about(house: Home) -> None:
    turn = await house.turn("Ana is my sister", "Noted.", wrote="Ana is my sister.")
    await house.commit(MarkTurn(turn=turn, session=MAIN, lane="main", state="running"))
    with pytest.raises(Busy, match="still running"):
        await house.memory.forgetter.forget("Ana is my sister", by=ME)
    assert "Ana" in (await house.text("MEMORY.md") or "")


async def test_a_folder_on_disk_is_named_and_left_alone(house: Home) -> None:
    ruled(house, folders=("notes",), backup_days=7)
    await house.commit(Put(collection="_memory", path="notes/family.md", content=b"Ana is my sister.", at=1.0, author="folder"))
    with pytest.raises(BadInput, match=r"notes/family\.md comes from a folder"):
        await house.memory.forgetter.forget("Ana is my sister", by=ME)
    await house.keep("Ana is my sister.")
    done = await house.memory.forgetter.forget("Ana is my sister", by=ME)
    assert done.notices[0].endswith("in 7 days.")
    assert done.notices[1].startswith("notes/family.md comes from")


@pytest.mark.parametrize("text", ["", "a", "Ana", "!!!!!!"])
async def test_a_text_too_short_to_be_meant_is_refused(house: Home, text: str) -> None:
    with pytest.raises(BadInput, match="at least 4"):
        await house.memory.forgetter.plan(text)


async def test_only_the_owner_makes_the_assistant_forget(house: Home) -> None:
    await house.keep("Ana is my sister.")
    with pytest.raises(NotAllowed):
        await house.memory.forgetter.forget("Ana is my sister", by=BEN)


async def test_the_bytes_are_gone_from_the_disk(tmp_path: Path) -> None:
    async with home(tmp_path) as house:
        await house.turn("Ana is my sister", "Noted.", wrote="Ana is my sister.")
        assert not (await house.memory.forgetter.plan("Ana is my sister")).is_empty
        await house.memory.forgetter.forget("Ana is my sister", by=ME)
        assert (await house.memory.forgetter.plan("Ana is my sister")).is_empty
    async with home(tmp_path) as again:
        assert "Ana" not in await everything(again)


async def test_it_works_without_an_index(house: Home) -> None:
    await house.keep("Ana is my sister.")
    alone = Forgetter(store=house.store, documents=house.documents, search=None, clock=house.clock, rules=lambda: house.rules)
    assert (await alone.forget("Ana is my sister", by=ME)).entries == 1


async def test_the_prompts_that_held_it_are_forgotten_too(house: Home) -> None:
    await house.turn("Btw my sister is called Ana", "Noted.", wrote="The sister of the owner is Ana.")
    prompts = {
        hashlib.sha256(text).hexdigest(): text for text in (b"## MEMORY.md\n- The sister of the owner is Ana.", b"## SOUL.md")
    }
    for digest, text in prompts.items():
        pinned = PrefixPinned(digest=digest, schemas="", reason="first turn")
        await house.commit(PutBlob(digest=digest, content=text), Append(session=MAIN, turn="", at=1.0, event=pinned))
    await house.memory.forgetter.forget("sister of the owner is Ana", by=ME)
    assert [await house.store.blob(digest) for digest in prompts] == [None, b"## SOUL.md"]


async def test_files_that_hold_it_are_named_and_left_alone(house: Home) -> None:
    for collection, path, text in (
        ("_workspace", "family.md", b"Ana is my sister."),
        ("_workspace", "gone.md", b"Ana is my sister."),
        ("_workspace", "other.md", b"Nothing here."),
        ("_bootstrap", "USER.md", b"# Me\nAna is my sister.\n"),
        ("recipes", "cake.bin", b"\x00Ana is my sister"),
    ):
        await house.commit(Put(collection=collection, path=path, content=text, at=1.0, author="me", label=MINE))
    await house.commit(Tombstone(collection="_workspace", path="gone.md", at=2.0, author="me"))
    with pytest.raises(BadInput, match=r"_bootstrap/USER.md, _workspace/family.md, _workspace/gone.md\. Their"):
        await house.memory.forgetter.forget("Ana is my sister", by=ME)
    await house.keep("Ana is my sister.")
    done = await house.memory.forgetter.forget("Ana is my sister", by=ME)
    assert "_workspace/family.md" in done.notices[-1]
    assert await house.documents.get("_workspace", "family.md") is not None


async def test_pictures_go_with_the_turn_they_came_with_unless_another_shows_them(house: Home) -> None:
    only, both = (hashlib.sha256(each).hexdigest() for each in (b"only", b"both"))
    await house.commit(PutBlob(digest=only, content=b"only"), PutBlob(digest=both, content=b"both"))
    pictures = tuple(Image(digest=each, media_type="image/png", label=MINE) for each in (only, both))
    told = UserMessage(parts=(Text(text="This is my sister Ana", label=MINE), *pictures))
    await house.append(Branched(parent="agent:main:x", at=1, messages=(told,)))
    shown = UserMessage(parts=(Text(text="Look again", label=MINE), pictures[1]))
    await house.append(Branched(parent="agent:main:x", at=1, messages=(shown,)), session=OTHER)
    await house.memory.forgetter.forget("my sister Ana", by=ME)
    assert [await house.store.blob(each) for each in (only, both)] == [None, b"both"]
