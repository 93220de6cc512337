"""One answer as it is written, whatever happens to the connection meanwhile."""

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from ostiary.client.errors import CallRefused
from ostiary.contracts.records import dataclass

if TYPE_CHECKING:
    from ostiary.client.gateway import Event, Gateway

_ANSWER_SECONDS = 660.0
_GAP = "gap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """`text` and `thinking` are new words; `restart`: those of this step so far are void; `tool` tells of a call.

    `asked`: the turn waits for a person, `text` is the whole of what there is to answer with `Gateway.answer`.

    `final` ends it with the whole reply, `error` with what went wrong. `payload` is the event it comes from."""

    kind: Literal["text", "thinking", "restart", "tool", "asked", "final", "error"]
    text: str = ""
    payload: Mapping[str, Any]


class _Screen:
    """What was shown of the step being written."""

    def __init__(self) -> None:
        self._at: tuple[int, int, str] = (0, 0, "")
        self._length = 0

    def take(self, delta: Mapping[str, Any]) -> list[Piece]:
        place = (delta["step"], delta["attempt"], delta["stream"])
        pieces = []
        if place != self._at:
            if place[0] == self._at[0] and place[1] != self._at[1]:
                pieces.append(Piece(kind="restart", payload=delta))
            self._at, self._length = place, 0
        new = delta["text"][max(0, self._length - delta["offset"]) :]
        self._length = max(self._length, delta["offset"] + len(delta["text"]))
        if new:
            pieces.append(Piece(kind="text" if delta["stream"] == "assistant" else "thinking", text=new, payload=delta))
        return pieces


async def converse(gateway: "Gateway", key: str, text: str, more: Mapping[str, Any]) -> AsyncIterator[Piece]:
    with gateway.listening("chat", "approval") as listener:
        await gateway.follow(key)
        params = {"key": key, "text": text, "idempotencyKey": uuid4().hex, **more}
        sent = await gateway.call("chat.send", params)
        if sent["status"] == "answered":
            yield Piece(kind="final", text=sent["text"], payload=sent)
            return
        turn, screen = "", _Screen()
        while True:
            event: Event = await listener.get()
            payload = event.payload
            if event.name == _GAP:
                yield await _outcome(gateway, sent["item"])
                return
            if event.name == "approval":
                if payload["state"] == "asked" and payload["approval"]["turn"] == turn != "":
                    yield await _question(gateway, payload["approval"])
                continue
            if payload.get("key") != key:
                continue
            if payload["state"] in ("started", "steered") and sent["item"] in payload["items"]:
                turn = payload["turn"]
            if not turn or payload.get("turn") != turn:
                continue
            match payload["state"]:
                case "delta":
                    for piece in screen.take(payload):
                        yield piece
                case "tool":
                    yield Piece(kind="tool", text=payload["name"], payload=payload)
                case "waiting" if payload["waitingFor"] == "approval":
                    # It goes on by itself once somebody has answered, or nobody in time.
                    pass
                case "final" | "waiting":
                    yield Piece(kind="final", text=payload.get("reply", ""), payload=payload)
                    return
                case "error":
                    yield Piece(kind="error", text=payload["reply"] or payload["reason"], payload=payload)
                    return


async def _question(gateway: "Gateway", asked: Mapping[str, Any]) -> Piece:
    if not asked["whole"]:
        found = (await gateway.call("approvals.list", {"id": asked["id"]}))["approvals"]
        asked = found[0] if found else asked
    return Piece(kind="asked", text=asked["text"], payload=asked)


async def _outcome(gateway: "Gateway", item: int) -> Piece:
    """Something was missed: how it ended is asked for instead."""
    seconds = _ANSWER_SECONDS
    while True:
        params = {"runId": f"run_{item}", "timeoutMs": 60_000}
        ended = await gateway.call("agent.wait", params, seconds=seconds)
        if ended["status"] == "timeout" and seconds > 60:
            seconds -= 60
            continue
        if ended["status"] == "timeout":
            raise CallRefused({"code": "UNAVAILABLE", "message": "The answer did not come in time."})
        return Piece(kind="final" if ended["status"] == "ok" else "error", text=ended["text"] or ended["summary"], payload=ended)
