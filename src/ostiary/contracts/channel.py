"""The port to channels. Facts are data; another ability is another small Protocol."""

from collections.abc import Awaitable, Callable
from typing import Literal, Protocol, runtime_checkable

from ostiary.contracts.identity import SessionKey
from ostiary.contracts.messages import Address, InboundMessage, OutboundMessage, Receipt
from ostiary.contracts.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """`pushes` is False where the answer is fetched (API, web page): nothing goes through the outbox then.

    `markup` names the renderer of its text (see docs/concepts/delivery.md); empty: Markdown as it is."""

    max_chars: int = 4000
    markup: str = ""
    pushes: bool = True
    idempotent_send: bool = False
    threads: bool = False
    buttons: bool = False
    edits: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What became of a message. `item` is the inbox row once it is durable.

    `dropped` means refused in silence (not allowed to speak); `text` is an immediate answer (a command's).
    """

    status: Literal["accepted", "duplicate", "answered", "dropped"]
    item: int | None = None
    session: SessionKey | None = None
    text: str = ""


Receive = Callable[[InboundMessage], Awaitable[Accepted]]


class Channel(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    async def listen(self, receive: Receive) -> None:
        """Until cancelled. Acknowledge to the platform only after `receive` returned. Raises ChannelError."""
        ...

    async def send(self, message: OutboundMessage) -> Receipt:
        """Raises ChannelUnavailable (try again) or ChannelMisconfigured (stop, tell the owner)."""
        ...


@runtime_checkable
class TypingChannel(Protocol):
    """An ability of a channel. The platform takes the sign away by itself after a few seconds, or when a message arrives."""

    async def show_typing(self, address: Address) -> None:
        """Raises ChannelError."""
        ...
