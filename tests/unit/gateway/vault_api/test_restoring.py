from ostiary.contracts.store import Put
from tests.unit.gateway.vault_api.house import VaultClient


async def test_one_document_goes_back_to_a_version(client: VaultClient) -> None:
    await client.put("notes/a.md", "one")
    await client.put("notes/a.md", "two")
    back = await client.post("restore", collection="notes", path="a.md", version=1)
    assert (back.json["restored"], back.json["versions"]) == (["a.md"], {"a.md": 3})
    assert (await client.call("GET", "raw/notes/a.md")).body == b"one"


async def test_a_collection_goes_back_to_a_moment(client: VaultClient) -> None:
    await client.put("notes/a.md", "one")
    then = client.clock.now()
    await client.clock.advance(10)
    await client.put("notes/a.md", "two")
    await client.put("notes/b.md", "new")
    back = await client.post("restore", collection="notes", at=then)
    assert (back.json["restored"], back.json["deleted"]) == (["a.md"], ["b.md"])
    assert (await client.call("GET", "raw/notes/a.md")).body == b"one"
    assert (await client.call("GET", "raw/notes/b.md")).status == 404


async def test_only_the_named_document_goes_back_even_if_its_name_looks_like_a_pattern(client: VaultClient) -> None:
    await client.put("notes/[a]*.md", "one")
    await client.put("notes/ax.md", "one")
    then = client.clock.now()
    await client.clock.advance(10)
    await client.put("notes/[a]*.md", "two")
    await client.put("notes/ax.md", "two")
    back = await client.post("restore", collection="notes", path="[a]*.md", at=then)
    assert back.json["restored"] == ["[a]*.md"]


async def test_what_a_turn_did_is_taken_back_and_can_be_seen_before(client: VaultClient) -> None:
    await client.put("notes/a.md", "one")
    await client.clock.advance(10)
    put = Put(collection="notes", path="a.md", content=b"two", at=client.clock.now(), author="agent", turn="turn_1")
    await client.store.commit([put])
    shown = await client.post("restore", collection="notes", turn="turn_1", preview=True)
    assert (shown.json["restored"], shown.json["versions"]) == (["a.md"], {})
    assert (await client.call("GET", "raw/notes/a.md")).body == b"two"
    await client.post("restore", collection="notes", turn="turn_1")
    assert (await client.call("GET", "raw/notes/a.md")).body == b"one"


async def test_it_must_be_said_once_where_to(client: VaultClient) -> None:
    assert (await client.post("restore", collection="notes")).status == 400
    assert (await client.post("restore", collection="notes", at=1, turn="t")).status == 400
    assert (await client.post("restore", collection="notes", version=1)).status == 400
    assert (await client.post("restore", collection="notes", turn="turn_9")).status == 400
