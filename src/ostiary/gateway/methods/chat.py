"""Saying something, stopping it, putting a note into the transcript, and sending to a channel."""

from collections.abc import Sequence

from ostiary.contracts.engine import Submission
from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.messages import Address, Attachment, InboundMessage
from ostiary.contracts.store import Store
from ostiary.gateway.methods.keys import key_of, known, speakable
from ostiary.gateway.methods.services import Call, Services
from ostiary.gateway.protocol.chat import (
    Abort,
    Aborted,
    Attached,
    Deliver,
    Delivered,
    Inject,
    Injected,
    Send,
    Sent,
    Thinking,
)
from ostiary.gateway.protocol.errors import MethodError
from ostiary.gateway.protocol.registry import Method
from ostiary.gateway.protocol.sessions import CompactSession
from ostiary.gateway.socket.callers import Caller

CHANNEL = "webchat"


async def send(call: Call[Send]) -> Sent:
    """Say something in a session. Durable when it is accepted; the answer comes as `chat` events."""
    asked, services = call.params, call.services
    key = speakable(services, asked.key)
    submission = submission_of(
        services,
        call.caller,
        key,
        asked.text,
        id=asked.idempotency_key,
        directives=directives_of(services, key, asked.model, asked.thinking),
        attachments=await attachments_of(services.store, asked.attachments),
    )
    accepted = await services.engine.submit(submission)
    if accepted.status == "dropped":
        raise MethodError("FORBIDDEN", "This message may not be delivered.")
    return Sent(status=accepted.status, item=accepted.item, text=accepted.text)


async def compact(call: Call[CompactSession]) -> Sent:
    """Summarise the older part of a session. It takes its turn like a message; `chat` events tell how it went."""
    asked, services = call.params, call.services
    record = await known(services, asked.key)
    text = f"/compact {' '.join(asked.instructions.split())}".strip()
    accepted = await services.engine.submit(
        submission_of(services, call.caller, record.key, text, id=asked.idempotency_key, directives={})
    )
    if accepted.status == "dropped":
        raise MethodError("FORBIDDEN", "This session may not be spoken to.")
    return Sent(status=accepted.status, item=accepted.item, text=accepted.text)


async def abort(call: Call[Abort]) -> Aborted:
    """End the running turn of a session and clear what waits behind it."""
    key = key_of(call.params.key)
    stopped = await call.services.engine.stop(key, by=call.caller.principal)
    return Aborted(turns=stopped.turns, queued=stopped.queued)


async def inject(call: Call[Inject]) -> Injected:
    """Put an assistant's note into the transcript without asking a model."""
    record = await known(call.services, call.params.key)
    desk = call.services.sessions
    assert desk is not None
    return Injected(seq=await desk.note(record.key, call.params.text, by=call.caller.principal))


async def deliver(call: Call[Deliver]) -> Delivered:
    """Send a text to a place on a channel, by the outbox."""
    asked, services = call.params, call.services
    to = asked.to
    if services.deliver is None or all(each.id != to.channel for each in services.channels()):
        raise MethodError("NOT_FOUND", f"There is no channel {to.channel[:80]!r}.", hint="channels.status lists them.")
    key = f"send:{call.caller.id}:{asked.idempotency_key}"
    address = Address(channel=to.channel, account=to.account, chat=to.chat, thread=to.thread)
    await services.deliver(address, asked.text, key)
    return Delivered(key=key)


def submission_of(
    services: Services,
    caller: Caller,
    key: SessionKey,
    text: str,
    *,
    id: str,
    directives: dict[str, str],
    attachments: tuple[Attachment, ...] = (),
) -> Submission:
    """The gate decided who speaks; the message's id makes it the same message when it is sent again."""
    if not text.strip() and not attachments:
        raise MethodError("INVALID_PARAMS", "The message is empty.", details={"path": "text", "expected": "some text"})
    message = InboundMessage(
        id=f"{caller.id}:{id}",
        address=Address(channel=CHANNEL, account="default", chat=str(key)),
        sender=caller.principal.user,
        text=text,
        at=services.clock.now(),
        attachments=attachments,
    )
    return Submission(message=message, principal=caller.principal, session=key, directives=directives)


def directives_of(services: Services, key: SessionKey, model: str, thinking: Thinking | None) -> dict[str, str]:
    """Settings for one message. Raises MethodError for a model that cannot be used."""
    directives: dict[str, str] = {}
    if model:
        try:
            services.catalogue.choose(key.agent, model)
        except BadInput as error:
            raise MethodError("INVALID_PARAMS", f"model: {error}.", hint=error.hint, details={"path": "model"}) from None
        directives["model"] = model
    if thinking is not None:
        directives["thinking"] = thinking
    return directives


async def attachments_of(store: Store, attached: Sequence[Attached]) -> tuple[Attachment, ...]:
    """Raises MethodError NOT_FOUND for bytes that were not uploaded."""
    found = []
    for each in attached:
        content = await store.blob(each.digest)
        if content is None:
            raise MethodError("NOT_FOUND", f"There is no blob {each.digest[:16]}….", hint="Upload it first.")
        found.append(Attachment(name=each.name, media_type=each.media_type, digest=each.digest, size=len(content)))
    return tuple(found)


METHODS = (
    Method("chat.send", Send, Sent, "chat", send, has_effect=True),
    Method("sessions.compact", CompactSession, Sent, "chat", compact, has_effect=True),
    Method("chat.abort", Abort, Aborted, "chat", abort),
    Method("chat.inject", Inject, Injected, "admin", inject, has_effect=True, needs="sessions"),
    Method("send", Deliver, Delivered, "chat", deliver, has_effect=True),
)
