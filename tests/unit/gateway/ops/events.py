"""A turn's events, as the journal keeps them."""

from ostiary.contracts.content import Label, Text, Trust
from ostiary.contracts.events import (
    Event,
    ModelAnswered,
    ModelRequested,
    Recorded,
    ToolIntended,
    ToolResulted,
    TurnEnded,
    TurnInput,
    TurnStarted,
)
from ostiary.contracts.identity import Principal
from ostiary.contracts.messages import Address, UserId
from ostiary.contracts.model import Usage

SECRET = "a word that belongs to nobody else"
OWN = Label(trust=Trust.OWNER)
STARTED = TurnStarted(
    inputs=(TurnInput(item=1, parts=(Text(text=SECRET, label=OWN),), at=0.0, sender="Ada"),),
    principal=Principal(user=UserId(channel="api", stable_id="ada")),
    reply_to=Address(channel="api", account="", chat="ada"),
)
ENDED = TurnEnded(status="completed", reply=SECRET)


def at(seconds: float, event: Event, turn: str = "turn_1") -> Recorded:
    return Recorded(session="agent:main:api:ada", seq=1, turn=turn, at=seconds, event=event)


def requested(model: str = "kit/one") -> ModelRequested:
    return ModelRequested(step=1, model=model, thinking="off", prefix="", schemas="", history="", messages=1, characters=1)


def answered(model: str = "kit/one", *, seconds: float = 0.5, usage: Usage | None = None) -> ModelAnswered:
    return ModelAnswered(
        step=1,
        parts=(Text(text=SECRET, label=OWN),),
        stop="stop",
        usage=usage or Usage(input=3, output=5),
        model=model,
        seconds=seconds,
    )


def intended(call: str = "c1", name: str = "read") -> ToolIntended:
    return ToolIntended(call_id=call, name=name, arguments=f'{{"q":"{SECRET}"}}', call_key=call, repeatable=True, layer="builtin")


def resulted(call: str = "c1", name: str = "read", *, is_error: bool = False) -> ToolResulted:
    return ToolResulted(
        call_id=call,
        name=name,
        text=SECRET,
        is_error=is_error,
        fate="refused" if is_error else "done",
        label=OWN,
        seconds=0.02,
    )
