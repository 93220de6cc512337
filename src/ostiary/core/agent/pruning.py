"""Old tool results are shortened in what is sent, never in the journal, once the provider's prompt cache has run out anyway.

What was sent shortened is sent so again until the cache runs out the next time: a request that differs from the one before it
would find nothing in the cache.
"""

from collections.abc import Sequence
from dataclasses import field, replace
from fnmatch import fnmatchcase

from ostiary.contracts.content import AssistantMessage, Message, ToolMessage, ToolOutcome
from ostiary.contracts.model import ModelFacts, ModelRef
from ostiary.contracts.records import dataclass
from ostiary.core.sessions.session import Session

_CHARACTERS_PER_TOKEN = 4
_CACHING = "anthropic"


@dataclass(frozen=True, slots=True, kw_only=True)
class PruningRules:
    """Beyond `soft` of the window results longer than `trim_from` keep their head and tail; beyond `hard` the oldest are
    cleared, if those that may be cleared hold at least `clear_from` characters. `deny` beats `allow`; no `allow` allows all."""

    enabled: bool = False
    ttl: float = 300.0
    keep_assistants: int = 3
    soft: float = 0.3
    hard: float = 0.5
    clear_from: int = 50_000
    trim_from: int = 4000
    head: int = 1500
    tail: int = 1500
    clears: bool = True
    placeholder: str = "[Old tool result content cleared]"
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = field(default_factory=tuple)

    def covers(self, tool: str) -> bool:
        name = tool.casefold()
        if any(fnmatchcase(name, pattern.casefold()) for pattern in self.deny):
            return False
        return not self.allow or any(fnmatchcase(name, pattern.casefold()) for pattern in self.allow)


def has_cache(ref: ModelRef) -> bool:
    """Whether the model's provider keeps prompts for a time: Anthropic, also by way of another provider."""
    return ref.provider == _CACHING or ref.model.startswith(f"{_CACHING}/")


def sent_messages(session: Session, rules: PruningRules, facts: ModelFacts, now: float) -> Sequence[Message]:
    """The conversation as it is sent; the session's own list if nothing is shortened."""
    if not rules.enabled or not has_cache(facts.ref):
        return session.messages
    if session.answered_at and now - session.answered_at > rules.ttl:
        session.pruned = pruned(session.messages, rules, facts.context_window * _CHARACTERS_PER_TOKEN)
    if not session.pruned:
        return session.messages
    return [session.pruned.get(place, message) for place, message in enumerate(session.messages)]


def pruned(messages: Sequence[Message], rules: PruningRules, window: int) -> dict[int, Message]:
    """By place, the messages that are sent otherwise than they are. `window` is in characters."""
    old = _prunable(messages, rules)
    size = sum(map(_size, messages))
    if not old or size < window * rules.soft:
        return {}
    made: dict[int, ToolMessage] = {}
    for place, message in old:
        trimmed = ToolMessage(outcomes=tuple(_trimmed(outcome, rules) for outcome in message.outcomes))
        if trimmed.outcomes != message.outcomes:
            size -= _size(message) - _size(trimmed)
            made[place] = trimmed
    clearable = sum(len(outcome.text) for place, message in old for outcome in made.get(place, message).outcomes)
    if rules.clears and size >= window * rules.hard and clearable >= rules.clear_from:
        _clear(old, made, rules, size - int(window * rules.hard))
    return dict(made)


def _clear(old: Sequence[tuple[int, ToolMessage]], made: dict[int, ToolMessage], rules: PruningRules, excess: int) -> None:
    for place, message in old:
        if excess < 0:
            return
        before = made.get(place, message)
        cleared = ToolMessage(outcomes=tuple(_cleared(outcome, rules) for outcome in before.outcomes))
        excess -= _size(before) - _size(cleared)
        made[place] = cleared


def _prunable(messages: Sequence[Message], rules: PruningRules) -> list[tuple[int, ToolMessage]]:
    answers = [place for place, message in enumerate(messages) if isinstance(message, AssistantMessage)]
    if len(answers) <= rules.keep_assistants:
        return []
    end = answers[-rules.keep_assistants] if rules.keep_assistants else len(messages)
    return [(place, message) for place, message in enumerate(messages[:end]) if isinstance(message, ToolMessage)]


def _is_spared(outcome: ToolOutcome, rules: PruningRules) -> bool:
    return bool(outcome.images) or not rules.covers(outcome.name)


def _trimmed(outcome: ToolOutcome, rules: PruningRules) -> ToolOutcome:
    text = outcome.text
    if len(text) <= rules.trim_from or _is_spared(outcome, rules):
        return outcome
    tail = text[-rules.tail :] if rules.tail else ""
    note = f"[Tool result shortened: the first {rules.head} and the last {rules.tail} of {len(text)} characters.]"
    return replace(outcome, text=f"{text[: rules.head]}\n...\n{tail}\n\n{note}")


def _cleared(outcome: ToolOutcome, rules: PruningRules) -> ToolOutcome:
    if len(outcome.text) <= len(rules.placeholder) or _is_spared(outcome, rules):
        return outcome
    return replace(outcome, text=rules.placeholder)


def _size(message: Message) -> int:
    if isinstance(message, ToolMessage):
        return sum(len(outcome.text) for outcome in message.outcomes)
    return sum(len(getattr(part, "text", "") or getattr(part, "arguments", "")) for part in message.parts)


def shortened(messages: Sequence[Message], excess: int) -> tuple[Sequence[Message], int]:
    """Tool results cut to make `excess` characters of room: the longest parts of the oldest first, all but the newest alike.

    Gives the messages and how much room is still lacking, 0 if there is enough. The last resort before turns are forgotten."""
    made = list(messages)
    newest = max((place for place, message in enumerate(messages) if isinstance(message, ToolMessage)), default=-1)
    for rules in (_GENTLE, _HARSH):
        for place, message in enumerate(made):
            if excess <= 0:
                return made, 0
            if isinstance(message, ToolMessage) and (place != newest or rules is _HARSH):
                cut = ToolMessage(outcomes=tuple(_trimmed(outcome, rules) for outcome in message.outcomes))
                excess -= _size(message) - _size(cut)
                made[place] = cut
    return made, max(0, excess)


_GENTLE = PruningRules(trim_from=4000)
_HARSH = PruningRules(trim_from=500, head=150, tail=100)
