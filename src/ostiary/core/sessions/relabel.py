"""Lower the trust of everything an event or message says. Contents from a file are worth no more than who brought it."""

from dataclasses import replace

from ostiary.contracts.content import (
    AnswerPart,
    AssistantMessage,
    Image,
    Label,
    Message,
    Text,
    ToolMessage,
    ToolOutcome,
    Trust,
    UserMessage,
    UserPart,
)
from ostiary.contracts.events import (
    Branched,
    Compacted,
    Event,
    Imported,
    ModelAnswered,
    Noted,
    Steered,
    ToolResulted,
    TurnInput,
    TurnStarted,
)
from ostiary.core.agent.spotlight import marks


def relabelled(event: Event, label: Label) -> Event:
    """The event with `label` joined to every label in it; events that say nothing are returned as they are."""
    match event:
        case TurnStarted():
            inputs = tuple(_input(each, label) for each in event.inputs)
            return replace(event, inputs=inputs, context=relabelled_messages(event.context, label))
        case Steered():
            return replace(event, inputs=tuple(_input(each, label) for each in event.inputs))
        case ModelAnswered():
            joined = event.label.join(label) if event.label is not None else None
            return replace(event, parts=tuple(_answer_part(part, label) for part in event.parts), label=joined)
        case ToolResulted():
            return replace(event, label=event.label.join(label), images=tuple(_image(image, label) for image in event.images))
        case Compacted():
            joined = event.label.join(label)
            # From a file, what it calls people's own words are nobody's.
            summary = marks(event.summary, joined) if label.trust is Trust.UNTRUSTED else event.summary
            return replace(event, label=joined, summary=summary)
        case Noted():
            return replace(event, label=event.label.join(label))
        case Branched() | Imported():
            return replace(event, messages=relabelled_messages(event.messages, label))
        case _:
            return event


def relabelled_messages(messages: tuple[Message, ...], label: Label) -> tuple[Message, ...]:
    return tuple(_message(message, label) for message in messages)


def _message(message: Message, label: Label) -> Message:
    match message:
        case UserMessage():
            return replace(message, parts=tuple(_user_part(part, label) for part in message.parts))
        case AssistantMessage():
            return replace(message, parts=tuple(_answer_part(part, label) for part in message.parts))
        case ToolMessage():
            return replace(message, outcomes=tuple(_outcome(outcome, label) for outcome in message.outcomes))


def _input(given: TurnInput, label: Label) -> TurnInput:
    return replace(given, parts=tuple(_user_part(part, label) for part in given.parts))


def _user_part(part: UserPart, label: Label) -> UserPart:
    return replace(part, label=part.label.join(label))


def _answer_part(part: AnswerPart, label: Label) -> AnswerPart:
    return replace(part, label=part.label.join(label)) if isinstance(part, Text) else part


def _image(image: Image, label: Label) -> Image:
    return replace(image, label=image.label.join(label))


def _outcome(outcome: ToolOutcome, label: Label) -> ToolOutcome:
    return replace(outcome, label=outcome.label.join(label), images=tuple(_image(image, label) for image in outcome.images))
