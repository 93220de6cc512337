"""A channel in memory: say things into it, read what came out."""

from dataclasses import replace
from itertools import count

import anyio

from ostiary.contracts.channel import Accepted, Capabilities, Receive
from ostiary.contracts.messages import Address, ChatKind, InboundMessage, OutboundMessage, Receipt, UserId


class MemoryChannel:
    """`sent` holds what was delivered; with `idempotent_send` a repeated key is delivered once.

    `errors` are raised by the next sends, one each. `typing` holds where the sign that we type was shown, each time."""

    def __init__(
        self, name: str = "memory", *, capabilities: Capabilities | None = None, errors: list[Exception] | None = None
    ) -> None:
        self.name = name
        self.capabilities = capabilities or Capabilities(idempotent_send=True)
        self.sent: list[OutboundMessage] = []
        self.attempts: list[OutboundMessage] = []
        self.typing: list[Address] = []
        self.errors = errors or []
        self._receive: Receive | None = None
        self._listening = anyio.Event()
        self._news = anyio.Event()
        self._ids = count(1)

    async def listen(self, receive: Receive) -> None:
        self._receive = receive
        self._listening.set()
        await anyio.sleep_forever()

    async def send(self, message: OutboundMessage) -> Receipt:
        self.attempts.append(message)
        if self.errors:
            raise self.errors.pop(0)
        known = [each.key for each in self.sent]
        if not (self.capabilities.idempotent_send and message.key in known):
            self.sent.append(message)
        self._tell()
        return Receipt(message_id=f"out-{len(self.sent)}")

    async def show_typing(self, address: Address) -> None:
        self.typing.append(address)
        self._tell()

    async def say(self, text: str, *, sender: str = "owner", chat: str = "", message: InboundMessage | None = None) -> Accepted:
        """As if somebody wrote `text`; gives what intake said."""
        with anyio.fail_after(5):
            await self._listening.wait()
        assert self._receive is not None
        made = message or self.message(text, sender=sender, chat=chat)
        return await self._receive(replace(made, text=text) if message else made)

    def message(self, text: str, *, sender: str = "owner", chat: str = "") -> InboundMessage:
        return InboundMessage(
            id=f"in-{next(self._ids)}",
            address=Address(channel=self.name, account="default", chat=chat or sender),
            sender=UserId(channel=self.name, stable_id=sender),
            text=text,
            at=0.0,
            chat_kind=ChatKind.GROUP if chat else ChatKind.DIRECT,
        )

    async def until_sent(self, number: int) -> list[OutboundMessage]:
        """Wait until at least `number` messages were delivered."""
        with anyio.fail_after(5):
            while len(self.sent) < number:
                await self._news.wait()
        return self.sent

    async def until_typing(self, number: int) -> list[Address]:
        """Wait until the sign was shown at least `number` times."""
        with anyio.fail_after(5):
            while len(self.typing) < number:
                await self._news.wait()
        return self.typing

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()
