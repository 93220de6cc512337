"""Who is told what: all sockets, and the subscribers of each session. What many receive is encoded once."""

from collections.abc import Collection, Iterable

import msgspec

from ostiary.gateway.protocol.events import Chat, ChatDelta, ChatProgress, ChatTool
from ostiary.gateway.protocol.frames import encode, event_head
from ostiary.gateway.protocol.registry import Scope
from ostiary.gateway.socket.connection import Connection

EVERY = "*"
_NOBODY: frozenset[Connection] = frozenset()


class Audience:
    def __init__(self) -> None:
        self.everybody: set[Connection] = set()
        self._by_session: dict[str, set[Connection]] = {}

    def join(self, connection: Connection) -> None:
        self.everybody.add(connection)

    def leave(self, connection: Connection) -> None:
        self.everybody.discard(connection)
        self.unsubscribe(connection, list(connection.sessions))

    def subscribe(self, connection: Connection, sessions: Iterable[str]) -> None:
        for session in sessions:
            connection.sessions.add(session)
            self._by_session.setdefault(session, set()).add(connection)

    def unsubscribe(self, connection: Connection, sessions: Iterable[str]) -> None:
        for session in sessions:
            connection.sessions.discard(session)
            watching = self._by_session.get(session)
            if watching is not None:
                watching.discard(connection)
                if not watching:
                    del self._by_session[session]

    def of(self, session: str) -> Collection[Connection]:
        """Its subscribers, and those of everything."""
        some, all_ = self._by_session.get(session, _NOBODY), self._by_session.get(EVERY, _NOBODY)
        return some | all_ if some and all_ else some or all_

    def tell_those_with(self, scopes: frozenset[Scope], event: str, payload: object) -> None:
        """Every socket whose caller has one of the scopes."""
        told = [each for each in self.everybody if scopes & each.caller.scopes]
        if told:
            head = event_head(event, encode(payload))
            for connection in told:
                connection.outgoing.event(head)

    def tell_everybody(self, event: str, payload: object, state_version: object = None) -> None:
        if self.everybody:
            head = event_head(event, encode(payload), encode(state_version) if state_version is not None else b"")
            for connection in list(self.everybody):
                connection.outgoing.event(head)

    def tell_subscribers(self, session: str, chat: Chat) -> None:
        watching = self.of(session)
        if not watching:
            return
        full = event_head("chat", encode(chat))
        brief = full
        if isinstance(chat, ChatTool) and chat.result is not None and not all(each.wants_results for each in watching):
            brief = event_head("chat", encode(msgspec.structs.replace(chat, result=None, details=None)))
        is_delta = isinstance(chat, ChatDelta | ChatProgress)
        for connection in list(watching):
            connection.outgoing.event(full if connection.wants_results else brief, is_delta=is_delta)

    def lost_something(self) -> None:
        """Every subscriber sees a gap and asks again for what it shows."""
        for connection in self.everybody:
            connection.outgoing.skip_number()
