"""Who may read and not change sees no secret, at whichever door."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio
import pytest

from ostiary.contracts.store import PutBlob
from ostiary.gateway.asgi import App
from ostiary.gateway.auth.callers import of_device
from ostiary.gateway.blobs import PATH, Blobs
from ostiary.gateway.errors import ApiError
from ostiary.gateway.vault_api import vault_pages
from tests.unit.gateway.fakes import Reply
from tests.unit.gateway.vault_api.house import VaultClient

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
PDF = b"%PDF-1.7 hunter2"


def redact(text: str) -> str:
    return text.replace("hunter2", "[secret]")


class Reader:
    """A device that may read and chat."""

    def __init__(self, client: VaultClient) -> None:
        self.vault = vault_pages(replace(client.desk, redact=redact))
        self.blobs = Blobs(store=client.store, redact=redact)

    async def get(self, path: str, **headers: str) -> Reply:
        return await self.call(self.vault["/v1/vault/raw/*"]["GET"], "GET", f"/v1/vault/raw/{path}", headers=headers)

    async def blob(self, content: bytes) -> Reply:
        return await self.call(self.blobs.get, "GET", f"{PATH}/{hashlib.sha256(content).hexdigest()}")

    async def ask(self, page: str, method: str = "POST", *, query: str = "", below: str = "", **body: Any) -> str:
        app = self.vault[f"/v1/vault/{page}"][method]
        path = f"/v1/vault/{page.removesuffix('*')}{below}"
        return (await self.call(app, method, path, json.dumps(body).encode(), query=query)).body.decode()

    async def call(
        self, app: App, method: str, path: str, body: bytes = b"", *, query: str = "", headers: Mapping[str, str] | None = None
    ) -> Reply:
        reply = Reply()

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(event: Any) -> None:
            if event["type"] == "http.response.start":
                reply.status = event["status"]
                reply.headers = {key.decode(): value.decode() for key, value in event["headers"]}
            else:
                reply.writes.append(event.get("body", b""))

        given = [(name.replace("_", "-").encode(), value.encode()) for name, value in (headers or {}).items()]
        scope = {
            "type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": given,
            "ostiary.caller": of_device("d1", ["read", "chat", "approve"]),
        }  # fmt: skip
        with anyio.fail_after(5):
            await app(scope, receive, send)
        return reply


@pytest.fixture
def reader(client: VaultClient) -> Reader:
    return Reader(client)


async def test_a_reader_gets_a_text_without_its_secrets_and_under_another_tag(client: VaultClient, reader: Reader) -> None:
    await client.put("notes/a.md", "the password is hunter2")
    got = await reader.get("notes/a.md")
    assert (got.body, got.headers["etag"]) == (b"the password is [secret]", '"1-redacted"')
    assert got.headers["content-length"] == str(len(got.body))
    assert (await client.call("GET", "raw/notes/a.md")).body == b"the password is hunter2"
    again = await reader.get("notes/a.md", if_none_match='"1-redacted"')
    assert (again.status, again.body) == (304, b"")


async def test_what_a_reader_saw_in_part_is_no_version_to_write_upon(client: VaultClient) -> None:
    await client.put("notes/a.md", "the password is hunter2")
    refused = await client.put("notes/a.md", "the password is [secret]", if_match='"1-redacted"')
    assert refused.status == 400


async def test_a_text_without_secrets_is_the_version_itself(client: VaultClient, reader: Reader) -> None:
    await client.put("notes/a.md", "hello")
    got = await reader.get("notes/a.md")
    assert (got.body, got.headers["etag"]) == (b"hello", '"1"')


async def test_a_reader_sees_pictures_and_no_other_bytes_that_nobody_can_look_through(
    client: VaultClient, reader: Reader
) -> None:
    for path, content in (("p.png", PNG), ("d.pdf", PDF), ("u16.txt", "hunter2".encode("utf-16")), ("z.zip", b"PK\x00\xff")):
        await client.call("PUT", f"raw/notes/{path}", content)
    picture = await reader.get("notes/p.png")
    assert (picture.body, picture.headers["content-type"]) == (PNG, "image/png")
    assert picture.headers["content-disposition"].startswith("inline;")
    for path in ("d.pdf", "u16.txt", "z.zip"):
        with pytest.raises(ApiError) as refused:
            await reader.get(f"notes/{path}")
        assert refused.value.status == 403


async def test_a_document_is_not_read_by_its_digest_and_an_attachment_is_without_its_secrets(
    client: VaultClient, reader: Reader
) -> None:
    note, attached = b"a note with hunter2", b"an attachment with hunter2"
    await client.put("notes/a.md", note.decode())
    await client.store.commit(
        [PutBlob(digest=hashlib.sha256(each).hexdigest(), content=each) for each in (attached, PNG, PDF, b"plain")]
    )
    with pytest.raises(ApiError) as refused:
        await reader.blob(note)
    assert refused.value.status == 404
    shown = await reader.blob(attached)
    assert (shown.body, shown.headers["cache-control"]) == (b"an attachment with [secret]", "private, no-store")
    assert [(await reader.blob(each)).body for each in (PNG, PDF, b"plain")] == [PNG, PDF, b"plain"]


async def test_no_page_tells_a_reader_a_secret(client: VaultClient, reader: Reader) -> None:
    await client.put("notes/a.md", "nothing yet")
    await client.put("notes/a.md", "the door's password is hunter2")
    await client.put("_memory/MEMORY.md", "- the door's password is hunter2\n")
    await client.put("_memory/memory/unconfirmed/2026-01-02.md", "- the gate's password is hunter2\n")
    told = [
        await reader.ask("diff/*", "GET", below="notes/a.md"),
        await reader.ask("query", text="the door's password"),
        await reader.ask("memory/search", text="the door's password"),
        await reader.ask("memory/why", target="MEMORY.md#L1"),
        await reader.ask("memory/list", "GET"),
    ]
    assert [("hunter2" in each, "password" in each) for each in told] == [(False, True)] * 5


async def test_where_nobody_can_tell_a_secret_only_who_may_change_a_text_reads_it(client: VaultClient, reader: Reader) -> None:
    await client.put("notes/a.md", "hello")
    reader.vault = vault_pages(client.desk)
    with pytest.raises(ApiError) as refused:
        await reader.get("notes/a.md")
    assert refused.value.status == 403
    assert (await client.call("GET", "raw/notes/a.md")).body == b"hello"
