from ostiary.contracts.content import (
    AssistantMessage,
    Image,
    Label,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    ToolOutcome,
    Trust,
    UserMessage,
)
from ostiary.contracts.events import (
    Branched,
    Event,
    ModelAnswered,
    ModelRequested,
    Noted,
    Recorded,
    Reset,
    Steered,
    ToolIntended,
    ToolResulted,
    TurnEnded,
    TurnInput,
    TurnResumed,
    TurnStarted,
    TurnSuspended,
)
from ostiary.contracts.identity import Principal
from ostiary.contracts.messages import Address, UserId
from ostiary.contracts.model import Usage
from ostiary.gateway.methods.branching import before_question
from ostiary.gateway.methods.turns import turns_of

LABEL = Label(trust=Trust.OWNER)


def journal(*events: tuple[str, Event]) -> list[Recorded]:
    return [
        Recorded(session="agent:main:main", seq=seq, turn=turn, at=100.0 + seq, event=event)
        for seq, (turn, event) in enumerate(events, 1)
    ]


def started(text: str = "hi", item: int = 1) -> TurnStarted:
    parts = (Text(text=text, label=LABEL), Image(digest="d" * 64, media_type="image/png", label=LABEL))
    return TurnStarted(
        inputs=(TurnInput(item=item, parts=parts, at=1.0),),
        principal=Principal(user=UserId(channel="api", stable_id="token")),
        reply_to=Address(channel="api", account="default", chat="x"),
    )


def requested(step: int = 1) -> ModelRequested:
    return ModelRequested(step=step, model="m", thinking="off", prefix="", schemas="", history="", messages=1, characters=1)


def answered(step: int, *parts: Text | Thinking | ToolCall) -> ModelAnswered:
    return ModelAnswered(step=step, parts=parts, stop="stop", usage=Usage(input=5, output=2), model="m", seconds=0.5)


def say(text: str) -> Text:
    return Text(text=text, label=LABEL)


def resulted(text: str, is_error: bool = False) -> ToolResulted:
    return ToolResulted(
        call_id="c1", name="look", text=text, is_error=is_error, fate="refused" if is_error else "done", label=LABEL, seconds=0.1
    )


CALL = ToolCall(id="c1", name="look", arguments="{}")
INTENT = ToolIntended(call_id="c1", name="look", arguments="{}", call_key="k", repeatable=False, layer="kit")


def test_a_turn_with_a_tool_has_its_steps_calls_and_sum() -> None:
    (turn,) = turns_of(
        journal(
            ("t", started()),
            ("t", requested(1)),
            ("t", answered(1, Thinking(text="hm"), say("Let me look."), CALL)),
            ("t", INTENT),
            ("t", resulted("found")),
            ("t", requested(2)),
            ("t", answered(2, say("Here."))),
            ("t", TurnEnded(status="completed", reply="Here.")),
        )
    )
    assert (turn.id, turn.at, turn.status, turn.sender, turn.reply) == ("t", 101.0, "completed", "api:token", "Here.")
    assert (turn.inputs[0].text, turn.inputs[0].attachments[0].media_type) == ("hi", "image/png")
    assert [(step.step, step.text, step.thinking) for step in turn.steps] == [(1, "Let me look.", "hm"), (2, "Here.", "")]
    call = turn.steps[0].calls[0]
    assert (call.state, call.result, call.is_error, call.seconds) == ("done", "found", False, 0.1)
    assert (turn.usage.input, turn.usage.output) == (10, 4)


def test_a_turn_under_way_is_running_or_waiting() -> None:
    events = [("t", started()), ("t", answered(1, CALL)), ("t", TurnSuspended(waiting_for="client_tool", call_ids=("c1",)))]
    assert turns_of(journal(*events[:2]))[0].status == "running"
    (waiting,) = turns_of(journal(*events))
    assert (waiting.status, waiting.steps[0].calls[0].state) == ("waiting", "running")
    assert turns_of(journal(*events, ("t", TurnResumed())))[0].status == "running"


def test_a_turn_that_was_cut_short_shows_how_far_it_came() -> None:
    (turn,) = turns_of(
        journal(
            ("t", started()),
            ("t", answered(1, CALL)),
            ("t", INTENT),
            ("t", requested(2)),
            ("t", TurnEnded(status="aborted", reason="stopped", partial="Half of")),
        )
    )
    assert (turn.status, turn.reason, turn.steps[-1].text) == ("aborted", "stopped", "Half of")
    assert turn.steps[0].calls[0].state == "unanswered"


def test_a_message_that_joined_is_among_the_inputs() -> None:
    joined = Steered(inputs=(TurnInput(item=2, parts=(say("and this"),), at=2.0),))
    (turn,) = turns_of(journal(("t", started()), ("t", joined)))
    assert [each.text for each in turn.inputs] == ["hi", "and this"]


def test_a_reset_leaves_only_what_is_still_under_way() -> None:
    events = [("a", started()), ("a", TurnEnded(status="completed")), ("b", started("still")), ("", Reset(reason="new"))]
    assert [turn.id for turn in turns_of(journal(*events))] == ["b"]


def test_a_note_is_a_turn_without_a_question() -> None:
    (note,) = turns_of(journal(("", Noted(text="By hand.", by="api:token", label=LABEL))))
    assert (note.id, note.status, note.reply, note.inputs) == ("note-1", "completed", "By hand.", [])


def test_brought_along_history_is_turns_again() -> None:
    messages = (
        UserMessage(parts=(say("one?"),)),
        AssistantMessage(parts=(say("Looking."), CALL), model="m"),
        ToolMessage(outcomes=(ToolOutcome(call_id="c1", name="look", text="found", is_error=False, label=LABEL),)),
        AssistantMessage(parts=(say("one."),), model="m"),
        UserMessage(parts=(say("two?"),)),
        AssistantMessage(parts=(say("two."),), model="m"),
    )
    turns = turns_of(journal(("", Branched(parent="p", at=1, messages=messages)), ("t", started())))
    assert [(turn.id, turn.reply) for turn in turns] == [("past-1-1", "one."), ("past-1-2", "two."), ("t", "")]
    assert (turns[0].steps[0].calls[0].state, turns[0].steps[0].calls[0].result) == ("done", "found")
    assert before_question(messages, 2) == messages[:4]
    assert before_question(messages, 3) is None


def test_a_turn_whose_beginning_is_missing_is_still_shown() -> None:
    (turn,) = turns_of(journal(("t", answered(2, say("Here."))), ("t", TurnEnded(status="completed", reply="Here."))))
    assert (turn.inputs, turn.reply) == ([], "Here.")


def test_a_result_without_its_call_does_not_break_the_page() -> None:
    (turn,) = turns_of(journal(("t", resulted("odd", is_error=True))))
    assert (turn.steps[0].calls[0].state, turn.steps[0].calls[0].is_error) == ("refused", True)
