"""message: say something in another chat than the one that asked."""

import re
from collections.abc import Mapping
from typing import Protocol

from ostiary.adapters.tools import fields
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import BadInput, Busy, StoreError, ToolError
from ostiary.contracts.messages import Address
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.plugin import PluginHost
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec

MAX_TEXT = 16_000
_MAX_PLACE = 512
_CHANNEL = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_NOT_A_PLACE = re.compile("[\x00-\x20\x7f-\xa0\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_UNSENDABLE = re.compile("[\x00\ud800-\udfff]")
_POINTLESS = "That is the chat you are answering in: just answer. message is for other chats; name one with to."

SPEC = ToolSpec(
    schema=ToolSchema(
        name="message",
        description="Send a text to another chat. To answer here, just answer.",
        parameters={
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "to": {"type": "string", "description": "channel:chat[:thread]"},
                "channel": {"type": "string"},
            },
            "required": ["text"],
            "additionalProperties": False,
        },
    ),
    effects=frozenset({Effect.SEND}),
    # The outbox takes one key once, so a second run after a crash sends nothing twice.
    repeatable=True,
    untrusted_output=False,
)


class Outbox(Protocol):
    async def send(self, address: Address, text: str, key: str) -> None:
        """Durable when it returns; the same key a second time changes nothing. Raises BadInput (no such channel or chat),
        NotAllowed, Busy, StoreError."""
        ...


def register_message(host: PluginHost, *, outbox: Outbox) -> None:
    """message."""
    host.add_tool(Message(outbox))


class Message:
    """The recipient is exactly what the rules judged: nothing is trimmed, guessed or looked up."""

    spec = SPEC

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments, "text", "to", "channel")
        text = fields.text(arguments, "text")
        if not text.strip():
            raise ToolError("The text is empty.")
        if _UNSENDABLE.search(text):
            raise ToolError("The text contains characters that cannot be sent.")
        if len(text) > MAX_TEXT:
            raise ToolError(f"The text is {len(text):,} characters long; at most {MAX_TEXT:,} are sent at once.")
        place = _place(fields.text(arguments, "to", ""), fields.text(arguments, "channel", ""))
        home = context.reply_to
        if home is not None and place == written(home):
            raise ToolError(_POINTLESS)
        address = _address(place, home)
        try:
            await self._outbox.send(address, text, context.call_key)
        except (BadInput, Busy) as error:
            raise ToolError(f"It was not sent: {str(error).rstrip('.')}. {error.hint}".rstrip()) from None
        except StoreError:
            raise ToolError("It was not sent: it could not be written down. Try again.") from None
        label = Label(trust=Trust.SYSTEM, sources=("message",))
        return ToolResult(text=f"On its way to {place}.", details={"to": place, "characters": len(text)}, label=label)


def written(address: Address) -> str:
    """`channel:chat[:thread]`."""
    place = f"{address.channel}:{address.chat}"
    return f"{place}:{address.thread}" if address.thread else place


def _place(to: str, channel: str) -> str:
    """As the rules write it. Raises ToolError unless it names a channel and a chat."""
    if not to:
        raise ToolError(_POINTLESS if not channel else "Name the chat with to.")
    place = to if not channel or to.startswith(f"{channel}:") else f"{channel}:{to}"
    name, _, chat = place.partition(":")
    if not _CHANNEL.fullmatch(name) or not chat or len(place) > _MAX_PLACE or _NOT_A_PLACE.search(place):
        raise ToolError("to must look like channel:chat or channel:chat:thread, for example telegram:123456.")
    return place


def _address(place: str, home: Address | None) -> Address:
    channel, _, rest = place.partition(":")
    # Ids of rooms and people that begin with a sigil hold a colon of their own (!room:server); their threads begin with $.
    if rest[0] in "!#@+":
        chat, dollar, thread = rest.partition(":$")
        thread = f"${thread}" if dollar else ""
    else:
        chat, _, thread = rest.partition(":")
    if not chat:
        raise ToolError("to names no chat.")
    account = home.account if home is not None and home.channel == channel else "default"
    return Address(channel=channel, account=account, chat=chat, thread=thread)
