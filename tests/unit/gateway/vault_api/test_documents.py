import hashlib
from pathlib import Path
from typing import Any

import anyio
import pytest

from ostiary.adapters.store.sqlite import StoreLimits
from ostiary.contracts.content import Trust
from ostiary.gateway.auth import Gate
from ostiary.gateway.auth.callers import of_device
from ostiary.gateway.errors import ApiError
from ostiary.gateway.vault_api import vault_pages
from tests.unit.gateway.vault_api.house import VaultClient, vault


async def test_what_was_put_comes_back_with_its_version_author_and_digest(client: VaultClient) -> None:
    put = await client.put("notes/a b/plan.md".replace(" ", "%20"), "hello")
    digest = hashlib.sha256(b"hello").hexdigest()
    assert (put.status, put.json) == (200, {"version": 1, "digest": digest})
    got = await client.call("GET", "raw/notes/a%20b/plan.md")
    assert (got.status, got.body, got.headers["etag"]) == (200, b"hello", '"1"')
    assert (got.headers["x-ostiary-author"], got.headers["x-ostiary-digest"]) == ("api:token", digest)
    assert got.headers["content-type"] == "application/octet-stream"


async def test_head_tells_the_same_without_the_bytes(client: VaultClient) -> None:
    await client.put("notes/a.md", "hello")
    head = await client.call("HEAD", "raw/notes/a.md")
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", "5")


async def test_an_unchanged_document_is_not_sent_again(client: VaultClient) -> None:
    await client.put("notes/a.md", "hello")
    again = await client.call("GET", "raw/notes/a.md", headers={"if-none-match": '"1"'})
    assert (again.status, again.body) == (304, b"")


async def test_a_write_that_expects_an_older_version_changes_nothing(client: VaultClient) -> None:
    await client.put("notes/a.md", "one")
    await client.put("notes/a.md", "two", if_match='"1"')
    lost = await client.put("notes/a.md", "three", if_match='"1"')
    assert (lost.status, lost.error["code"]) == (412, "conflict")
    assert (await client.call("GET", "raw/notes/a.md")).body == b"two"


async def test_a_document_that_must_be_new_is_not_overwritten(client: VaultClient) -> None:
    first = await client.put("notes/a.md", "one", if_none_match="*")
    second = await client.put("notes/a.md", "two", if_none_match="*")
    assert (first.status, second.status) == (200, 412)


@pytest.mark.parametrize("name", ["a/../b", "/b", "./b", "a%00b", "a%2F..%2Fb", "x" * 4096])
async def test_a_path_that_could_be_written_another_way_is_refused(client: VaultClient, name: str) -> None:
    refused = await client.put(f"notes/{name}", "x")
    assert (refused.status, refused.error["code"]) == (400, "bad_input")
    assert await client.store.documents.collections() == ()


async def test_a_path_that_is_not_utf8_is_refused(client: VaultClient) -> None:
    refused = await client.put("notes/%ff", "x")
    assert refused.status == 400


@pytest.mark.parametrize("name", ["Notes", "a.b", "-x", "x" * 65, "ä"])
async def test_a_collection_with_another_kind_of_name_is_refused(client: VaultClient, name: str) -> None:
    assert (await client.put(f"{name}/a.md", "x")).status == 400


async def test_a_body_declared_larger_than_a_document_may_be_is_refused_unread(client: VaultClient) -> None:
    unread: list[str] = []

    async def receive() -> Any:
        unread.append("asked")
        return {"type": "http.request", "body": b"", "more_body": False}

    page = vault_pages(client.desk)["/v1/vault/raw/*"]["PUT"]
    scope = {
        "type": "http", "method": "PUT", "path": "/v1/vault/raw/n/big", "raw_path": b"/v1/vault/raw/n/big", "query_string": b"",
        "headers": [(b"content-length", b"2147483648"), (b"authorization", b"Bearer a-token-for-tests")],
    }  # fmt: skip
    Gate(lambda: "a-token-for-tests").identify(scope)

    async def send(event: Any) -> None:
        raise AssertionError(event)

    with pytest.raises(ApiError) as refused:
        await page(scope, receive, send)
    assert (refused.value.status, unread) == (413, [])


async def test_an_empty_document_is_a_document(client: VaultClient) -> None:
    assert (await client.put("notes/empty", "")).status == 200
    got = await client.call("GET", "raw/notes/empty")
    assert (got.status, got.body) == (200, b"")


async def test_what_is_added_goes_behind_what_is_there(client: VaultClient) -> None:
    await client.put("notes/a.md", "one\n")
    added = await client.call("POST", "raw/notes/a.md?append", b"two\n")
    assert added.json == {"version": 2, "digest": hashlib.sha256(b"one\ntwo\n").hexdigest()}
    assert (await client.call("POST", "raw/notes/a.md", b"x")).status == 400


async def test_a_deleted_document_is_gone_and_its_versions_stay(client: VaultClient) -> None:
    await client.put("notes/a.md", "one")
    assert (await client.call("DELETE", "raw/notes/a.md")).json == {"version": 2, "digest": ""}
    assert (await client.call("GET", "raw/notes/a.md")).status == 404
    assert (await client.call("GET", "raw/notes/a.md?version=1")).body == b"one"
    assert (await client.call("GET", "raw/notes/a.md?version=2")).status == 404
    assert (await client.call("DELETE", "raw/notes/a.md")).status == 404


async def test_a_listing_goes_on_where_the_page_before_it_ended(client: VaultClient) -> None:
    for name in ("a.md", "b.txt", "c.md", "d/e.md"):
        await client.put(f"notes/{name}", name)
    first = await client.call("GET", "list/notes?pattern=**/*.md&limit=2")
    rest = await client.call("GET", f"list/notes?pattern=**/*.md&limit=2&after={first.json['after']}")
    assert [row["path"] for row in first.json["documents"]] == ["a.md", "c.md"]
    assert ([row["path"] for row in rest.json["documents"]], rest.json["after"]) == (["d/e.md"], "")


async def test_a_listing_of_a_moment_shows_what_was_there_then(client: VaultClient) -> None:
    await client.put("notes/a.md", "one")
    then = client.clock.now()
    await client.clock.advance(10)
    await client.put("notes/b.md", "two")
    listed = await client.call("GET", f"list/notes?at={then}")
    assert [row["path"] for row in listed.json["documents"]] == ["a.md"]
    assert (await client.call("GET", "list/notes?at=yesterday")).status == 400


async def test_history_and_difference_of_two_versions_are_shown(client: VaultClient) -> None:
    await client.put("notes/a.md", "one\n")
    await client.put("notes/a.md", "two\n", x_ostiary_executable="true")
    rows = (await client.call("GET", "history/notes/a.md")).json["versions"]
    assert [(row["version"], row["executable"], row["trust"]) for row in rows] == [(1, False, "owner"), (2, True, "owner")]
    shown = (await client.call("GET", "diff/notes/a.md")).json
    assert (shown["from"], shown["to"]) == (1, 2)
    assert "-one\n+two\n" in shown["diff"]
    assert (await client.call("GET", "diff/notes/a.md?from=1&to=9")).status == 404


async def test_a_document_moves_with_its_content(client: VaultClient) -> None:
    await client.put("notes/a.md", "one")
    moved = await client.post("move", collection="notes", path="a.md", to="b/c.md")
    assert moved.json == {"version": 1, "digest": hashlib.sha256(b"one").hexdigest()}
    await client.put("notes/a.md", "other")
    assert (await client.post("move", collection="notes", path="a.md", to="b/c.md")).status == 409


async def test_a_writer_may_say_less_trust_and_never_more(client: VaultClient) -> None:
    await client.put("notes/a.md", "from the web", x_ostiary_trust="untrusted")
    await client.put("notes/b.md", "mine", x_ostiary_trust="system")
    labels = [version.label for version in await client.store.documents.list("notes")]
    assert [label.trust for label in labels if label is not None] == [Trust.UNTRUSTED, Trust.OWNER]


async def test_a_store_that_is_full_says_so(tmp_path: Path) -> None:
    async with vault(tmp_path, StoreLimits(document_bytes=1000, quota_bytes=1500)) as client:
        await client.put("notes/a", "a" * 1000)
        full = await client.put("notes/b", "b" * 1000)
        assert (full.status, full.error["code"]) == (507, "quota_exceeded")


@pytest.mark.parametrize(
    ("method", "path"), [("PUT", "raw/*"), ("POST", "raw/*"), ("DELETE", "raw/*"), ("POST", "restore"), ("POST", "move"),
                         ("POST", "batch"), ("POST", "exec"), ("POST", "memory/forget"), ("POST", "memory/write")]
)  # fmt: skip
async def test_who_may_only_read_changes_nothing(client: VaultClient, method: str, path: str) -> None:
    page = vault_pages(client.desk)[f"/v1/vault/{path}"][method]
    caller = of_device("d1", ["read", "chat", "approve"])
    scope = {"type": "http", "method": method, "path": "/v1/vault/raw/n/a", "headers": [], "ostiary.caller": caller}
    with pytest.raises(ApiError) as refused, anyio.fail_after(1):
        await page(scope, anyio.sleep_forever, anyio.sleep_forever)  # type: ignore[arg-type]
    assert refused.value.status == 403


async def test_nobody_reads_without_the_token(client: VaultClient) -> None:
    await client.put("notes/a.md", "secret")
    refused = await client.call("GET", "raw/notes/a.md", headers={"authorization": "(none)"})
    assert refused.status == 401
