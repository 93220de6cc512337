"""The vault through the gateway that holds it: the pages under /v1/vault, over one connection that is kept."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import quote, urlencode

import anyio
import anyio.to_thread

from ostiary.cli.client import Gateway, gone, refusal
from ostiary.cli.vault_access import NewFile, Restored, RestoreWish, VaultStatus, Wrote, watched
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import BadInput, Conflict, OstiaryError, QuotaExceeded, StoreUnavailable
from ostiary.contracts.search import Found, IndexStatus, Passage
from ostiary.contracts.store import CollectionUse, DocumentVersion

_PREFIX = "/v1/vault/"
_SECONDS = 120.0
_PAGE = 10_000
_BATCH_BYTES = 8_000_000
_BATCH_FILES = 500
_NOT_FOUND = 404

Headers = Mapping[str, str]


class _NotFound(BadInput):
    pass


@asynccontextmanager
async def open_http(gateway: Gateway) -> AsyncIterator["HttpVault"]:
    """Connects when it is first used."""
    vault = HttpVault(gateway)
    try:
        yield vault
    finally:
        vault.close()


class HttpVault:
    """An `Access`. One request at a time."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._connection: HTTPConnection | None = None
        self._turn = anyio.Lock()

    @property
    def is_own(self) -> bool:
        return False

    async def collections(self) -> tuple[CollectionUse, ...]:
        answer = await self._json("GET", "collections")
        return tuple(
            CollectionUse(
                collection=each["name"],
                documents=each["documents"],
                bytes=each["bytes"],
                stored_bytes=each["storedBytes"],
            )
            for each in answer["collections"]
        )

    async def list(self, collection: str, *, pattern: str = "**", at: float | None = None) -> tuple[DocumentVersion, ...]:
        found: list[DocumentVersion] = []
        after = ""
        while True:
            asked = {"pattern": pattern, "limit": str(_PAGE), "after": after, **({} if at is None else {"at": repr(at)})}
            answer = await self._json("GET", f"list/{quote(collection)}?{urlencode(asked)}")
            found += [_version(collection, each) for each in answer["documents"]]
            after = answer["after"]
            if not after:
                return tuple(found)

    async def get(self, collection: str, path: str, *, version: int | None = None) -> tuple[DocumentVersion, bytes] | None:
        which = "" if version is None else f"?version={version}"
        try:
            headers, content = await self._ask("GET", f"raw/{_place(collection, path)}{which}")
        except _NotFound:
            return None
        return _from_headers(collection, path, headers, content), content

    async def history(self, collection: str, path: str) -> tuple[DocumentVersion, ...]:
        try:
            answer = await self._json("GET", f"history/{_place(collection, path)}")
        except _NotFound:
            return ()
        return tuple(_version(collection, each) for each in answer["versions"])

    async def put(self, collection: str, file: NewFile) -> int:
        headers = _expecting(file.expect)
        if file.executable is not None:
            headers["X-Ostiary-Executable"] = "true" if file.executable else "false"
        _, answer = await self._ask("PUT", f"raw/{_place(collection, file.path)}", file.content, headers)
        return int(json.loads(answer)["version"])

    async def put_many(self, collection: str, files: Sequence[NewFile], *, label: Label | None = None) -> tuple[Wrote, ...]:
        wrote: list[Wrote] = []
        trust = "" if label is None else str(label.trust)
        for batch in _batches(files):
            wrote += await self._batch(collection, batch, trust)
        return tuple(wrote)

    async def append(self, collection: str, path: str, content: bytes) -> int:
        _, answer = await self._ask("POST", f"raw/{_place(collection, path)}?append", content)
        return int(json.loads(answer)["version"])

    async def delete(self, collection: str, path: str, *, expect: int | None = None) -> int:
        _, answer = await self._ask("DELETE", f"raw/{_place(collection, path)}", headers=_expecting(expect))
        return int(json.loads(answer)["version"])

    async def move(self, collection: str, path: str, to: str) -> int:
        return int((await self._json("POST", "move", {"collection": collection, "path": path, "to": to}))["version"])

    async def restore(self, wish: RestoreWish) -> Restored:
        asked = {"collection": wish.collection, "path": wish.path, "turn": wish.turn, "preview": wish.preview}
        asked |= {} if wish.version is None else {"version": wish.version}
        asked |= {} if wish.at is None else {"at": wish.at}
        answer = await self._json("POST", "restore", asked)
        return Restored(restored=tuple(answer["restored"]), deleted=tuple(answer["deleted"]), left=tuple(answer.get("left", ())))

    async def search(self, text: str, *, collections: Sequence[str] | None, pattern: str = "**", limit: int = 6) -> Found:
        asked: dict[str, Any] = {"text": text, "include": [pattern], "limit": limit}
        if collections is not None:
            asked["collections"] = list(collections)
        return _found(await self._json("POST", "query", asked))

    async def status(self) -> VaultStatus:
        answer = await self._json("GET", "status")
        return VaultStatus(
            holder=f"the gateway at {self._gateway.url}",
            collections=await self.collections(),
            index=_index(answer["index"]),
        )

    async def recall(self, text: str, *, agent: str, limit: int, sessions: bool) -> Found:
        asked = {"text": text, "agent": agent, "limit": limit, "sessions": sessions}
        return _found(await self._json("POST", "memory/search", asked))

    async def notes(self, agent: str) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = await self._json("GET", f"memory/list?{urlencode({'agent': agent})}")
        return answer

    async def write(self, text: str, *, area: str, title: str, agent: str) -> Mapping[str, Any]:
        asked = {"text": text, "title": title, "agent": agent, **({"area": area} if area else {})}
        answer: Mapping[str, Any] = await self._json("POST", "memory/write", asked)
        return answer

    async def why(self, target: str, *, agent: str) -> Sequence[Mapping[str, Any]]:
        answer: Sequence[Mapping[str, Any]] = (await self._json("POST", "memory/why", {"target": target, "agent": agent}))[
            "origins"
        ]
        return answer

    async def forget(self, text: str, *, preview: bool) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = await self._json("POST", "memory/forget", {"text": text, "preview": preview})
        return answer

    async def settle(self, ids: Sequence[str], *, area: str, agent: str, reject: bool) -> Sequence[Mapping[str, Any]]:
        asked = {"ids": list(ids), "reject": reject, "agent": agent, **({"area": area} if area else {})}
        answer: Sequence[Mapping[str, Any]] = (await self._json("POST", "memory/confirm", asked))["settled"]
        return answer

    async def catch_up(self, progress: Callable[[IndexStatus], None], *, vectors: bool = True) -> IndexStatus:
        """The gateway indexes by itself; this waits, as long as it gets on."""

        async def look() -> IndexStatus:
            # Any question makes the gateway look for changes; one about nothing costs nothing.
            await self._json("POST", "query", {"text": "-", "collections": [], "limit": 1})
            return await self._index()

        return await watched(look, lambda status: not status.waiting, progress)

    async def reindex(self, progress: Callable[[float], None]) -> None:
        """The gateway makes it; this waits, as long as it gets on."""
        await self._json("POST", "reindex", {})
        await watched(self._index, lambda status: status.rebuilding is None, lambda status: progress(status.rebuilding or 0.0))

    async def _index(self) -> IndexStatus:
        return _index((await self._json("GET", "status"))["index"])

    async def _batch(self, collection: str, files: Sequence[NewFile], trust: str) -> Sequence[Wrote]:
        import msgspec

        puts = [
            {"path": file.path, "content": file.content, "executable": file.executable, "expect": file.expect} for file in files
        ]
        body = msgspec.msgpack.encode({"collection": collection, "puts": puts, "trust": trust})
        _, answer = await self._ask("POST", "batch", body, {"Content-Type": "application/msgpack"})
        return [
            Wrote(
                path=each["path"],
                version=each.get("version", 0),
                problem=each.get("error", ""),
                is_conflict=each.get("code") == "conflict",
            )
            for each in json.loads(answer)["results"]
        ]

    async def _json(self, method: str, path: str, body: object = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        _, answer = await self._ask(method, path, content)
        try:
            return json.loads(answer)
        except ValueError as error:
            raise gone() from error

    async def _ask(
        self, method: str, path: str, body: bytes | None = None, headers: Headers | None = None
    ) -> tuple[Headers, bytes]:
        async with self._turn:
            return await anyio.to_thread.run_sync(self._exchange, method, path, body, headers or {})

    def _exchange(self, method: str, path: str, body: bytes | None, headers: Headers) -> tuple[Headers, bytes]:
        """A kept connection may have been closed meanwhile: a question is then asked once more, a change is not, for it may
        have happened."""
        was_kept = self._connection is not None
        try:
            return self._once(method, path, body, headers)
        except (OSError, HTTPException) as error:
            self.close()
            if not was_kept or not (method == "GET" or path.startswith(("query", "memory/search"))):
                raise gone() from error
        try:
            return self._once(method, path, body, headers)
        except (OSError, HTTPException) as error:
            self.close()
            raise gone() from error

    def _once(self, method: str, path: str, body: bytes | None, headers: Headers) -> tuple[Headers, bytes]:
        if self._connection is None:
            self._connection = self._gateway.connection(_SECONDS)
        self._connection.request(method, _PREFIX + path, body, {**headers, **self._gateway.authorization})
        response = self._connection.getresponse()
        content = response.read()
        if response.status not in (200, 202):
            raise _refusal(response.status, content)
        return {name.lower(): value for name, value in response.getheaders()}, content

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _refusal(status: int, body: bytes) -> OstiaryError:
    """The gateway's sentence as the error the store would have raised."""
    said = refusal(status, body)
    if status in (409, 412):
        return Conflict(str(said), hint="Read it again, then write again.")
    if status == _NOT_FOUND:
        return _NotFound(str(said))
    if status == 507:
        return QuotaExceeded(str(said))
    return StoreUnavailable(str(said)) if status >= 500 else said


def _place(collection: str, path: str) -> str:
    return f"{quote(collection, safe='')}/{quote(path)}"


def _expecting(version: int | None) -> dict[str, str]:
    if version is None:
        return {}
    return {"If-Match": f'"{version}"'} if version else {"If-None-Match": "*"}


def _batches(files: Sequence[NewFile]) -> list[list[NewFile]]:
    batches: list[list[NewFile]] = []
    size = 0
    for file in files:
        if not batches or len(batches[-1]) >= _BATCH_FILES or size + len(file.content) > _BATCH_BYTES:
            batches.append([])
            size = 0
        batches[-1].append(file)
        size += len(file.content)
    return batches


def _version(collection: str, row: Mapping[str, Any]) -> DocumentVersion:
    return DocumentVersion(
        collection=collection,
        path=row["path"],
        version=row["version"],
        digest=row["digest"],
        size=row["size"],
        at=row["at"],
        author=row["author"],
        turn=row["turn"],
        label=_label(row["trust"], row.get("sources", ())),
        executable=row["executable"],
        erased=row.get("erased", False),
    )


def _from_headers(collection: str, path: str, headers: Headers, content: bytes) -> DocumentVersion:
    from email.utils import parsedate_to_datetime
    from urllib.parse import unquote

    return DocumentVersion(
        collection=collection,
        path=path,
        version=int(headers["etag"].strip('"')),
        digest=headers.get("x-ostiary-digest", ""),
        size=len(content),
        at=parsedate_to_datetime(headers["last-modified"]).timestamp(),
        author=unquote(headers.get("x-ostiary-author", "")),
        label=_label(headers.get("x-ostiary-trust", ""), ()),
        executable=headers.get("x-ostiary-executable") == "true",
    )


def _label(trust: str, sources: Sequence[str]) -> Label | None:
    return Label(trust=Trust(trust), sources=tuple(sources)) if trust else None


def _index(row: Mapping[str, Any]) -> IndexStatus:
    return IndexStatus(**{name: row[name] for name in ("documents", "chunks", "waiting", "embedder", "rebuilding", "problem")})


def _found(answer: Mapping[str, Any]) -> Found:
    passages = tuple(
        Passage(
            collection=each["collection"],
            path=each["path"],
            version=each["version"],
            start=each["start"],
            end=each["end"],
            score=each["score"],
            text=each["text"],
            snippet=each["snippet"],
            why=tuple(each["why"]),
            at=each["at"],
            label=_label(each["trust"], ()),
        )
        for each in answer["results"]
    )
    return Found(passages=passages, mode=answer["mode"], notices=tuple(answer["notices"]))
