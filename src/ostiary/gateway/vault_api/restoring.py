"""Going back: one document to a version, or documents to a moment or to before a turn; always by new versions."""

import glob

import msgspec

from ostiary.contracts.store import Restore
from ostiary.core.documents.restoring import RestorePlan, plan_restore, plan_restore_before
from ostiary.gateway.asgi import Receive, Scope, Send, respond
from ostiary.gateway.auth import caller_of
from ostiary.gateway.vault_api import reading
from ostiary.gateway.vault_api.desk import VaultDesk


class _Wanted(msgspec.Struct, forbid_unknown_fields=True):
    collection: str
    path: str = ""
    version: int | None = None
    at: str | float | None = None
    turn: str = ""
    preview: bool = False


async def restore(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    """Exactly one of `version` (with `path`), `at` and `turn`. `preview` says what would change and changes nothing."""
    asked = await reading.body(scope, receive, _Wanted)
    collection = reading.collection_of(asked.collection)
    moment = reading.moment("at", asked.at)
    if sum((asked.version is not None, moment is not None, bool(asked.turn))) != 1:
        raise reading.invalid("version", "say one of version, at and turn")
    if asked.version is not None and not asked.path:
        raise reading.invalid("path", "a version belongs to one document")
    plan = await _plan(desk, asked, collection, moment, str(caller_of(scope).principal.user))
    versions = () if asked.preview or not plan.writes else await desk.store.commit(plan.writes)
    given = {write.path: version for write, version in zip(plan.writes, versions, strict=False)}
    answer = {
        "restored": list(plan.restored),
        "deleted": list(plan.deleted),
        "left": list(plan.left),
        "versions": given,
        "preview": asked.preview,
    }
    await respond(send, 200, answer)


async def _plan(desk: VaultDesk, asked: _Wanted, collection: str, moment: float | None, author: str) -> RestorePlan:
    now = desk.clock.now()
    if asked.version is not None:
        write = Restore(collection=collection, path=asked.path, version=asked.version, at=now, author=author)
        return RestorePlan(writes=(write,), restored=(asked.path,))
    pattern = glob.escape(asked.path) if asked.path else "**"
    if moment is not None:
        return await plan_restore(desk.documents, collection, moment, at=now, author=author, pattern=pattern)
    return await plan_restore_before(desk.documents, collection, asked.turn, at=now, author=author, pattern=pattern)
