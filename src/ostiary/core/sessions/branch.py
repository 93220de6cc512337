"""A new conversation that begins as another one was."""

from collections.abc import Mapping, Sequence

from ostiary.contracts.content import Message
from ostiary.contracts.errors import BadInput
from ostiary.contracts.events import Branched, SettingChanged
from ostiary.contracts.identity import SessionKey
from ostiary.core.sessions.repair import repair


def branch_events(
    parent: SessionKey, at: int, messages: Sequence[Message], *, settings: Mapping[str, str], by: str
) -> tuple[Branched | SettingChanged, ...]:
    """The events a branch starts with: the parent's folded `messages` at event `at`, then its settings.

    A turn that was still open at `at` is closed: its unanswered calls get a stated result. Raises BadInput for a seq below 1.
    """
    if at < 1:
        raise BadInput(f"a conversation cannot be branched at event {at}", hint="Events count from 1.")
    begun = Branched(parent=str(parent), at=at, messages=repair(messages).messages)
    kept = (SettingChanged(name=name, value=value, by=by) for name, value in sorted(settings.items()) if value)
    return (begun, *kept)
