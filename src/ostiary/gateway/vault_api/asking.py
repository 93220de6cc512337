"""Finding and embedding text, running a command on a collection, and how the vault is."""

import struct
from dataclasses import asdict
from typing import Annotated

import msgspec
from msgspec import Meta

from ostiary.contracts.search import Embedder, EmbedKind, Reach
from ostiary.gateway.asgi import Receive, Scope, Send, respond
from ostiary.gateway.auth import caller_of
from ostiary.gateway.errors import ApiError
from ostiary.gateway.showing import words_for
from ostiary.gateway.vault_api import reading
from ostiary.gateway.vault_api.desk import VaultDesk
from ostiary.gateway.vault_api.rows import hit

FORMAT = 1
MOST_TEXTS = 256
MOST_CHARACTERS = 32_000

_Globs = Annotated[list[Annotated[str, Meta(min_length=1, max_length=1024)]], Meta(max_length=50)]


class _Query(msgspec.Struct, forbid_unknown_fields=True):
    text: str
    collections: Annotated[list[str], Meta(max_length=100)] | None = None
    include: _Globs = []
    exclude: _Globs = []
    limit: Annotated[int, Meta(ge=1, le=50)] = 6


class _Embed(msgspec.Struct, forbid_unknown_fields=True):
    input: list[str]
    kind: EmbedKind = "passage"


class _Exec(msgspec.Struct, forbid_unknown_fields=True):
    command: Annotated[str, Meta(min_length=1, max_length=100_000)]
    collection: str = "_workspace"
    timeout: Annotated[float, Meta(ge=1, le=300)] = 30.0
    network: bool = False


async def status(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    uses = await desk.documents.collections()
    index = await desk.search.status()
    answer = {
        "state": "ok",
        "documents": sum(use.documents for use in uses),
        "bytes": sum(use.bytes for use in uses),
        "index": asdict(index),
        "embedder": "" if desk.embedder is None else desk.embedder.name,
        "format": FORMAT,
        **desk.facts(),
    }
    await respond(send, 200, answer)


async def query(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    """Without `collections` all that hold documents are searched; past conversations only when `_sessions` is named."""
    asked = await reading.body(scope, receive, _Query)
    named = asked.collections
    if named is None:
        named = [use.collection for use in await desk.documents.collections()]
    reach = Reach(
        collections=tuple(reading.collection_of(name) for name in named),
        include=tuple(asked.include) or ("**",),
        exclude=tuple(asked.exclude),
    )
    words = words_for(caller_of(scope), desk.redact)
    found = await desk.search.query(asked.text, reach=reach, limit=asked.limit)
    answer = {"results": [hit(each, words) for each in found.passages], "mode": found.mode, "notices": list(found.notices)}
    await respond(send, 200, answer)


async def reindex(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    """Begins a new index, while the old one answers; `status` tells how far it is."""
    if desk.reindex is None:
        raise ApiError(501, "The index makes itself anew.", code="not_here")
    await desk.reindex()
    await respond(send, 202, {"index": asdict(await desk.search.status())})


async def embed(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    asked = await reading.body(scope, receive, _Embed)
    embedder = embedder_of(desk.embedder)
    check_texts(asked.input)
    vectors = await embedder.embed(asked.input, asked.kind) if asked.input else ()
    answer = {
        "vectors": [numbers(vector) for vector in vectors],
        "model": embedder.name,
        "dimensions": embedder.dimensions,
    }
    await respond(send, 200, answer)


async def execute(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    asked = await reading.body(scope, receive, _Exec)
    if desk.exec is None:
        raise ApiError(501, "Commands are run by the gateway, not here.", code="not_here")
    ran = await desk.exec.run(
        reading.collection_of(asked.collection),
        asked.command,
        seconds=asked.timeout,
        network=asked.network,
        by=caller_of(scope).principal,
    )
    answer = {
        "code": ran.code,
        "output": ran.output,
        "changes": [asdict(change) for change in ran.changes],
        "refused": list(ran.refused),
        "timedOut": ran.timed_out,
    }
    await respond(send, 200, answer)


def embedder_of(embedder: Embedder | None) -> Embedder:
    if embedder is None:
        raise ApiError(501, "No embedder is configured: text is found by words alone.", code="no_embedder")
    return embedder


def check_texts(texts: list[str]) -> None:
    """Raises ApiError 400."""
    if len(texts) > MOST_TEXTS:
        raise reading.invalid("input", f"at most {MOST_TEXTS} texts at once")
    if any(len(text) > MOST_CHARACTERS for text in texts):
        raise reading.invalid("input", f"a text has at most {MOST_CHARACTERS} characters")


def numbers(vector: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(vector) // 4}f", vector))
