"""What a conversation vouches for: addresses that stood in it before the model could have put something private into them.

The model's own words and calls vouch for nothing, and neither does what it can make a tool say: a command's output, a file it
wrote, an error that repeats its arguments. Otherwise it would only have to say an address once to be allowed to use it.
"""

import json
from collections.abc import Callable, Iterable, Iterator

from ostiary.contracts.content import AssistantMessage, Label, Message, Text, ToolCall, ToolMessage, Trust, UserMessage
from ostiary.core.policy.names import canonical
from ostiary.core.policy.words import mentions

_FROM_THE_WEB = frozenset({"web_fetch", "web_search", "browser"})
_SEARCH = frozenset({"web_search"})
_OWN = (Trust.SYSTEM, Trust.OWNER)


def is_seen(messages: Iterable[Message], url: str) -> bool:
    """Whether people or the web gave this very URL, before the model wrote it down itself."""
    return _is_given(messages, url, _given)


def is_vouched_for(messages: Iterable[Message], url: str) -> bool:
    """As `is_seen`, but neither a page nor a stranger's message counts: where they name many addresses, which of them is opened
    tells their owner something."""
    return _is_given(messages, url, _given_by_people)


def _is_given(messages: Iterable[Message], url: str, given: Callable[[Message], Iterable[str]]) -> bool:
    for message in messages:
        if mentions(given(message), url):
            return True
        if isinstance(message, AssistantMessage) and mentions(_said(message), url):
            return False
    return False


def is_named(messages: Iterable[Message], name: str) -> bool:
    """Whether the owner's own words name this address. A page that names a recipient does not make it one."""
    return any(mentions(_own_words(message), name) for message in messages)


def _given(message: Message) -> Iterator[str]:
    """What others brought in. A text that mixes private things with those of strangers, such as a summary, is the model's."""
    if isinstance(message, UserMessage):
        yield from (part.text for part in message.parts if isinstance(part, Text) and not _is_mixed(part.label))
    elif isinstance(message, ToolMessage):
        for outcome in message.outcomes:
            if outcome.name in _FROM_THE_WEB and not outcome.is_error and not _is_mixed(outcome.label):
                yield outcome.text


def _given_by_people(message: Message) -> Iterator[str]:
    if isinstance(message, UserMessage):
        yield from (part.text for part in message.parts if isinstance(part, Text) and part.label.trust is not Trust.UNTRUSTED)
    elif isinstance(message, ToolMessage) and any(canonical(outcome.name) in _SEARCH for outcome in message.outcomes):
        yield from _given(ToolMessage(outcomes=tuple(each for each in message.outcomes if canonical(each.name) in _SEARCH)))


def _said(message: AssistantMessage) -> Iterator[str]:
    for part in message.parts:
        yield _unescaped(part.arguments) if isinstance(part, ToolCall) else part.text


def _unescaped(arguments: str) -> str:
    """JSON has many spellings of one text; this is the plain one."""
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments


def _own_words(message: Message) -> Iterator[str]:
    if isinstance(message, UserMessage):
        yield from (part.text for part in message.parts if isinstance(part, Text) and part.label.trust in _OWN)


def _is_mixed(label: Label) -> bool:
    return label.private and label.trust is Trust.UNTRUSTED
