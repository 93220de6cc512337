"""The few pages behind the same token that our own command line reads: how the house is, one session, stop."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ostiary.contracts.content import Text
from ostiary.contracts.engine import Engine
from ostiary.contracts.errors import BadInput
from ostiary.contracts.events import ModelAnswered, Recorded, Reset, TurnEnded, TurnStarted
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Store
from ostiary.gateway.asgi import Receive, Scope, Send, query, read_body, respond
from ostiary.gateway.errors import ApiError, sentence
from ostiary.gateway.limits import Limits
from ostiary.gateway.openai_api.submission import BEARER

_LISTED = 200
_SAID = 100


class _Stop(msgspec.Struct, forbid_unknown_fields=True):
    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """`facts` adds what only assembly knows (version, home, commands) to the engine's own status."""

    engine: Engine
    store: Store | None
    facts: Callable[[], Mapping[str, object]]
    limits: Limits

    async def status(self, scope: Scope, receive: Receive, send: Send) -> None:
        await respond(send, 200, {**self.facts(), **self.engine.status()})

    async def sessions(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The most recently used ones."""
        records = await self._store().sessions(limit=_LISTED)
        rows = [
            {"key": str(r.key), "title": r.title, "created_at": r.created_at, "updated_at": r.updated_at, "events": r.last_seq}
            for r in records
        ]
        await respond(send, 200, {"sessions": rows})

    async def session(self, scope: Scope, receive: Receive, send: Send) -> None:
        """`?key=`: its state, and what was said last, for a screen that opens."""
        key = _key(query(scope).get("key", ""))
        view = await self.engine.view(key)
        body: dict[str, Any] = {
            "key": str(view.key),
            "model": view.model,
            "settings": dict(view.settings),
            "turns": view.turns,
            "messages": view.messages,
            "running_turn": view.running_turn,
            "waiting_for": view.waiting_for,
            "queued": view.queued,
            "context_tokens": view.context_tokens,
            "usage": msgspec.to_builtins(view.usage),
        }
        body["said"] = said(await self._store().read(key)) if self.store is not None else []
        await respond(send, 200, body)

    async def stop(self, scope: Scope, receive: Receive, send: Send) -> None:
        """`{"session": key}`: end the running turn and clear what is queued."""
        body = await read_body(scope, receive, self.limits)
        try:
            request = msgspec.json.decode(body, type=_Stop)
        except msgspec.DecodeError as error:
            raise ApiError(400, f"The body: {error}.", code="invalid_value") from None
        stopped = await self.engine.stop(_key(request.session), by=BEARER)
        await respond(send, 200, {"turns": stopped.turns, "queued": stopped.queued})

    def _store(self) -> Store:
        if self.store is None:
            raise ApiError(503, "The store is not open.", code="store_unavailable")
        return self.store


def said(journal: tuple[Recorded, ...]) -> list[dict[str, str]]:
    """The conversation since its last reset, as people saw it; at most the newest lines of it."""
    lines: list[dict[str, str]] = []
    spoken = ""
    for recorded in journal:
        match recorded.event:
            case Reset():
                lines.clear()
            case TurnStarted(inputs=inputs):
                spoken = ""
                text = "\n\n".join(part.text for each in inputs for part in each.parts if isinstance(part, Text))
                lines.append({"role": "user", "text": text})
            case ModelAnswered(parts=parts):
                spoken = "".join(part.text for part in parts if isinstance(part, Text)) or spoken
            case TurnEnded(reply=reply, partial=partial, reason=reason, status=status):
                text = reply or partial or (spoken if status == "completed" else reason)
                if text:
                    lines.append({"role": "assistant", "text": text})
    return lines[-_SAID:]


def _key(text: str) -> SessionKey:
    try:
        return SessionKey.parse(text)
    except BadInput as error:
        raise ApiError(400, f"session: {sentence(error)}", code="invalid_value", param="session") from None
