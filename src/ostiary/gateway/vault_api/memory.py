"""What is remembered, for the owner: write, list, where from, confirm, forget."""

from dataclasses import asdict
from typing import Annotated

import msgspec
from msgspec import Meta

from ostiary.contracts.identity import is_id
from ostiary.core.memory.memory import Memory
from ostiary.core.memory.paths import COLLECTION, Area, place_of
from ostiary.core.memory.shelf import notes
from ostiary.core.memory.writing import told
from ostiary.gateway.asgi import Receive, Scope, Send, respond
from ostiary.gateway.auth import caller_of
from ostiary.gateway.errors import ApiError
from ostiary.gateway.showing import words_for
from ostiary.gateway.vault_api import reading
from ostiary.gateway.vault_api.desk import VaultDesk
from ostiary.gateway.vault_api.rows import hit, row

_MOST_NOTES = 2_000
_Text = Annotated[str, Meta(min_length=1, max_length=100_000)]


class _Write(msgspec.Struct, forbid_unknown_fields=True):
    text: _Text
    area: Area | None = None
    title: Annotated[str, Meta(max_length=200)] = ""
    agent: str = "main"


class _Why(msgspec.Struct, forbid_unknown_fields=True):
    target: _Text
    agent: str = "main"


class _Forget(msgspec.Struct, forbid_unknown_fields=True):
    text: _Text
    preview: bool = False


class _Confirm(msgspec.Struct, forbid_unknown_fields=True):
    ids: Annotated[list[str], Meta(min_length=1, max_length=200)]
    reject: bool = False
    area: Area | None = None
    agent: str = "main"


class _Search(msgspec.Struct, forbid_unknown_fields=True):
    text: _Text
    limit: Annotated[int, Meta(ge=1, le=50)] = 6
    agent: str = "main"
    sessions: bool = False


async def write(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    asked = await reading.body(scope, receive, _Write)
    by = caller_of(scope).principal
    kept = await _memory(desk).note(asked.text, by=by, area=asked.area, title=asked.title, agent=_agent(asked.agent))
    answer = {"outcome": kept.outcome, "path": kept.path, "line": kept.line, "area": kept.area, "told": told(kept)}
    await respond(send, 200, answer)


async def why(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    asked = await reading.body(scope, receive, _Why)
    words = words_for(caller_of(scope), desk.redact)
    origins = await _memory(desk).origins.why(asked.target, agent=_agent(asked.agent))
    told = [{**asdict(each), "text": words(each.text), "words": words(each.words)} for each in origins]
    await respond(send, 200, {"origins": told})


async def search(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    asked = await reading.body(scope, receive, _Search)
    words = words_for(caller_of(scope), desk.redact)
    recall = _memory(desk).recall
    found = await recall.everything(asked.text, agent=_agent(asked.agent), limit=asked.limit, sessions=asked.sessions)
    answer = {"results": [hit(each, words) for each in found.passages], "mode": found.mode, "notices": list(found.notices)}
    await respond(send, 200, answer)


async def forget(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    """`preview` tells what would be erased and erases nothing."""
    asked = await reading.body(scope, receive, _Forget)
    forgetter = _memory(desk).forgetter
    if not asked.preview:
        forgotten = await forgetter.forget(asked.text, by=caller_of(scope).principal)
        await respond(send, 200, asdict(forgotten))
        return
    plan = await forgetter.plan(asked.text)
    answer = {
        "digest": plan.digest,
        "places": [f"{loss.path}#L{entry.start}" for loss in plan.losses for entry in loss.gone],
        "entries": [entry.text for loss in plan.losses for entry in loss.gone],
        "versions": sum(len(loss.versions) for loss in plan.losses),
        "sessions": sorted({str(each.session) for each in plan.spoken}),
        "left": list(plan.left),
        "preview": True,
    }
    await respond(send, 200, answer)


async def confirm(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    asked = await reading.body(scope, receive, _Confirm)
    by, agent, confirming = caller_of(scope).principal, _agent(asked.agent), _memory(desk).confirming
    if asked.reject:
        settled = await confirming.reject(asked.ids, by=by, agent=agent)
    else:
        settled = await confirming.confirm(asked.ids, by=by, agent=agent, area=asked.area)
    await respond(send, 200, {"settled": [asdict(each) for each in settled]})


async def listing(desk: VaultDesk, scope: Scope, receive: Receive, send: Send) -> None:
    """The notes of an agent with their place, and what waits for the owner."""
    agent = _agent(reading.parameters(scope).get("agent", "") or "main")
    memory, words = _memory(desk), words_for(caller_of(scope), desk.redact)
    found = []
    async for note in notes(desk.documents, agent=agent):
        found.append({**row(note.version), "path": note.path, "place": place_of(note.path), "collection": COLLECTION})
        if len(found) == _MOST_NOTES:
            break
    waiting = [{**asdict(each), "text": words(each.text)} for each in await memory.confirming.waiting(agent=agent)]
    await respond(send, 200, {"notes": found, "waiting": waiting})


def _memory(desk: VaultDesk) -> Memory:
    if desk.memory is None:
        raise ApiError(501, "Memory is kept by the gateway, not here.", code="not_here")
    return desk.memory


def _agent(name: str) -> str:
    if not is_id(name):
        raise reading.invalid("agent", "expected an agent's id")
    return name
