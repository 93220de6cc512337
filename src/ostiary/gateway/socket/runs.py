"""Runs that programs began with `agent`: which turn took them, and which socket hears of it."""

from collections import OrderedDict

import msgspec

from ostiary.gateway.protocol.events import (
    AgentEvent,
    Chat,
    ChatDelta,
    ChatError,
    ChatFinal,
    ChatStarted,
    ChatTool,
)
from ostiary.gateway.protocol.frames import encode, event_head
from ostiary.gateway.socket.connection import Connection

REMEMBERED = 1000


class Runs:
    """Bounded: of more than a thousand the oldest are not told of any more; `agent.wait` still knows them."""

    def __init__(self) -> None:
        self._by_item: OrderedDict[int, tuple[str, Connection]] = OrderedDict()
        self._by_turn: dict[str, list[tuple[str, Connection]]] = {}
        self._taken: OrderedDict[int, str] = OrderedDict()

    def begun(self, item: int, run: str, connection: Connection) -> None:
        """The turn may have taken the item already."""
        turn = self._taken.get(item)
        if turn is not None:
            self._by_turn.setdefault(turn, []).append((run, connection))
            _tell(connection, run, "lifecycle", {"phase": "start", "turn": turn})
            return
        self._by_item[item] = (run, connection)
        while len(self._by_item) > REMEMBERED:
            self._by_item.popitem(last=False)

    def follows(self, turn: str) -> bool:
        return turn in self._by_turn

    def left(self, connection: Connection) -> None:
        for item in [item for item, (_, whose) in self._by_item.items() if whose is connection]:
            del self._by_item[item]
        for turn, runs in list(self._by_turn.items()):
            kept = [each for each in runs if each[1] is not connection]
            if kept:
                self._by_turn[turn] = kept
            else:
                del self._by_turn[turn]

    def heard(self, chat: Chat) -> None:
        if isinstance(chat, ChatStarted):
            self._started(chat)
            return
        runs = self._by_turn.get(chat.turn)
        if not runs:
            return
        match chat:
            case ChatDelta(stream="assistant"):
                data = {"step": chat.step, "attempt": chat.attempt, "offset": chat.offset, "text": chat.text}
                for run, connection in runs:
                    _tell(connection, run, "assistant", data, is_delta=True)
            case ChatTool():
                brief = msgspec.to_builtins(msgspec.structs.replace(chat, result=None, details=None))
                for run, connection in runs:
                    _tell(connection, run, "tool", brief)
            case ChatFinal() | ChatError():
                for run, connection in self._by_turn.pop(chat.turn):
                    _tell(connection, run, "lifecycle", {"phase": "end", "turn": chat.turn, "status": chat.status})
            case _:
                pass

    def _started(self, chat: ChatStarted) -> None:
        for item in chat.items:
            self._taken[item] = chat.turn
            waiting = self._by_item.pop(item, None)
            if waiting is not None:
                self._by_turn.setdefault(chat.turn, []).append(waiting)
                _tell(waiting[1], waiting[0], "lifecycle", {"phase": "start", "turn": chat.turn})
        while len(self._taken) > REMEMBERED:
            self._taken.popitem(last=False)


def _tell(connection: Connection, run: str, stream: str, data: dict[str, object], *, is_delta: bool = False) -> None:
    event = AgentEvent(run_id=run, stream=stream, data=data)  # type: ignore[arg-type]
    connection.outgoing.event(event_head("agent", encode(event)), is_delta=is_delta)
