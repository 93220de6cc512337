"""Many documents in one request, for imports: each is written or refused by itself."""

import hashlib

import anyio
import msgspec

from ostiary.contracts.errors import BadInput, Conflict, OstiaryError, QuotaExceeded
from ostiary.contracts.store import Put
from ostiary.gateway.asgi import Receive, Scope, Send, read_body, respond
from ostiary.gateway.auth import caller_of
from ostiary.gateway.errors import ApiError, sentence
from ostiary.gateway.limits import Limits
from ostiary.gateway.vault_api import reading
from ostiary.gateway.vault_api.desk import BODY_SECONDS, VaultDesk, label_of

MOST_BYTES = 16 * 1024 * 1024
MOST_DOCUMENTS = 1_000
_LIMITS = Limits(body_bytes=MOST_BYTES, body_seconds=BODY_SECONDS)
_AT_ONCE = 16
_CODES: dict[type, str] = {Conflict: "conflict", QuotaExceeded: "quota_exceeded"}


class BatchPut(msgspec.Struct, forbid_unknown_fields=True):
    """`expect` as in `If-Match`; 0: nothing may be there."""

    path: str
    content: bytes
    executable: bool | None = None
    expect: int | None = None


class Batch(msgspec.Struct, forbid_unknown_fields=True):
    collection: str
    puts: list[BatchPut]
    trust: str = ""


async def batch(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    """A msgpack map. A refusal of one stops no other; what the store itself cannot do now ends the request."""
    by = caller_of(scope).principal
    async with desk.bodies:
        asked = _decoded(await read_body(scope, receive, _LIMITS))
        collection = reading.collection_of(asked.collection)
        label, now = label_of(by, reading.trust(asked.trust)), desk.clock.now()
        results: list[dict[str, object]] = [{} for _ in asked.puts]
        room = anyio.CapacityLimiter(_AT_ONCE)

        async def write(place: int, put: BatchPut) -> None:
            async with room:
                results[place] = await _written(
                    desk,
                    Put(
                        collection=collection,
                        path=put.path,
                        content=put.content,
                        at=now,
                        author=str(by.user),
                        label=label,
                        expect_version=put.expect,
                        executable=put.executable,
                    ),
                )

        failed: list[OstiaryError] = []
        try:
            async with anyio.create_task_group() as group:
                for place, put in enumerate(asked.puts):
                    group.start_soon(write, place, put)
        except* OstiaryError as errors:
            failed.extend(each for each in errors.exceptions if isinstance(each, OstiaryError))
        if failed:
            raise failed[0]
    await respond(send, 200, {"results": results})


async def _written(desk: VaultDesk, put: Put) -> dict[str, object]:
    try:
        (version,) = await desk.store.commit([put])
    except (BadInput, Conflict, QuotaExceeded) as error:
        return {"path": put.path, "error": sentence(error), "code": _CODES.get(type(error), "bad_input")}
    return {"path": put.path, "version": version, "digest": hashlib.sha256(put.content).hexdigest()}


def _decoded(content: bytes) -> Batch:
    try:
        asked = msgspec.msgpack.decode(content, type=Batch)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError(400, f"The body: {error}.", code="invalid_value") from None
    if len(asked.puts) > MOST_DOCUMENTS:
        raise reading.invalid("puts", f"at most {MOST_DOCUMENTS} at once")
    if len({put.path for put in asked.puts}) != len(asked.puts):
        raise reading.invalid("puts", "each path once")
    return asked
