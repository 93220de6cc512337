"""Messages for tests, with everything unimportant filled in, and how hard property tests try."""

from dataclasses import replace

from hypothesis import settings

from ostiary.contracts.messages import Address, ChatKind, InboundMessage, UserId

quick = settings(max_examples=80, deadline=None)


def direct(
    sender: str = "123", *, channel: str = "telegram", account: str = "default", thread: str = "", text: str = "hi"
) -> InboundMessage:
    return InboundMessage(
        id="m1",
        address=Address(channel=channel, account=account, chat=sender, thread=thread),
        sender=UserId(channel=channel, stable_id=sender),
        text=text,
        at=1_800_000_000.0,
    )


def group(
    chat: str = "-100",
    *,
    sender: str = "123",
    channel: str = "telegram",
    account: str = "default",
    thread: str = "",
    kind: ChatKind = ChatKind.GROUP,
    **more: object,
) -> InboundMessage:
    message = direct(sender, channel=channel, account=account, thread=thread)
    placed = replace(message, address=replace(message.address, chat=chat), chat_kind=kind)
    return replace(placed, **more)  # type: ignore[arg-type]
