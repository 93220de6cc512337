from pathlib import Path
from typing import Any

import pytest

from ostiary.assembly.memory_desk import MemoryAtDesk
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.store import EraseVersions, Put
from ostiary.gateway.auth import Caller
from ostiary.gateway.socket.callers import Admitted
from ostiary.kit.models import say
from tests.unit.core.control.parts import STRANGER
from tests.unit.gateway.socket.room import MAIN, Client, Refusal, Room, open_room

NOTES = "notes"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)


class Desk:
    """A client that writes with fresh keys, and a clock that moves with every write."""

    def __init__(self, room: Room, client: Client) -> None:
        self.room = room
        self.client = client
        self._keys = 0

    async def act(self, method: str, **params: Any) -> Any:
        self._keys += 1
        self.room.clock.jump(60)
        return await self.client.call(method, {"collection": NOTES, **params, "idempotencyKey": f"key-{self._keys:05}"})

    async def ask(self, method: str, **params: Any) -> Any:
        return await self.client.call(method, {"collection": NOTES, **params})

    async def put(self, path: str, text: str, version: int = 0) -> int:
        written: int = (await self.act("vault.put", path=path, text=text, version=version))["version"]
        return written

    async def text(self, path: str, **more: Any) -> str:
        found: str = (await self.ask("vault.get", path=path, **more))["text"]
        return found

    async def stored(self, path: str, content: bytes, **more: Any) -> None:
        put = Put(collection=NOTES, path=path, content=content, at=self.room.clock.now(), author="tests", **more)
        await self.room.store.commit([put])


@pytest.fixture
async def desk(tmp_path: Path) -> Any:
    async with open_room(tmp_path) as room:
        yield Desk(room, await room.client())


async def test_a_folder_shows_its_files_and_the_folders_below_it(desk: Desk) -> None:
    for path in ("a.md", "trips/2026/rome.md", "trips/2026/oslo.md", "trips/list.md", "zebra.md", "trips-old/x.md"):
        await desk.put(path, "x")
    top = await desk.ask("vault.list", folder="")
    assert [each["path"] for each in top["documents"]] == ["a.md", "zebra.md"]
    assert top["folders"] == ["trips-old", "trips"]
    below = await desk.ask("vault.list", folder="trips")
    assert ([each["path"] for each in below["documents"]], below["folders"]) == (["trips/list.md"], ["2026"])


async def test_a_large_folder_is_stepped_over_and_paged(desk: Desk) -> None:
    puts = [
        Put(collection=NOTES, path=f"{folder}/{number:04}.md", content=b"x", at=1.0, author="tests")
        for folder in ("big", "large")
        for number in range(600)
    ]
    await desk.room.store.commit(puts)
    await desk.put("zebra.md", "x")
    top = await desk.ask("vault.list", folder="")
    assert (top["folders"], [each["path"] for each in top["documents"]], top["after"]) == (["big", "large"], ["zebra.md"], "")
    seen: list[str] = []
    after = ""
    for _ in range(3):
        page = await desk.ask("vault.list", folder="big", limit=200, after=after)
        seen += [each["path"] for each in page["documents"]]
        after = page["after"]
    assert len(set(seen)) == 600


async def test_a_folder_with_glob_characters_is_itself(desk: Desk) -> None:
    await desk.put("[x]/a.md", "x")
    await desk.put("x/b.md", "x")
    found = await desk.ask("vault.list", folder="[x]")
    assert [each["path"] for each in found["documents"]] == ["[x]/a.md"]


async def test_a_text_is_written_only_over_the_version_it_was_made_from(desk: Desk) -> None:
    assert await desk.put("a.md", "one") == 1
    assert await desk.put("a.md", "two", 1) == 2
    with pytest.raises(Refusal) as refused:
        await desk.put("a.md", "mine", 1)
    assert refused.value.code == "CONFLICT"
    assert (refused.value.details["version"], refused.value.details["author"]) == (2, "api:token")
    assert await desk.text("a.md") == "two"


async def test_the_same_act_after_a_lost_answer_changes_nothing_more(desk: Desk) -> None:
    await desk.put("a.md", "one")
    again = await desk.act("vault.put", path="a.md", text="one", version=0)
    assert again["version"] == 1
    assert len((await desk.ask("vault.history", path="a.md"))["versions"]) == 1


async def test_versions_tell_author_trust_and_the_conversation_of_their_turn(desk: Desk) -> None:
    await desk.put("a.md", "one")
    label = Label(trust=Trust.UNTRUSTED, sources=("web:x.example",), private=True)
    await desk.stored("a.md", b"two", turn="t77", label=label)
    newest, oldest = (await desk.ask("vault.history", path="a.md"))["versions"]
    assert (newest["trust"], newest["private"], newest["sources"]) == ("untrusted", True, ["web:x.example"])
    assert (newest["turn"], newest["session"]) == ("t77", "")
    assert (oldest["version"], oldest["author"], oldest["trust"]) == (1, "api:token", "owner")


async def test_two_versions_are_compared_and_one_with_nothing(desk: Desk) -> None:
    await desk.put("a.md", "one\n")
    await desk.put("a.md", "one\ntwo\n", 1)
    change = await desk.ask("vault.diff", path="a.md", before=1)
    assert (change["added"], change["removed"], change["after"]) == (1, 0, 2)
    assert "+two" in change["diff"]
    whole = await desk.ask("vault.diff", path="a.md", before=0, after=1)
    assert "+one" in whole["diff"]


async def test_pictures_and_large_texts_are_named_and_not_sent(desk: Desk) -> None:
    await desk.stored("p.png", PNG)
    await desk.stored("long.txt", b"x" * (512 * 1024 + 1))
    await desk.stored("data.bin", b"\x00\x01\xff")
    kinds = {path: await desk.ask("vault.get", path=path) for path in ("p.png", "long.txt", "data.bin")}
    assert {path: (each["kind"], each["text"]) for path, each in kinds.items()} == {
        "p.png": ("image", None),
        "long.txt": ("big", None),
        "data.bin": ("binary", None),
    }
    assert await desk.room.store.blob(kinds["p.png"]["document"]["digest"]) is None


async def test_a_moment_of_the_past_is_browsed(desk: Desk) -> None:
    await desk.put("a.md", "old")
    then = desk.room.clock.now() + 1
    await desk.put("a.md", "new", 1)
    await desk.put("b.md", "later")
    past = await desk.ask("vault.list", folder="", at=then)
    assert [each["path"] for each in past["documents"]] == ["a.md"]
    assert await desk.text("a.md", at=then) == "old"
    with pytest.raises(Refusal):
        await desk.text("b.md", at=then)


async def test_a_version_is_restored_by_its_preview_and_taken_back_again(desk: Desk) -> None:
    await desk.put("a.md", "one")
    await desk.put("a.md", "two", 1)
    preview = await desk.ask("vault.restore.preview", path="a.md", version=1)
    assert preview["changes"] == [{"path": "a.md", "change": "changed", "now": 2, "then": 1}]
    done = await desk.act("vault.restore", path="a.md", version=1, digest=preview["digest"])
    assert await desk.text("a.md") == "one"
    back = await desk.ask("vault.restore.preview", at=done["undoAt"])
    await desk.act("vault.restore", at=done["undoAt"], digest=back["digest"])
    assert await desk.text("a.md") == "two"


async def test_a_collection_goes_back_to_a_moment_whole(desk: Desk) -> None:
    await desk.put("a.md", "one")
    await desk.put("gone.md", "dear")
    then = desk.room.clock.now() + 1
    await desk.put("a.md", "two", 1)
    await desk.act("vault.delete", path="gone.md", version=1)
    await desk.put("new.md", "x")
    preview = await desk.ask("vault.restore.preview", at=then)
    changes = {each["path"]: each["change"] for each in preview["changes"]}
    assert changes == {"a.md": "changed", "gone.md": "back", "new.md": "deleted"}
    await desk.act("vault.restore", at=then, digest=preview["digest"])
    living = await desk.ask("vault.list", folder="")
    assert [each["path"] for each in living["documents"]] == ["a.md", "gone.md"]


async def test_what_changed_since_the_preview_is_not_overwritten(desk: Desk) -> None:
    await desk.put("a.md", "one")
    then = desk.room.clock.now() + 1
    await desk.put("a.md", "two", 1)
    preview = await desk.ask("vault.restore.preview", at=then)
    await desk.put("b.md", "written meanwhile")
    with pytest.raises(Refusal) as refused:
        await desk.act("vault.restore", at=then, digest=preview["digest"])
    assert refused.value.code == "CONFLICT"
    assert await desk.text("a.md") == "two"


async def test_what_a_turn_did_goes_back_to_before_it(desk: Desk) -> None:
    await desk.put("a.md", "mine")
    desk.room.clock.jump(60)
    await desk.stored("a.md", b"of the turn", turn="t9")
    preview = await desk.ask("vault.restore.preview", turn="t9")
    await desk.act("vault.restore", turn="t9", digest=preview["digest"])
    assert await desk.text("a.md") == "mine"


@pytest.mark.parametrize("which", [{}, {"version": 1, "at": 5.0}, {"at": 5.0, "turn": "t1"}])
async def test_a_restore_says_exactly_one_thing(desk: Desk, which: dict[str, Any]) -> None:
    await desk.put("a.md", "x")
    with pytest.raises(Refusal) as refused:
        await desk.ask("vault.restore.preview", path="a.md", **which)
    assert refused.value.code == "INVALID_PARAMS"


async def test_an_erased_version_is_not_there_to_be_read_or_restored(desk: Desk) -> None:
    await desk.put("a.md", "secret")
    await desk.put("a.md", "clean", 1)
    await desk.room.store.commit([EraseVersions(collection=NOTES, path="a.md", versions=(1,))])
    for method in ("vault.get", "vault.restore.preview"):
        with pytest.raises(Refusal) as refused:
            await desk.ask(method, path="a.md", version=1)
        assert refused.value.code == "NOT_FOUND"


async def test_a_document_is_moved_and_deleted_and_stays_in_the_history(desk: Desk) -> None:
    await desk.put("a.md", "x")
    moved = await desk.act("vault.move", path="a.md", to="b/c.md", version=1)
    assert moved["path"] == "b/c.md"
    await desk.act("vault.delete", path="b/c.md", version=moved["version"])
    with pytest.raises(Refusal):
        await desk.text("b/c.md")
    assert await desk.text("b/c.md", version=1) == "x"
    kinds = [each.kind for each in await desk.room.store.audit().entries(limit=10, kind="vault.*")]
    assert kinds == ["vault.written", "vault.moved", "vault.deleted"]


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a\u0000b", "a//b"])
async def test_a_path_that_leads_elsewhere_is_refused(desk: Desk, path: str) -> None:
    with pytest.raises(Refusal) as refused:
        await desk.put(path, "x")
    assert refused.value.code == "INVALID_PARAMS"


async def test_conversations_are_not_written_as_documents(desk: Desk) -> None:
    with pytest.raises(Refusal) as refused:
        await desk.act("vault.put", collection="_sessions", path="a", text="x", version=0)
    assert refused.value.code == "INVALID_PARAMS"


async def test_everything_is_searched_and_a_new_note_is_found_at_once(desk: Desk) -> None:
    await desk.put("garden.md", "# Garden\n\nThe quince tree is planted behind the shed.\n")
    await desk.put("other.md", "Nothing of the kind.\n")
    found = await desk.client.call("vault.search", {"text": "where is the quince tree"})
    assert (found["hits"][0]["path"], found["hits"][0]["collection"]) == ("garden.md", NOTES)
    assert "quince" in " ".join(found["hits"][0]["why"])


async def test_what_was_said_is_found_with_its_conversation_and_turn(tmp_path: Path) -> None:
    async with open_room(tmp_path, say("Your locker number is 4711.")) as room:
        client = await room.client()
        sent = await client.call("chat.send", {"key": MAIN, "text": "Note the quince.", "idempotencyKey": "key-00001"})
        await room.engine.outcome(sent["item"])
        (turn,) = (await client.call("chat.history", {"key": MAIN}))["turns"]
        (hit,) = (await client.call("sessions.search", {"text": "locker number"}))["hits"]
        assert (hit["key"], hit["turn"]) == (MAIN, turn["id"])
        assert "4711" in hit["snippet"]


async def test_only_the_owner_changes_documents(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        reader = await room.client(scopes=("read",))
        assert await reader.call("vault.collections") == {"collections": []}
        params = {"collection": NOTES, "path": "a.md", "text": "x", "version": 0, "idempotencyKey": "key-00001"}
        with pytest.raises(Refusal) as refused:
            await reader.call("vault.put", params)
        assert refused.value.code == "FORBIDDEN"


async def test_a_stranger_with_every_scope_is_still_no_owner(tmp_path: Path) -> None:
    async def identify(scope: Any, said: Any, nonce: str) -> Admitted:
        caller = Caller(id="x", principal=STRANGER, scopes=frozenset({"read", "chat", "approve", "admin"}), kind="token")
        return Admitted(caller=caller)

    async with open_room(tmp_path) as room:
        room.socket._identify = identify
        client = await room.client()
        with pytest.raises(Refusal) as refused:
            await client.call("vault.delete", {"collection": NOTES, "path": "a.md", "version": 1, "idempotencyKey": "key-00001"})
        assert refused.value.code == "FORBIDDEN"


async def test_history_tells_whose_words_the_conversation_holds(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        client = await room.client()
        sent = await client.call("chat.send", {"key": MAIN, "text": "hi", "idempotencyKey": "key-00001"})
        await room.engine.outcome(sent["item"])
        label = (await client.call("chat.history", {"key": MAIN}))["label"]
        assert (label["trust"], label["private"], label["sources"]) == ("owner", False, ["api:token", "ostiary"])


async def test_who_only_reads_is_shown_no_secret_and_who_may_change_it_sees_the_text(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        memory = room.services.memory
        assert isinstance(memory, MemoryAtDesk)
        memory.memory.redact = lambda text: text.replace("hunter2", "[redacted:known]")
        owner, reader = Desk(room, await room.client()), Desk(room, await room.client(scopes=("read",)))
        await owner.put("router.md", "The password of the router is hunter2.")
        assert "hunter2" in await owner.text("router.md")
        shown = [
            await reader.ask("vault.get", path="router.md"),
            await reader.ask("vault.diff", path="router.md", before=0),
            await reader.client.call("vault.search", {"text": "password of the router"}),
        ]
        assert [("hunter2" in str(each), "[redacted:known]" in str(each)) for each in shown] == [(False, True)] * 3


async def test_without_anybody_who_can_tell_a_secret_only_who_may_change_texts_sees_them(tmp_path: Path) -> None:
    async with open_room(tmp_path, memory=None) as room:
        await Desk(room, await room.client()).put("a.md", "x")
        with pytest.raises(Refusal) as refused:
            await Desk(room, await room.client(scopes=("read",))).text("a.md")
    assert refused.value.code == "FORBIDDEN"


@pytest.mark.parametrize(("collection", "is_private"), [("_memory", True), ("_bootstrap", True), ("notes", False)])
async def test_what_the_owner_writes_into_memory_and_the_prompt_is_private(desk: Desk, collection: str, is_private: bool) -> None:
    await desk.act("vault.put", collection=collection, path="MEMORY.md", text="Ana is my sister.", version=0)
    found = await desk.ask("vault.get", collection=collection, path="MEMORY.md")
    assert found["document"]["private"] is is_private
