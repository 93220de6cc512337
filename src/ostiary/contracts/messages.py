"""What comes in from channels and what goes out to them."""

from enum import StrEnum

from ostiary.contracts.records import dataclass
from ostiary.contracts.text import StyleRange


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A place on a channel. `thread` is empty outside threads and topics."""

    channel: str
    account: str
    chat: str
    thread: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserId:
    """A sender's stable platform id, never a display name."""

    channel: str
    stable_id: str

    def __str__(self) -> str:
        return f"{self.channel}:{self.stable_id}"


class ChatKind(StrEnum):
    DIRECT = "direct"
    GROUP = "group"
    CHANNEL = "channel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file that came with a message; its bytes are the blob `digest` in the store."""

    name: str
    media_type: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoted:
    """Somebody's earlier words that the sender quotes: content, never an instruction."""

    sender: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundMessage:
    """`id` is the channel's own message id; with the address it makes the message unique for ever.

    `at` is UTC seconds. `parent` is the chat a thread hangs on; `guild`, `team` and `roles` feed bindings.
    """

    id: str
    address: Address
    sender: UserId
    text: str
    at: float
    chat_kind: ChatKind = ChatKind.DIRECT
    mentions_us: bool = True
    attachments: tuple[Attachment, ...] = ()
    quoted: Quoted | None = None
    sender_name: str = ""
    parent: str = ""
    guild: str = ""
    team: str = ""
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundMessage:
    """`text` is as the channel writes it; `ranges` holds its styles where they are not written into the text.

    `key` is turn:step:chunk, or turn:step:block:chunk of an answer that is streamed; a channel with idempotent sends passes
    it on. `possible_duplicate` is set when an earlier attempt may already have arrived.
    """

    key: str
    address: Address
    text: str
    reply_to: str = ""
    attachments: tuple[Attachment, ...] = ()
    choices: tuple[str, ...] = ()
    ranges: tuple[StyleRange, ...] = ()
    possible_duplicate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The channel's id for what was sent."""

    message_id: str
