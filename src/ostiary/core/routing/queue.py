"""What waits in a session's seat, and which of it makes the next turn. Pure: no clock, no store."""

from collections import deque
from collections.abc import Sequence
from dataclasses import field
from typing import Literal

from ostiary.contracts.content import Image, Label, Text, Trust, UserPart
from ostiary.contracts.errors import Busy
from ostiary.contracts.events import TurnInput
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.messages import Attachment
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import InboxItem
from ostiary.core.agent.job import Job
from ostiary.core.sessions.session import trust_label

Mode = Literal["collect", "followup", "steer", "steer-backlog", "interrupt"]
MODES: tuple[Mode, ...] = ("collect", "followup", "steer", "steer-backlog", "interrupt")
Drop = Literal["old", "new", "summarize"]
QUIET_TIMES = 10
_SUMMARY_LINE = 140


class QueueFull(Busy):
    """This conversation's own queue is full; the store is not to blame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRules:
    """How a session treats what arrives while it is busy."""

    mode: Mode = "collect"
    debounce: float = 1.0
    cap: int = 20
    drop: Drop = "summarize"


@dataclass(slots=True, eq=False)
class Seat:
    """A session's place in its lane. `job` is set while a turn of it runs; `parked` names a turn that waits.

    `due` holds, per waiting item, the monotonic second from which it may run. `arriving` counts messages being written.
    `stop_reason` is set while a turn that was told to stop waits for the store. `since` is the monotonic second from which
    nothing but the quiet time holds its next turn back."""

    key: SessionKey
    waiting: deque[InboxItem] = field(default_factory=deque)
    due: dict[int, float] = field(default_factory=dict)
    dropped: list[InboxItem] = field(default_factory=list)
    job: Job | None = None
    parked: str = ""
    deadline: float = 0.0
    resume: str = ""
    lane: str = "main"
    lined_up: bool = False
    arriving: int = 0
    failures: int = 0
    not_before: float = 0.0
    stop_reason: str = ""
    since: float | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.waiting or self.dropped or self.job or self.parked or self.resume or self.arriving)

    def ready_at(self) -> float:
        """When the next turn may begin: debounced messages wait for the last of their batch.

        Who never pauses is answered all the same, after `QUIET_TIMES` the quiet time."""
        batch = next_batch(self.waiting)
        due = max((self.due.get(item.id, 0.0) for item in batch), default=0.0)
        if self.since is None:
            return due
        quiet = max((item.ready_at - item.accepted_at for item in batch), default=0.0)
        return min(due, self.since + QUIET_TIMES * quiet)


def next_batch(waiting: Sequence[InboxItem]) -> list[InboxItem]:
    """The messages of the next turn: one, or in collect mode the run of messages of one sender and place.

    Senders are never mixed: a batch speaks with one authority."""
    batch: list[InboxItem] = []
    for item in waiting:
        if batch and not _joins(batch[0], item):
            break
        batch.append(item)
        if not _collects(item):
            break
    return batch


def _collects(item: InboxItem) -> bool:
    own_terms = item.instructions or item.context or item.client_tools or item.directives or item.untrusted_source
    return item.mode == "collect" and not own_terms


def _joins(first: InboxItem, item: InboxItem) -> bool:
    return _collects(item) and item.principal == first.principal and item.reply_to == first.reply_to


def input_of(item: InboxItem, text: str | None = None) -> TurnInput:
    """The message as the model reads it (`text`, if it was put in an envelope); a quotation is somebody else's words."""
    message = item.message
    text = message.text if text is None else text
    label = trust_label(item.principal.is_owner, str(message.sender))
    if item.untrusted_source:
        label = Label(trust=Trust.UNTRUSTED, sources=(item.untrusted_source,))
    parts: list[UserPart] = []
    if message.quoted is not None:
        # Whoever is quoted, nobody has vouched for it: a quotation is how a stranger's words come in by a friend.
        quoted = Label(trust=Trust.UNTRUSTED, sources=(f"quoted:{message.quoted.sender}",))
        parts.append(Text(text=f"[quoting {message.quoted.sender}]\n{message.quoted.text}\n[end of quote]", label=quoted))
    if text:
        parts.append(Text(text=text, label=label))
    for attachment in message.attachments:
        if attachment.media_type.startswith("image/"):
            parts.append(Image(digest=attachment.digest, media_type=attachment.media_type, label=label))
        else:
            parts.append(Text(text=note_of(attachment), label=label))
    return TurnInput(item=item.id, parts=tuple(parts), at=message.at, sender=str(message.sender), attachments=message.attachments)


def note_of(attachment: Attachment) -> str:
    """What the model reads of a file that it cannot be shown."""
    return f"[attached: {attachment.name}, {attachment.media_type}, {attachment.size} bytes]"


def summarise(dropped: Sequence[InboxItem]) -> str:
    """One line per message that the full queue pushed out, so that none vanishes unseen."""
    if not dropped:
        return ""
    lines = []
    for item in dropped:
        text = " ".join(item.message.text.split())
        lines.append(f"- {text[:_SUMMARY_LINE]}{'…' if len(text) > _SUMMARY_LINE else ''}")
    return f"[{len(dropped)} earlier messages came while the queue was full; shortened:]\n" + "\n".join(lines)


def own_of(dropped: Sequence[InboxItem]) -> tuple[InboxItem, ...]:
    """Those that their sender vouches for."""
    return tuple(item for item in dropped if not item.untrusted_source)


def outside_of(dropped: Sequence[InboxItem]) -> tuple[TurnInput, ...]:
    """What came from outside and was pushed out, summed up with the label that it came with; nothing if there is none."""
    outside = [item for item in dropped if item.untrusted_source]
    if not outside:
        return ()
    label = Label(trust=Trust.UNTRUSTED, sources=tuple(sorted({item.untrusted_source for item in outside})))
    return (TurnInput(item=0, parts=(Text(text=summarise(outside), label=label),), at=outside[-1].message.at),)
