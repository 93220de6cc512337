"""What was said: the newest turns of a session, read from the end of its journal."""

from ostiary.contracts.events import Branched, Compacted, Imported, Recorded, Reset, TurnStarted
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Store
from ostiary.gateway.methods.branching import place_of_turn
from ostiary.gateway.methods.keys import begun, speakable
from ostiary.gateway.methods.services import Call, Services
from ostiary.gateway.methods.sessions import context_window
from ostiary.gateway.methods.turns import PAST, turns_of
from ostiary.gateway.protocol.chat import ContextLabel, GetHistory, History, Partial, Summarised, Turn
from ostiary.gateway.protocol.errors import MethodError
from ostiary.gateway.protocol.registry import Method
from ostiary.gateway.socket.narration import usage_of

_EVENTS_PER_TURN = 6
_SMALLEST = 64
_LARGEST = 4096
_PARTIAL = 200_000
_DETAILS = 300_000


async def get_history(call: Call[GetHistory]) -> History:
    """The newest turns of a conversation, or those before a turn; the socket then hears of what comes."""
    asked, services = call.params, call.services
    key = speakable(services, asked.key)
    if asked.subscribe:
        # Before reading: what is committed meanwhile is then seen twice rather than never.
        call.hub.subscribe(call.connection, [str(key)], wants_results=asked.verbose == "full")
    record = await services.store.session(key) or await begun(services, key)
    page = await newest_page(services.store, key, record.last_seq if record else 0, asked.limit, asked.before)
    turns = page.turns
    lighten(turns)
    view = await services.engine.view(key)
    label = await services.sessions.label(key) if services.sessions is not None else None
    model = view.settings.get("model", "") or view.model
    return History(
        turns=turns,
        more=page.more,
        settings=dict(view.settings),
        model=model,
        context_tokens=view.context_tokens,
        context_window=context_window(services, key, model),
        usage=usage_of(view.usage),
        label=ContextLabel(trust=str(label.trust), private=label.private, sources=list(label.sources)) if label else None,
        summarised=page.summarised,
        # Last, and without a pause before the answer leaves: the deltas that follow go on from here.
        partial=_partial(services, key, turns) if not asked.before else None,
    )


def lighten(turns: list[Turn], room: int = _DETAILS) -> None:
    """Keeps what calls tell people of themselves for the newest ones only, so that an answer fits into a frame."""
    for turn in reversed(turns):
        for step in reversed(turn.steps):
            for use in reversed(step.calls):
                room -= len(str(use.details)) if use.details else 0
                use.details = use.details if room > 0 else None


def _partial(services: Services, key: SessionKey, turns: list[Turn]) -> Partial | None:
    """What is there of the answer under way; nothing of one that `turns` already holds whole."""
    writing = services.sessions.writing(key) if services.sessions is not None else None
    if writing is None:
        return None
    turn = next((turn for turn in turns if turn.id == writing.turn), None)
    if turn is None or any(step.step == writing.step and step.usage is not None for step in turn.steps):
        return None
    return Partial(turn=writing.turn, step=writing.step, attempt=writing.attempt, text=writing.text[:_PARTIAL])


async def newest_turns(store: Store, key: SessionKey, last: int, limit: int, before: str) -> tuple[list[Turn], bool]:
    """The turns of `newest_page`, and whether there are earlier ones. Raises as it does."""
    page = await newest_page(store, key, last, limit, before)
    return page.turns, page.more


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    turns: list[Turn]
    more: bool
    summarised: Summarised | None


async def newest_page(store: Store, key: SessionKey, last: int, limit: int, before: str) -> Page:
    """At most `limit` turns, oldest first. Reads no more of the journal than it needs.

    Raises MethodError NOT_FOUND for a `before` that is not there."""
    end = last
    if before:
        place = await place_of_turn(store, key, before)
        # A turn of brought-along history is inside one event, which is read again.
        end = place.before + before.startswith(PAST)
    events, begins = await _tail(store, key, end, limit + 1)
    turns = turns_of(events)
    if before.startswith(PAST):
        turns = _until(turns, before)
    more = len(turns) > limit or not begins
    return Page(turns=turns[-limit:], more=more, summarised=_summarised(events))


def _summarised(events: list[Recorded]) -> Summarised | None:
    for each in reversed(events):
        if isinstance(each.event, Compacted):
            return Summarised(kept_from=each.event.kept_from, summary=each.event.summary, at=each.at)
    return None


async def _tail(store: Store, key: SessionKey, end: int, turns: int) -> tuple[list[Recorded], bool]:
    """The events up to `end` that hold so many turns; and whether a conversation begins with them."""
    events: list[Recorded] = []
    window = min(max(_SMALLEST, turns * _EVENTS_PER_TURN), _LARGEST)
    while end > 0:
        after = max(0, end - window)
        page = await store.read(key, after=after, limit=end - after)
        start = next((i for i in range(len(page) - 1, -1, -1) if isinstance(page[i].event, Reset | Branched | Imported)), None)
        events = [*page[start:], *events] if start is not None else [*page, *events]
        if start is not None:
            return events, True
        if sum(isinstance(each.event, TurnStarted) for each in events) >= turns:
            return _from_whole_turn(events), False
        end, window = after, min(window * 2, _LARGEST)
    return events, True


def _from_whole_turn(events: list[Recorded]) -> list[Recorded]:
    """Without the rest of a turn whose beginning was not read."""
    first = next((index for index, each in enumerate(events) if isinstance(each.event, TurnStarted)), 0)
    return events[first:]


def _until(turns: list[Turn], before: str) -> list[Turn]:
    for index, turn in enumerate(turns):
        if turn.id == before:
            return turns[:index]
    raise MethodError("NOT_FOUND", f"There is no turn {before[:80]!r}.")


METHODS = (Method("chat.history", GetHistory, History, "read", get_history),)
