"""From a passage of a conversation to the turn it was said in."""

from collections.abc import Iterator

from ostiary.contracts.content import AssistantMessage, Text, UserMessage
from ostiary.contracts.errors import BadInput
from ostiary.contracts.events import Event, Imported, ModelAnswered, Noted, Recorded, Steered, TurnStarted
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.search import Passage
from ostiary.contracts.store import Store
from ostiary.gateway.protocol.vault import SessionHit

_EVENTS = 2000
_WHO = ("User: ", "Assistant: ")


async def find_said(store: Store, passage: Passage) -> SessionHit | None:
    """None for a conversation that is gone. Raises StoreError."""
    name, _, first = passage.path.rpartition("/")
    try:
        key = SessionKey.parse(name)
    except BadInput:
        return None
    record = await store.session(key)
    if record is None:
        return None
    after = max(0, int(first) - 1) if first.isdigit() else 0
    said = _place(await store.read(key, after=after, limit=_EVENTS), passage.snippet)
    return SessionHit(
        key=name,
        title=record.title,
        turn=said.turn if said is not None else "",
        at=said.at if said is not None else passage.at,
        snippet=passage.snippet,
        why=list(passage.why),
        score=passage.score,
    )


def _place(events: tuple[Recorded, ...], snippet: str) -> Recorded | None:
    """The event whose words hold most of the snippet's."""
    lines = [_words(line) for line in snippet.split("\n") if line.strip()]

    def held(recorded: Recorded) -> int:
        own = "\n".join(_texts(recorded.event))
        return sum(len(line) for line in lines if line in own)

    best = max(events, key=held, default=None)
    return best if best is not None and held(best) else None


def _words(line: str) -> str:
    for who in _WHO:
        if line.startswith(who):
            return line.removeprefix(who).rstrip()
    return line.rstrip()


def _texts(event: Event) -> Iterator[str]:
    match event:
        case TurnStarted(inputs=inputs) | Steered(inputs=inputs):
            yield from (part.text for each in inputs for part in each.parts if isinstance(part, Text))
        case ModelAnswered(parts=parts):
            yield from (part.text for part in parts if isinstance(part, Text))
        case Noted(text=text):
            yield text
        case Imported(messages=messages):
            for message in messages:
                if isinstance(message, UserMessage | AssistantMessage):
                    yield from (part.text for part in message.parts if isinstance(part, Text))
        case _:
            return
