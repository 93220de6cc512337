"""What the judge asks while a generation of the rules is in force: switches, the guard, what a conversation has seen."""

from collections.abc import Callable

from ostiary.contracts.content import Message
from ostiary.contracts.policy import Action
from ostiary.core.agent.leaks import Known
from ostiary.core.control.control import Control
from ostiary.core.policy.judge import Layer
from ostiary.core.policy.rules import Runtime
from ostiary.core.policy.seen import is_named, is_vouched_for
from ostiary.core.sessions.pen import Sessions


class Circumstances:
    """Made before the rules are compiled and filled when the engine is: until then nothing is on and nothing known."""

    def __init__(self, guard: Layer | None = None) -> None:
        self.control: Control | None = None
        self.sessions: Sessions | None = None
        self.has_way_out: Callable[[], bool] = lambda: False
        self.runtime = Runtime(
            is_on=self._is_on,
            is_strict=self._is_strict,
            guard=guard,
            is_known_url=self._is_known_url,
            is_named=self._is_named,
            is_watched=lambda action: self.has_way_out(),
        )

    def _is_on(self, tool: str) -> bool:
        return self.control is not None and self.control.is_on(tool)

    def _is_strict(self) -> bool:
        return self.control is None or self.control.rules().strict

    def _is_known_url(self, action: Action, url: str) -> bool:
        return url in Known(self._messages(action), is_vouched_for)

    def _is_named(self, action: Action, text: str) -> bool:
        """Only the owner's own words count: a page that names a recipient must not make it one."""
        return is_named(self._messages(action), text)

    def _messages(self, action: Action) -> tuple[Message, ...]:
        session = self.sessions.peek(action.session) if self.sessions is not None else None
        return tuple(session.messages) if session is not None else ()
