import hashlib

import msgspec
import pytest

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.identity import Principal
from ostiary.contracts.store import Extend
from ostiary.contracts.workspace import FileChange
from ostiary.gateway.vault_api import Ran
from tests.unit.gateway.vault_api.house import VaultClient


async def test_a_note_is_found_right_after_it_was_put(client: VaultClient) -> None:
    await client.put("notes/garden.md", "# Garden\n\nThe tulips stand behind the shed.\n")
    await client.put("other/garden.md", "Tulips elsewhere.\n")
    found = (await client.post("query", text="tulips", collections=["notes"])).json
    assert [(hit["collection"], hit["path"]) for hit in found["results"]] == [("notes", "garden.md")]
    assert found["results"][0]["start"] <= 3 <= found["results"][0]["end"]
    assert "tulips" in found["results"][0]["snippet"]
    everywhere = (await client.post("query", text="tulips")).json
    assert {hit["collection"] for hit in everywhere["results"]} == {"notes", "other"}
    assert (await client.post("query", text="tulips", exclude=["garden.md"])).json["results"] == []


@pytest.mark.parametrize("body", [{}, {"text": ""}, {"text": "a", "limit": 0}, {"text": "a", "limit": 51}, {"text": "a", "x": 1}])
async def test_a_question_that_makes_no_sense_is_refused(client: VaultClient, body: dict[str, object]) -> None:
    assert (await client.post("query", **body)).status == 400


async def test_a_new_index_is_begun_and_not_waited_for(client: VaultClient) -> None:
    await client.put("notes/a.md", "albatross")
    begun = await client.post("reindex")
    assert (begun.status, begun.json["index"]["rebuilding"]) == (202, 0.0)
    again = await client.post("reindex")
    assert again.json["index"]["rebuilding"] == 0.0
    found = (await client.post("query", text="albatross", collections=["notes"])).json
    assert (len(found["results"]), len(found["notices"])) == (1, 1)


async def test_where_the_index_is_elsewhere_that_is_said(client: VaultClient) -> None:
    client.without(reindex=None)
    refused = await client.post("reindex")
    assert (refused.status, refused.error["code"]) == (501, "not_here")


async def test_texts_become_vectors(client: VaultClient) -> None:
    made = (await client.post("embed", input=["a", "bb"])).json
    assert made == {"vectors": [[1.0, 0.0], [0.0, 1.0]], "model": "lengths", "dimensions": 2}
    assert (await client.post("embed", input=["x"] * 257)).status == 400


async def test_without_an_embedder_that_is_said(client: VaultClient) -> None:
    client.without(embedder=None)
    refused = await client.post("embed", input=["a"])
    assert (refused.status, refused.error["code"]) == (501, "no_embedder")


async def test_the_status_counts_what_is_there(client: VaultClient) -> None:
    await client.put("notes/a.md", "hello")
    status = (await client.call("GET", "status")).json
    assert (status["state"], status["documents"], status["bytes"], status["format"]) == ("ok", 1, 5, 1)
    assert status["index"]["waiting"] + status["index"]["documents"] == 1


async def test_a_batch_writes_each_by_itself(client: VaultClient) -> None:
    await client.put("notes/old.md", "there")
    puts = [
        {"path": "a.md", "content": b"one"},
        {"path": "../b.md", "content": b"two"},
        {"path": "old.md", "content": b"three", "expect": 0},
        {"path": "c.sh", "content": b"four", "executable": True},
    ]
    reply = await client.call("POST", "batch", msgspec.msgpack.encode({"collection": "notes", "puts": puts}))
    results = reply.json["results"]
    assert [row.get("version") for row in results] == [1, None, None, 1]
    assert [row.get("code") for row in results] == [None, "bad_input", "conflict", None]
    assert results[0]["digest"] == hashlib.sha256(b"one").hexdigest()
    assert [row.executable for row in await client.store.documents.list("notes")] == [False, True, False]


async def test_a_batch_that_names_a_path_twice_or_is_no_msgpack_is_refused(client: VaultClient) -> None:
    twice = {"collection": "notes", "puts": [{"path": "a", "content": b""}, {"path": "a", "content": b""}]}
    assert (await client.call("POST", "batch", msgspec.msgpack.encode(twice))).status == 400
    assert (await client.call("POST", "batch", b"\xc1")).status == 400


class Echo:
    async def run(self, collection: str, command: str, *, seconds: float, network: bool, by: Principal) -> Ran:
        change = FileChange(path="out.txt", change="added", size=3)
        return Ran(
            code=0, output=f"{collection} {command} {seconds:g} {network} {by.user}", changes=(change,), refused=("a link",)
        )


async def test_a_command_runs_in_the_fence_and_its_changes_are_told(client: VaultClient) -> None:
    client.without(exec=Echo())
    ran = (await client.post("exec", command="make", timeout=5)).json
    assert (ran["code"], ran["output"]) == (0, "_workspace make 5 False api:token")
    assert (ran["changes"][0]["path"], ran["refused"]) == ("out.txt", ["a link"])
    assert (await client.post("exec", command="make", timeout=301)).status == 400


async def test_where_there_is_no_fence_nothing_runs(client: VaultClient) -> None:
    refused = await client.post("exec", command="make")
    assert (refused.status, refused.error["code"]) == (501, "not_here")


async def test_a_note_is_kept_listed_found_explained_and_forgotten(client: VaultClient) -> None:
    kept = (await client.post("memory/write", text="The cat is called Pontius.")).json
    assert (kept["outcome"], kept["path"]) == ("kept", "MEMORY.md")
    listed = (await client.call("GET", "memory/list")).json
    assert [(note["path"], note["place"]) for note in listed["notes"]] == [("MEMORY.md", "long")]
    found = (await client.post("memory/search", text="Pontius")).json["results"]
    assert found[0]["path"] == "MEMORY.md"
    origins = (await client.post("memory/why", target=f"MEMORY.md#L{kept['line']}")).json["origins"]
    assert (origins[0]["author"], origins[0]["trust"]) == ("api:token", "owner")
    shown = (await client.post("memory/forget", text="cat is called Pontius", preview=True)).json
    assert (shown["preview"], len(shown["places"])) == (True, 1)
    gone = (await client.post("memory/forget", text="cat is called Pontius")).json
    assert gone["entries"] == 1
    assert (await client.post("memory/search", text="Pontius")).json["results"] == []


async def test_a_note_with_a_secret_is_not_kept(client: VaultClient) -> None:
    assert (await client.post("memory/write", text="the password is hunter2")).status == 400


async def test_the_owner_confirms_what_nobody_vouched_for(client: VaultClient) -> None:
    label = Label(trust=Trust.UNTRUSTED, sources=("web",), private=True)
    note = Extend(
        collection="_memory", path="memory/unconfirmed/2027-01-15.md", content=b"# Day\n\n- Bring an umbrella.\n",
        at=client.clock.now(), author="web", label=label,
    )  # fmt: skip
    await client.store.commit([note])
    waiting = (await client.call("GET", "memory/list")).json["waiting"]
    settled = (await client.post("memory/confirm", ids=[waiting[0]["id"]])).json["settled"]
    assert settled[0]["path"].startswith("memory/")
    assert (await client.call("GET", "memory/list")).json["waiting"] == []


async def test_without_memory_its_pages_say_so(client: VaultClient) -> None:
    client.without(memory=None)
    assert (await client.post("memory/write", text="a")).status == 501
