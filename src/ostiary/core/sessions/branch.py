"""A new conversation that begins as another one was."""

from collections.abc import Mapping, Sequence

from ostiary.contracts.content import AssistantMessage, Label, Message
from ostiary.contracts.errors import BadInput
from ostiary.contracts.events import Branched, SettingChanged
from ostiary.contracts.identity import SessionKey
from ostiary.core.sessions.relabel import relabelled_messages
from ostiary.core.sessions.repair import repair


def branch_events(
    parent: SessionKey,
    at: int,
    messages: Sequence[Message],
    *,
    settings: Mapping[str, str],
    by: str,
    label: Label | None = None,
) -> tuple[Branched | SettingChanged, ...]:
    """The events a branch starts with: the parent's folded `messages` at event `at`, then its settings.

    `label` is the parent's: what the model said there was said in sight of all of it, also of what is no longer in view.
    A turn that was still open at `at` is closed: its unanswered calls get a stated result. Raises BadInput for a seq below 1.
    """
    if at < 1:
        raise BadInput(f"a conversation cannot be branched at event {at}", hint="Events count from 1.")
    kept_messages = repair(messages).messages
    if label is not None:
        kept_messages = tuple(
            relabelled_messages((each,), label)[0] if isinstance(each, AssistantMessage) else each for each in kept_messages
        )
    begun = Branched(parent=str(parent), at=at, messages=kept_messages)
    kept = (SettingChanged(name=name, value=value, by=by) for name, value in sorted(settings.items()) if value)
    return (begun, *kept)
