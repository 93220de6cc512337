"""The one way in: is it new, who is it, may they speak, which conversation, is it a command; then durable, then answered.

Nothing is acknowledged before it is committed, and nothing is done for somebody who may not speak.
"""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Protocol

import anyio

from ostiary.contracts.channel import Accepted, Channel
from ostiary.contracts.clock import Clock
from ostiary.contracts.content import Message, Text, ToolMessage
from ostiary.contracts.engine import Outcome, Submission
from ostiary.contracts.errors import AlreadyAccepted, BadInput, Busy, StoreError
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import ChatKind, InboundMessage, Quoted, UserId
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Accept, Enqueue, InboxItem, MarkInbox, PutBlob, SetValue, Write
from ostiary.core.control.control import Control
from ostiary.core.control.gatekeeper import Drop as TurnedAway
from ostiary.core.control.gatekeeper import Wake
from ostiary.core.routing.access import Dropped, Heard, SpeakPolicy, may_speak
from ostiary.core.routing.bindings import BindingTable, choose_agent
from ostiary.core.routing.delivery import Delivery
from ostiary.core.routing.lanes import Lanes
from ostiary.core.routing.people import resolve
from ostiary.core.routing.queue import MODES, Drop, Mode, QueueFull, QueueRules
from ostiary.core.routing.scopes import ScopeRules, session_key
from ostiary.core.sessions.pen import Sessions

log = logging.getLogger("ostiary.intake")

COMMAND_REPLIES = "command-replies"
REPLY_SECONDS = 24 * 3600.0
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

_DROPS: Mapping[str, Drop] = {"old": "old", "new": "new", "summarize": "summarize"}


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeRules:
    """What configuration says of who comes in and how; the newest generation always counts.

    `inbound_debounce` holds seconds by channel, "" for the others; fetching channels are never debounced."""

    bindings: BindingTable
    scopes: ScopeRules = field(default_factory=ScopeRules)
    owners: frozenset[UserId] = frozenset()
    speak: Mapping[str, SpeakPolicy] = field(default_factory=dict)
    queue: QueueRules = field(default_factory=QueueRules)
    queue_by_channel: Mapping[str, QueueRules] = field(default_factory=dict)
    inbound_debounce: Mapping[str, float] = field(default_factory=dict)
    max_characters: int = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Handled:
    """What the command desk made of a text. `reply` set: it is answered. `text` is what is left for the model."""

    reply: str | None = None
    text: str = ""
    directives: Mapping[str, str] = field(default_factory=dict)


class Desk(Protocol):
    """Slash commands and directives; they act with the sender's authority and never wait in a lane."""

    def looks_like_command(self, text: str) -> bool:
        """Whether there may be something to handle anywhere in the text."""
        ...

    def is_command(self, text: str) -> bool:
        """Whether the text begins with a command we know."""
        ...

    async def handle(self, message: InboundMessage, *, principal: Principal, session: SessionKey) -> Handled: ...


class Intake:
    def __init__(
        self,
        *,
        sessions: Sessions,
        lanes: Lanes,
        delivery: Delivery,
        channels: Mapping[str, Channel],
        desk: Desk,
        clock: Clock,
        rules: Callable[[], IntakeRules],
        control: Control | None = None,
        redact: Callable[[str], str] = lambda text: text,
    ) -> None:
        self.redact = redact
        self._sessions = sessions
        self._lanes = lanes
        self._delivery = delivery
        self._channels = channels
        self._desk = desk
        self._clock = clock
        self._rules = rules
        self.control = control
        self.try_later: Callable[[InboxItem], object] = lambda item: None

    async def submit(self, submission: Submission) -> Accepted:
        rules = self._rules()
        message = checked(submission.message, rules.max_characters)
        # A key that somebody pastes into a chat is stored nowhere and told to no model.
        submission = redacted(submission, self.redact)
        text = self.redact(message.text)
        if text is not message.text:
            message = replace(message, text=text)
        if message.quoted is not None:
            message = replace(message, quoted=replace(message.quoted, text=self.redact(message.quoted.text)))
        principal = submission.principal or resolve(message.sender, rules.owners)
        is_command = self._desk.looks_like_command(message.text)
        leads = is_command and self._desk.is_command(message.text)
        session = submission.session or session_key(choose_agent(message, rules.bindings).agent, message, rules.scopes)
        if submission.principal is None and not await self._is_heard(message, principal, session, rules, leads):
            return Accepted(status="dropped")
        turned_away = await self._at_the_door(submission, message, principal, leads)
        if turned_away is not None:
            return turned_away
        item = self._item(submission, message, principal, session, rules)
        blobs = [PutBlob(digest=digest, content=content) for digest, content in submission.blobs.items()]
        try:
            # From here on the message may be ours: a caller who goes away must not leave it accepted and forgotten.
            with anyio.CancelScope(shield=True):
                accepted = await (self._command if is_command else self._admit)(item, rules, blobs)
        except AlreadyAccepted as known:
            return Accepted(status="duplicate", item=known.item, session=session)
        return accepted

    async def _at_the_door(
        self, submission: Submission, message: InboundMessage, principal: Principal, is_command: bool
    ) -> Accepted | None:
        """What the state of the house says of somebody who may speak: None lets the message in. Raises StoreError, Busy."""
        control = self.control
        if control is None:
            return None
        is_attended = submission.principal is not None and principal.is_owner and not self._pushes(message.address.channel)
        admission = control.admits(message, principal, is_attended=is_attended, is_command=is_command)
        if isinstance(admission, TurnedAway):
            log.info("not heard on %s: the house is %s", message.address.channel, admission.reason)
            return Accepted(status="answered" if admission.say else "dropped", text=admission.say)
        if isinstance(admission, Wake):
            await control.wake(principal, "the owner spoke")
        if principal.is_owner or submission.principal is None:
            control.touch()
        return None

    async def _is_heard(
        self, message: InboundMessage, principal: Principal, session: SessionKey, rules: IntakeRules, is_command: bool
    ) -> bool:
        policy = rules.speak.get(message.address.channel)
        heard = may_speak(message, principal, policy, activation="always", is_command=is_command)
        if isinstance(heard, Heard) and message.chat_kind is not ChatKind.DIRECT:
            # Only for somebody who may speak here is the group's own setting looked up.
            activation = (await self._sessions.get(session)).settings.get("activation", "")
            heard = may_speak(message, principal, policy, activation=activation, is_command=is_command)
        if isinstance(heard, Dropped):
            log.info("dropped a message on %s: %s", message.address.channel, heard.reason)
            return False
        return True

    def _item(
        self, submission: Submission, message: InboundMessage, principal: Principal, session: SessionKey, rules: IntakeRules
    ) -> InboxItem:
        now = self._clock.now()
        directives = dict(submission.directives)
        if submission.max_tokens is not None:
            directives["max_tokens"] = str(submission.max_tokens)
        if submission.temperature is not None:
            directives["temperature"] = str(submission.temperature)
        return InboxItem(
            message=message,
            session=session,
            principal=principal,
            reply_to=message.address,
            lane=lane_of(session),
            mode="followup",
            accepted_at=now,
            ready_at=now,
            instructions=submission.instructions,
            context=submission.context,
            client_tools=submission.client_tools,
            untrusted_source=submission.untrusted_source,
            directives=directives,
        )

    async def _command(self, item: InboxItem, rules: IntakeRules, blobs: Sequence[Write]) -> Accepted:
        """Remember the message first, so that a repeated delivery never runs a command twice."""
        *_, number = await self._sessions.write([*blobs, Accept(item=replace(item, state="claimed"))])
        item = replace(item, id=number)
        try:
            return await self.run_command(item, rules)
        except (StoreError, Busy):
            # It is accepted, so it is tried until it is done; a repeated delivery would only count as a duplicate.
            self.try_later(item)
            raise

    def is_unfinished_command(self, item: InboxItem) -> bool:
        """Whether the desk still has to see this row of the inbox: a crash came between accepting and handling it."""
        if item.turn or item.state not in ("claimed", "waiting"):
            return False
        # Only the desk claims a row without a turn, whatever the commands are called by now.
        return item.state == "claimed" or self._desk.looks_like_command(item.message.text)

    async def run_command(self, item: InboxItem, rules: IntakeRules | None = None) -> Accepted:
        """Also for a command that a crash cut short: commands set things, so doing one again changes nothing more."""
        rules = rules or self._rules()
        self._lanes.outcomes.expect(item.id)
        handled = await self._desk.handle(item.message, principal=item.principal, session=item.session)
        rows = []
        if handled.reply and self._pushes(item.message.address.channel):
            rows = self._delivery.rows(str(item.session), "", f"command:{item.id}", item.reply_to, handled.reply)
        also: list[Write] = [Enqueue(item=row) for row in rows]
        if handled.reply is None or handled.text:
            message = replace(item.message, text=handled.text)
            rest = replace(item, message=message, state="waiting", directives={**item.directives, **handled.directives})
            try:
                await self._admit(rest, rules, also)
            except QueueFull as full:
                handled = replace(handled, reply=f"{full}. {full.hint}", text="")
            else:
                self._delivery.send(rows)
                return Accepted(status="accepted", item=item.id, session=item.session, text=handled.reply or "")
        reply = handled.reply or ""
        if reply:
            # Who sends it again, because the answer was lost on its way, gets the same one.
            until = self._clock.now() + REPLY_SECONDS
            also.append(SetValue(space=COMMAND_REPLIES, key=str(item.id), value=reply.encode(), expires_at=until))
        await self._sessions.write([MarkInbox(ids=(item.id,), state="done"), *also])
        self._delivery.send(rows)
        answered = Outcome(turn="", session=item.session, status="completed", text=reply)
        self._lanes.outcomes.settle((item.id,), answered)
        return Accepted(status="answered", item=item.id, session=item.session, text=reply)

    async def _admit(self, item: InboxItem, rules: IntakeRules, also: Sequence[Write]) -> Accepted:
        queue = await self._queue_rules(item, rules)
        admitted = await self._lanes.admit(self._timed(item, queue, rules), queue, also)
        return Accepted(status="accepted", item=admitted.id, session=item.session)

    def _pushes(self, channel: str) -> bool:
        known = self._channels.get(channel)
        return known is not None and known.capabilities.pushes

    async def _queue_rules(self, item: InboxItem, rules: IntakeRules) -> QueueRules:
        """The session's own setting, else the channel's, else the general one. A caller who fetches gets a turn of its own."""
        channel = item.message.address.channel
        base = rules.queue_by_channel.get(channel)
        if base is None:
            base = rules.queue if self._pushes(channel) else replace(rules.queue, mode="followup", debounce=0.0)
        session = self._sessions.peek(item.session)
        return session_queue(session.settings, base) if session is not None else base

    def _timed(self, item: InboxItem, queue: QueueRules, rules: IntakeRules) -> InboxItem:
        """Decide when it may run: behind a busy turn after the queue's quiet time, else after the channel's."""
        channel = item.message.address.channel
        seat = self._lanes.seat_of(item.session)
        is_busy = seat is not None and seat.job is not None
        wait = 0.0
        if self._pushes(channel) and not item.message.attachments:
            quiet = rules.inbound_debounce.get(channel, rules.inbound_debounce.get("", 0.0))
            wait = queue.debounce if is_busy and queue.mode == "collect" else quiet
        elif is_busy and queue.mode == "collect":
            wait = queue.debounce
        mode: Mode = queue.mode
        if not is_busy and mode != "interrupt":
            mode = "collect" if wait else "followup"
        ready_at = item.accepted_at + wait
        return item if (item.mode, item.ready_at) == (mode, ready_at) else replace(item, mode=mode, ready_at=ready_at)


def session_queue(settings: Mapping[str, str], base: QueueRules) -> QueueRules:
    mode = settings.get("queue.mode", base.mode)
    return QueueRules(
        mode=next((each for each in MODES if each == mode), base.mode),
        debounce=_number(settings.get("queue.debounce_ms"), base.debounce * 1000) / 1000,
        cap=int(_number(settings.get("queue.cap"), base.cap)),
        drop=_DROPS.get(settings.get("queue.drop", ""), base.drop),
    )


def _number(text: str | None, default: float) -> float:
    return float(text) if text and text.replace(".", "", 1).isdigit() else default


def lane_of(session: SessionKey) -> str:
    head = session.scope.partition(":")[0]
    return head if head in ("subagent", "cron") else "main"


def checked(message: InboundMessage, max_characters: int) -> InboundMessage:
    """Bounds and cleanliness, once. Raises BadInput with what to do."""
    length = len(message.text) + (len(message.quoted.text) if message.quoted is not None else 0)
    if length > max_characters:
        raise BadInput(
            f"the message has {length:,} characters; at most {max_characters:,} are taken",
            hint="Send it as a file, or in parts.",
        )
    if not message.id or not message.address.channel:
        raise BadInput("the message has no id or no channel")
    text, name, quoted = clean(message.text), clean(message.sender_name), message.quoted
    if not text.strip() and not message.attachments:
        raise BadInput("the message is empty", hint="Write something.")
    if quoted is not None:
        quoted = Quoted(sender=clean(quoted.sender), text=clean(quoted.text))
    if text is message.text and name is message.sender_name and quoted is None:
        return message
    return replace(message, text=text, sender_name=name, quoted=quoted)


def redacted(submission: Submission, redact: Callable[[str], str]) -> Submission:
    """What a caller brings along besides the message, without secrets; the very same object if there are none."""
    context = tuple(_redacted_message(message, redact) for message in submission.context)
    instructions = redact(submission.instructions) if submission.instructions else ""
    if instructions == submission.instructions and all(new is old for new, old in zip(context, submission.context, strict=True)):
        return submission
    return replace(submission, instructions=instructions, context=context)


def _redacted_message(message: Message, redact: Callable[[str], str]) -> Message:
    if isinstance(message, ToolMessage):
        outcomes = tuple(replace(each, text=redact(each.text)) for each in message.outcomes)
        return message if outcomes == message.outcomes else replace(message, outcomes=outcomes)
    parts = tuple(replace(part, text=redact(part.text)) if isinstance(part, Text) else part for part in message.parts)
    return message if parts == message.parts else replace(message, parts=parts)  # type: ignore[arg-type]


def clean(text: str) -> str:
    """Without control characters and halves of characters: what cannot be stored or shown."""
    if _CONTROLS.search(text):
        text = _CONTROLS.sub("", text)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
