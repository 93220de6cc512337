"""Reading and writing documents: listing, the bytes themselves, versions and their differences."""

import hashlib
from email.utils import formatdate
from urllib.parse import quote

import anyio
import msgspec

from ostiary.contracts.content import Trust
from ostiary.contracts.pictures import PICTURES
from ostiary.contracts.store import DocumentVersion, Extend, Move, Put, Tombstone
from ostiary.gateway.asgi import Receive, Scope, Send, header, read_body, respond
from ostiary.gateway.auth import caller_of, download_headers
from ostiary.gateway.errors import ApiError
from ostiary.gateway.showing import content_for, words_for
from ostiary.gateway.vault_api import reading
from ostiary.gateway.vault_api.desk import VaultDesk, label_of
from ostiary.gateway.vault_api.rows import row

RAW = "/v1/vault/raw/"
LIST = "/v1/vault/list/"
HISTORY = "/v1/vault/history/"
DIFF = "/v1/vault/diff/"

MOST_ROWS = 10_000
_ROWS = 1_000
_PIECE = 256 * 1024
_HASHED_ASIDE = 1024 * 1024
_COMPARED = 4_000_000


class _Move(msgspec.Struct, forbid_unknown_fields=True):
    collection: str
    path: str
    to: str
    version: int | None = None


async def collections(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    rows = [
        {"name": use.collection, "documents": use.documents, "bytes": use.bytes, "storedBytes": use.stored_bytes}
        for use in await desk.documents.collections()
    ]
    await respond(send, 200, {"collections": rows})


async def listing(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    """`after` in the answer is empty when nothing follows; else the next page is asked for with it."""
    collection = reading.collection_of(reading.after(scope, LIST).rstrip("/"))
    given = reading.parameters(scope)
    limit = reading.number(given, "limit") or _ROWS
    if limit > MOST_ROWS:
        raise reading.invalid("limit", f"at most {MOST_ROWS}")
    found = await desk.documents.list(
        collection,
        pattern=given.get("pattern", "") or "**",
        at=reading.moment("at", given.get("at")),
        limit=limit,
        after=given.get("after", ""),
    )
    more = found[-1].path if len(found) == limit else ""
    await respond(send, 200, {"documents": [row(each) for each in found], "after": more})


async def get(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    collection, path = reading.place(scope, RAW)
    wanted = reading.number(reading.parameters(scope), "version")
    found = await desk.documents.get(collection, path, version=wanted)
    if found is None or not found[0].digest:
        raise missing(collection, path, wanted)
    version, shown = found[0], await content_for(caller_of(scope), desk.redact, found[1])
    content = shown.content
    headers = [*_about(version, is_whole=shown.is_whole), *download_headers()]
    if header(scope, b"if-none-match") == headers[0][1].decode():
        await send({"type": "http.response.start", "status": 304, "headers": headers})
        await send({"type": "http.response.body", "body": b""})
        return
    kind, how = (shown.kind, "inline") if shown.kind in PICTURES else ("application/octet-stream", "attachment")
    headers += [(b"content-type", kind.encode()), (b"content-length", str(len(content)).encode())]
    name = quote(path.rpartition("/")[2], safe="")
    headers.append((b"content-disposition", f"{how}; filename*=UTF-8''{name}".encode()))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if scope["method"] != "HEAD":
        # In pieces: a slow reader holds up nothing but its own answer, and that is not copied whole.
        for start in range(0, len(content), _PIECE):
            await send({"type": "http.response.body", "body": content[start : start + _PIECE], "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def put(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    collection, path = reading.place(scope, RAW)
    by = caller_of(scope).principal
    trust, executable, expected = _trust(scope), reading.executable(scope), reading.expected(scope)
    async with desk.bodies:
        content = await read_body(scope, receive, desk.document_limits)
        write = Put(
            collection=collection,
            path=path,
            content=content,
            at=desk.clock.now(),
            author=str(by.user),
            label=label_of(by, trust),
            expect_version=expected,
            executable=executable,
        )
        (version,) = await desk.store.commit([write])
        await respond(send, 200, {"version": version, "digest": await _digest(content)}, [_etag(version)])


async def append(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    """`POST …?append`."""
    if b"append" not in {part.partition(b"=")[0] for part in scope.get("query_string", b"").split(b"&")}:
        raise ApiError(400, "Use POST …?append to add to a document, PUT to write it.", code="invalid_value")
    collection, path = reading.place(scope, RAW)
    by = caller_of(scope).principal
    label = label_of(by, _trust(scope))
    async with desk.bodies:
        content = await read_body(scope, receive, desk.document_limits)
        write = Extend(collection=collection, path=path, content=content, at=desk.clock.now(), author=str(by.user), label=label)
        (version,) = await desk.store.commit([write])
    await answer_version(desk, send, collection, path, version)


async def delete(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    collection, path = reading.place(scope, RAW)
    by = caller_of(scope).principal
    expected = reading.expected(scope)
    if await desk.documents.get(collection, path) is None:
        raise missing(collection, path, None)
    write = Tombstone(collection=collection, path=path, at=desk.clock.now(), author=str(by.user), expect_version=expected)
    (version,) = await desk.store.commit([write])
    await respond(send, 200, {"version": version, "digest": ""})


async def move(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    asked = await reading.body(scope, receive, _Move)
    by = caller_of(scope).principal
    write = Move(
        collection=reading.collection_of(asked.collection),
        path=asked.path,
        to=asked.to,
        at=desk.clock.now(),
        author=str(by.user),
        expect_version=asked.version,
    )
    (version,) = await desk.store.commit([write])
    await answer_version(desk, send, asked.collection, asked.to, version)


async def history(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    """Oldest first, deletions included."""
    collection, path = reading.place(scope, HISTORY)
    versions = await desk.documents.history(collection, path)
    if not versions:
        raise missing(collection, path, None)
    await respond(send, 200, {"versions": [row(version) for version in versions]})


async def diff(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    """From one version to another, as unified text. `to` is the newest if it is absent, `from` the one before it; 0: nothing."""
    collection, path = reading.place(scope, DIFF)
    given = reading.parameters(scope)
    words = words_for(caller_of(scope), desk.redact)
    first, last = reading.number(given, "from"), reading.number(given, "to")
    if last is None:
        versions = await desk.documents.history(collection, path)
        if not versions:
            raise missing(collection, path, None)
        last = versions[-1].version
    first = max(0, last - 1) if first is None else first
    old, new = await _content(desk, collection, path, first), await _content(desk, collection, path, last)
    if len(old or b"") + len(new or b"") > _COMPARED:
        text, note = "", "too long to compare"
    else:
        text = await anyio.to_thread.run_sync(lambda: words(desk.diff(old, new, path)))
        note = "" if text else "the same" if old == new else "not text"
    await respond(send, 200, {"from": first, "to": last, "diff": text, "note": note})


async def answer_version(desk: VaultDesk, send: Send, collection: str, path: str, version: int) -> None:
    """What a write gave, with the digest of what is there now."""
    found = await desk.documents.get(collection, path, version=version)
    digest = found[0].digest if found is not None else ""
    await respond(send, 200, {"version": version, "digest": digest}, [_etag(version)])


def missing(collection: str, path: str, version: int | None) -> ApiError:
    which = f"no version {version} of" if version is not None else "no document"
    return ApiError(404, f"There is {which} {path[:200]!r} in {collection!r}.", code="not_found")


async def _content(desk: VaultDesk, collection: str, path: str, version: int) -> bytes | None:
    """None where it did not exist then. Raises ApiError 404 for a version that never was."""
    if version == 0:
        return None
    found = await desk.documents.get(collection, path, version=version)
    if found is None:
        raise missing(collection, path, version)
    return found[1] if found[0].digest else None


async def _digest(content: bytes) -> str:
    if len(content) < _HASHED_ASIDE:
        return hashlib.sha256(content).hexdigest()
    return await anyio.to_thread.run_sync(lambda: hashlib.sha256(content).hexdigest())


def _trust(scope: Scope) -> Trust | None:
    return reading.trust(header(scope, b"x-ostiary-trust"))


def _etag(version: int, *, is_whole: bool = True) -> tuple[bytes, bytes]:
    """What had secrets taken out of it bears another tag: it is not the version, and nobody may write on the strength of it."""
    return (b"etag", f'"{version}"'.encode() if is_whole else f'"{version}-redacted"'.encode())


def _about(version: DocumentVersion, *, is_whole: bool) -> list[tuple[bytes, bytes]]:
    return [
        _etag(version.version, is_whole=is_whole),
        (b"last-modified", formatdate(max(0.0, version.at), usegmt=True).encode()),
        (b"x-ostiary-author", quote(version.author, safe=":@+ ").encode()),
        (b"x-ostiary-digest", version.digest.encode()),
        (b"x-ostiary-executable", b"true" if version.executable else b"false"),
        (b"x-ostiary-trust", (b"" if version.label is None else str(version.label.trust).encode())),
        (b"cache-control", b"no-cache, private"),
    ]
