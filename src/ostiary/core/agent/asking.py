"""One question to the model: which model, what it is told, the answer as it streams, and the parts of it that are kept."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Literal

import anyio

from ostiary.contracts.clock import Clock
from ostiary.contracts.content import AnswerPart, Label, Message, Text, ToolCall
from ostiary.contracts.errors import ModelUnavailable
from ostiary.contracts.events import Delta, ModelRequested, PrefixPinned, Trimmed
from ostiary.contracts.model import (
    Answered,
    CallDelta,
    ModelCatalogue,
    ModelChoice,
    ModelClient,
    ModelFacts,
    ModelRequest,
    Restarted,
    TextDelta,
    ThinkingDelta,
)
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import PutBlob
from ostiary.contracts.tool import ToolSpec
from ostiary.core.agent.blocks import Blocks
from ostiary.core.agent.context import Prepared, Prompts, blobs_of, build_request, kept_from, offered_tools, too_long
from ostiary.core.agent.job import Job, RunRules
from ostiary.core.agent.leaks import could_leak
from ostiary.core.agent.pruning import sent_messages, shortened
from ostiary.core.agent.recovery import recover_calls
from ostiary.core.agent.room import CHARACTERS_PER_TOKEN, answer_room, tokens_of
from ostiary.core.agent.showing import Shown
from ostiary.core.agent.terms import bound, callable_now
from ostiary.core.agent.tool_results import storable
from ostiary.core.policy.secrets import Guard
from ostiary.core.routing.streaming import BlockStream, streamed
from ostiary.core.sessions.pen import Pen, Sessions
from ostiary.core.sessions.session import Session, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    request: ModelRequest
    offered: Mapping[str, ToolSpec]
    step: int
    label: Label
    characters: int
    facts: ModelFacts
    blocks: BlockStream | None = None


class Asking:
    """The only caller of the model."""

    def __init__(
        self,
        *,
        sessions: Sessions,
        model: ModelClient,
        catalogue: ModelCatalogue,
        prompts: Prompts,
        blocks: Blocks,
        clock: Clock,
        rules: Callable[[], RunRules],
        guard: Guard | None = None,
    ) -> None:
        self._guard = guard
        self._sessions = sessions
        self._model = model
        self._catalogue = catalogue
        self._prompts = prompts
        self._blocks = blocks
        self._clock = clock
        self._rules = rules

    async def select(self, session: Session, turn: Turn) -> tuple[ModelChoice, ModelFacts, Prepared]:
        """Which model, and what it is told and offered. Raises BadInput for a model that may not be used."""
        directives = turn.started.directives
        images = any(part.kind == "image" for each in turn.started.inputs for part in each.parts)
        override = directives.get("model") or session.settings.get("model", "")
        choice = self._catalogue.choose(session.key.agent, override, with_images=images)
        profile = directives.get("profile", "") if "model" in directives else session.settings.get("profile", "")
        if profile:
            choice = replace(choice, profile=profile)
        facts = self._catalogue.facts(choice.primary)
        most = self._rules().context_tokens
        if most and most < facts.context_window:
            facts = replace(facts, context_window=most)
        return choice, facts, await self._prompts.prepare(session=session, turn=turn, facts=facts)

    async def request(self, pen: Pen, job: Job, turn: Turn, choice: ModelChoice, facts: ModelFacts, prepared: Prepared) -> Asked:
        session, rules = pen.session, self._rules()
        if turn.step >= rules.steps:
            raise ModelUnavailable(f"the turn needed more than {rules.steps} steps", hint="Ask for less at once.")
        _pin(pen, prepared)
        fixed = fixed_of(prepared)
        turns = rules.history_turns.get(turn.started.reply_to.channel, 0)
        if rules.compaction.is_on:
            reason = "history limit" if turns and len(session.marks) > turns else ""
        else:
            reason = too_long(session, facts, fixed, rules.history_messages, turns)
        if reason:
            trim(pen, job, reason)
        messages, lacking = self._fitting(session, job, facts, fixed)
        if lacking and rules.compaction.is_on and trim(pen, job, "The conversation is too long for the model"):
            messages, _ = self._fitting(session, job, facts, fixed)
        request = bound(await self.draft(session, turn, choice, facts, prepared, messages), turn)
        # A request that was recorded but never answered is the same step, asked again.
        step = turn.step if turn.requested else turn.step + 1
        pen.add(
            ModelRequested(
                step=step,
                model=str(choice.primary),
                thinking=request.thinking,
                prefix=prepared.digest,
                schemas=prepared.schemas_digest,
                history=session.digest,
                messages=len(request.messages),
                characters=session.characters,
            ),
            turn=turn.id,
        )
        offered = callable_now(offered_tools(prepared.tools, turn.started.client_tools), request)
        label = session.label.join(prepared.label)
        # What could carry private data out is looked at as a whole before any of it leaves.
        blocks = None if could_leak(label) else self._blocks.stream(job, session, turn)
        return Asked(
            request=request, offered=offered, step=step, label=label, characters=session.characters, facts=facts, blocks=blocks
        )

    async def draft(
        self,
        session: Session,
        turn: Turn,
        choice: ModelChoice,
        facts: ModelFacts,
        prepared: Prepared,
        messages: Sequence[Message] | None = None,
    ) -> ModelRequest:
        """What would be sent now, without the turn's terms."""
        rules = self._rules()
        if messages is None:
            messages = sent_messages(session, rules.pruning, facts, self._clock.now())
        blobs = await blobs_of(session, messages, self._sessions.store, sees_images=facts.sees_images)
        return build_request(
            session, turn, prepared, choice, blobs, default_thinking=rules.thinking, facts=facts, messages=messages
        )

    def _fitting(self, session: Session, job: Job, facts: ModelFacts, fixed: int) -> tuple[Sequence[Message], int]:
        """The messages to send, and how many characters they are too long in spite of everything."""
        messages = sent_messages(session, self._rules().pruning, facts, self._clock.now())
        excess = int((tokens_of(session, fixed) - answer_room(facts)) * CHARACTERS_PER_TOKEN)
        if job.must_shorten:
            # Our count was too low, nobody knows by how much.
            excess = max(excess, session.characters // 3)
        return shortened(messages, excess) if excess > 0 else (messages, 0)

    async def quietly(self, request: ModelRequest, seconds: float) -> Answered:
        """An answer that nobody is shown. Raises ModelError; ModelUnavailable if it takes longer than that."""
        answered: Answered | None = None
        with anyio.move_on_after(seconds):
            async with self._model.stream(request) as events:
                async for event in events:
                    if isinstance(event, Answered):
                        answered = event
        if answered is None:
            raise ModelUnavailable(f"no answer came within {seconds:g} s")
        return answered

    async def stream(self, job: Job, asked: Asked) -> Answered:
        """The answer, shown as it comes; what is ready leaves in blocks where the origin wants that. Raises ModelError."""
        blocks = asked.blocks
        if blocks is None:
            return await self._follow(job, asked, None)
        async with streamed(blocks, self._clock, blocks.idle, partial(self._blocks.commit, job)) as feed:
            return await self._follow(job, asked, feed)

    async def _follow(self, job: Job, asked: Asked, feed: Callable[[str], Awaitable[None]] | None) -> Answered:
        job.tagged, job.writing = "", (asked.step, 1)
        job.answer = shown = self._shown(asked)
        name, signs = str(job.key), job.signs
        # Where the answer is fetched, and nobody looks on, it is screened once, as a whole.
        is_sent = feed is not None or signs is not None or bool(job.answers)
        answered: Answered | None = None
        async with self._model.stream(asked.request) as events:
            async for event in events:
                if answered is not None:
                    # The answer is the last word; the stream is only followed to its end so that it closes in order.
                    continue
                match event:
                    case TextDelta(text=text):
                        shown.write(text)
                    case ThinkingDelta(text=text):
                        shown.think(text)
                        if signs is not None:
                            signs.thought()
                    case CallDelta(name=tool):
                        self._show(name, job, 0, tool, "call")
                        continue
                    case Restarted():
                        job.answer = shown = self._shown(asked)
                        job.writing = (asked.step, job.writing[1] + 1)
                        self._show(name, job, 0, "", "assistant", is_new=True)
                        if asked.blocks is not None:
                            asked.blocks.restart()
                        continue
                    case Answered():
                        shown.finish()
                        answered = event
                if not is_sent and not self._sessions.feed.is_watched(name):
                    continue
                self._show(name, job, 0, shown.look_at_thoughts(), "thinking")
                place, text = shown.look()
                if text:
                    self._show(name, job, place, text, "assistant")
                    if shown.tags.found:
                        job.tagged = shown.tags.first or job.answers
                    if signs is not None:
                        signs.wrote(text)
                    if feed is not None:
                        await feed(text)
        if answered is None:
            raise ModelUnavailable("the answer was cut off", hint="Try again; the conversation is unchanged.")
        return answered

    def _shown(self, asked: Asked) -> Shown:
        return Shown(self._guard, asked.label, asked.request.messages)

    def kept_parts(self, answered: Answered, asked: Asked, turn: str) -> tuple[AnswerPart, ...]:
        """The answer as it is kept, without secrets. What the model thought of one proves nothing any more."""
        parts = kept_parts(answered, asked.offered, asked.label, asked.step, turn, has_form=asked.request.form is not None)
        return self._redacted(parts)

    def kept_calls(self, answered: Answered, label: Label, step: int, tool: ToolSpec, turn: str) -> tuple[AnswerPart, ...]:
        """The same of an answer that could call one tool alone."""
        return self._redacted(kept_parts(answered, {tool.name: tool}, label, step, turn))

    def _redacted(self, parts: tuple[AnswerPart, ...]) -> tuple[AnswerPart, ...]:
        guard = self._guard
        return parts if guard is None else tuple(_without_secrets(part, guard) for part in parts)

    def _show(
        self,
        session: str,
        job: Job,
        offset: int,
        text: str,
        stream: Literal["assistant", "thinking", "call"],
        *,
        is_new: bool = False,
    ) -> None:
        feed = self._sessions.feed
        if (text or is_new) and feed.is_watched(session):
            step, attempt = job.writing
            feed.show(Delta(session=session, turn=job.turn, step=step, attempt=attempt, offset=offset, text=text, stream=stream))


def fixed_of(prepared: Prepared) -> int:
    """Characters that are sent whatever was said."""
    return len(prepared.prefix) + len(prepared.schemas)


def _pin(pen: Pen, prepared: Prepared) -> None:
    session = pen.session
    pinned = session.prefix
    if pinned is not None and pinned.digest == prepared.digest and pinned.schemas == prepared.schemas_digest:
        return
    reason = "first turn" if pinned is None else "tools, model or the owner's files changed"
    pen.also(
        PutBlob(digest=prepared.digest, content=prepared.prefix.encode()),
        PutBlob(digest=prepared.schemas_digest, content=prepared.schemas),
    )
    pen.add(PrefixPinned(digest=prepared.digest, schemas=prepared.schemas_digest, reason=reason, report=prepared.report))


def trim(pen: Pen, job: Job, reason: str) -> bool:
    """Forget the older half of the turns before this one. False if there is nothing left to forget."""
    session = pen.session
    keep = kept_from(session, job.turn)
    if keep is None:
        return False
    turns = next(place for place, (name, _) in enumerate(session.marks) if name == keep)
    notice = f"({reason}: the oldest {turns} turns are no longer in view.)"
    pen.add(Trimmed(kept_from=keep, turns=turns, notice=notice))
    if reason != "history limit":
        job.notices.append(notice)
    return True


def _without_secrets(part: AnswerPart, guard: Guard) -> AnswerPart:
    if isinstance(part, ToolCall):
        # What only looks like a secret may be a file's contents; one of the house's own has no business in a call.
        return replace(part, arguments=guard.redact_known(part.arguments))
    clean = guard.redact(part.text)
    if clean == part.text:
        return part
    return replace(part, text=clean) if isinstance(part, Text) else replace(part, text=clean, replay="")


def kept_parts(
    answered: Answered, offered: Mapping[str, ToolSpec], label: Label, step: int, turn: str, *, has_form: bool = False
) -> tuple[AnswerPart, ...]:
    """The answer as it is kept: labelled by what the model had read, calls recovered from text, ids unique."""
    parts = answered.parts
    # An answer whose form was demanded is what it looks like.
    if offered and not has_form and not any(isinstance(part, ToolCall) for part in parts):
        parts = recover_calls(parts, frozenset(offered))
    kept: list[AnswerPart] = []
    seen: set[str] = set()
    for place, part in enumerate(parts):
        match part:
            case Text():
                kept.append(replace(part, text=storable(part.text), label=label))
            case ToolCall():
                call_id, tries = storable(part.id), count()
                while not call_id or call_id in seen:
                    call_id = f"call_{turn[-8:]}_{step}_{place}_{next(tries)}"
                seen.add(call_id)
                kept.append(replace(part, id=call_id, name=storable(part.name), arguments=storable(part.arguments)))
            case _:
                kept.append(part)
    return tuple(kept)
