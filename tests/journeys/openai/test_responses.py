import json
from typing import Any

import openai
import pytest
from openai import OpenAI

from ostiary.kit.model_servers import Reply, say
from ostiary.kit.model_servers.script import Call, Words
from tests.journeys.gateway.house import Gateway, Home
from tests.journeys.gateway.model import Model
from tests.journeys.openai.conftest import client_of, enabled
from tests.journeys.openai.words import PNG

LOOK: Any = {
    "type": "function",
    "name": "look",
    "description": "Look.",
    "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
    "strict": False,
}
LOOKS = Reply(parts=(Words(pieces=("Let me see. ",)), Call(name="look", pieces=('{"at":', '"the door"}'))), stop="tool_calls")


def test_a_text_is_answered(client: OpenAI, model: Model) -> None:
    model.begin(say("A", " door."))
    response = client.responses.create(model="ostiary", input="What is this?", instructions="Be brief.", metadata={"a": "b"})
    assert (response.status, response.output_text) == ("completed", "A door.")
    assert (response.object, response.metadata, response.instructions) == ("response", {"a": "b"}, "Be brief.")
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.total_tokens) == (10, 5, 15)
    assert "Be brief." in json.dumps(model.last["messages"])


def test_items_are_the_whole_conversation(client: OpenAI, model: Model) -> None:
    model.begin("Ana.")
    response = client.responses.create(
        model="ostiary",
        input=[
            {"role": "developer", "content": "Answer with one word."},
            {"role": "user", "content": "I am Ana."},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]},  # type: ignore[list-item]
            {"role": "user", "content": [{"type": "input_text", "text": "Who am I?"}]},
        ],
    )
    assert response.output_text == "Ana."
    spoken = [(each["role"], each["content"]) for each in model.last["messages"] if each["role"] in ("user", "assistant")]
    assert spoken == [("user", "I am Ana."), ("assistant", "Hello."), ("user", "Who am I?")]


def test_events_come_in_openais_order_and_build_up_the_response(client: OpenAI, model: Model) -> None:
    model.begin(say("One ", "two ", "three."))
    events = list(client.responses.create(model="ostiary", input="Count.", stream=True))
    kinds = [event.type for event in events]
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert [kind for kind in kinds if not kind.endswith("delta")] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert "".join(deltas) == "One two three."
    assert [event.sequence_number for event in events] == list(range(len(events)))
    last = events[-1]
    assert last.type == "response.completed"
    assert (last.response.output_text, last.response.status) == ("One two three.", "completed")


def test_the_clients_own_accumulation_agrees(client: OpenAI, model: Model) -> None:
    model.begin(say("One ", "two."))
    with client.responses.stream(model="ostiary", input="Count.") as stream:
        final = stream.get_final_response()
    assert final.output_text == "One two."


def test_a_response_is_continued_by_its_id_also_after_a_restart(home: Home, model: Model) -> None:
    home.configure(enabled(model.url))
    model.begin("Noted.")
    with home.up() as gateway, client_of(gateway) as client:
        first = client.responses.create(model="ostiary", input="My name is Ana.")
    model.begin("Ana.")
    with home.up() as gateway, client_of(gateway) as client:
        second = client.responses.create(model="ostiary", input="What is my name?", previous_response_id=first.id)
    assert second.output_text == "Ana."
    assert (second.previous_response_id, second.id != first.id) == (first.id, True)
    spoken = [each["content"] for each in model.last["messages"] if each["role"] in ("user", "assistant")]
    assert spoken == ["My name is Ana.", "Noted.", "What is my name?"]


def test_two_responses_may_follow_the_same_one(client: OpenAI, model: Model) -> None:
    model.begin("Pick one.", "Red.", "Blue.")
    first = client.responses.create(model="ostiary", input="Colours.")
    client.responses.create(model="ostiary", input="The warm one.", previous_response_id=first.id)
    client.responses.create(model="ostiary", input="The cold one.", previous_response_id=first.id)
    spoken = [each["content"] for each in model.last["messages"] if each["role"] in ("user", "assistant")]
    assert spoken == ["Colours.", "Pick one.", "The cold one."]


def test_a_conversation_named_by_user_goes_on_in_its_own_session(client: OpenAI, model: Model) -> None:
    model.begin("One.", "Two.", "Three.")
    first = client.responses.create(model="ostiary", input="a", user="responses-user")
    second = client.responses.create(model="ostiary", input="b", previous_response_id=first.id)
    client.chat.completions.create(model="ostiary", messages=[{"role": "user", "content": "c"}], user="responses-user")
    spoken = [each["content"] for each in model.last["messages"] if each["role"] in ("user", "assistant")]
    assert spoken == ["a", "One.", "b", "Two.", "c"]
    assert second.to_dict()["ostiary"]["session"] == "agent:main:api:responses-user"  # type: ignore[index]


def test_what_was_not_to_be_stored_cannot_be_continued(client: OpenAI, model: Model) -> None:
    model.begin("Gone.")
    first = client.responses.create(model="ostiary", input="a", store=False)
    with pytest.raises(openai.NotFoundError) as refusal:
        client.responses.create(model="ostiary", input="b", previous_response_id=first.id)
    assert refusal.value.code == "previous_response_not_found"


@pytest.mark.parametrize("id", ["resp_0", "resp_" + "0" * 33, "resp_" + "f" * 40, "../../etc", "resp_" + "1" * 400])
def test_ids_that_were_never_given_lead_nowhere(client: OpenAI, model: Model, id: str) -> None:
    with pytest.raises(openai.NotFoundError):
        client.responses.create(model="ostiary", input="b", previous_response_id=id)
    assert model.requests == []


def test_an_id_leads_to_no_message_of_another_channel_or_session(client: OpenAI, model: Model) -> None:
    """The number alone is not enough: the session it was given for must be the row's."""
    model.begin("One.", "Two.")
    first = client.responses.create(model="ostiary", input="a")
    second = client.responses.create(model="ostiary", input="b")
    forged = first.id[:37] + second.id[37:]
    assert forged not in (first.id, second.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.create(model="ostiary", input="c", previous_response_id=forged)


def test_a_function_call_stops_the_run_and_its_output_resumes_it(client: OpenAI, model: Model) -> None:
    model.begin(LOOKS, "A cat.")
    asked = client.responses.create(model="ostiary", input="Who is there?", tools=[LOOK])
    message, call = asked.output
    assert call.type == "function_call"
    assert (message.type, call.name, call.arguments) == ("message", "look", '{"at":"the door"}')
    output: Any = [{"type": "function_call_output", "call_id": call.call_id, "output": "fur"}]
    answered = client.responses.create(model="ostiary", input=output, previous_response_id=asked.id, tools=[LOOK])
    assert answered.output_text == "A cat."
    assert answered.id != asked.id
    assert [(each["role"], each["content"]) for each in model.last["messages"][-1:]] == [("tool", "fur")]
    assert len(model.requests) == 2


def test_function_calls_without_a_kept_response_go_by_the_items_alone(client: OpenAI, model: Model) -> None:
    model.begin(LOOKS, "A cat.")
    asked = client.responses.create(model="ostiary", input="Who is there?", tools=[LOOK], store=False)
    history: Any = [{"role": "user", "content": "Who is there?"}, *[each.to_dict() for each in asked.output]]
    history.append({"type": "function_call_output", "call_id": asked.output[-1].call_id, "output": "fur"})  # type: ignore[union-attr]
    answered = client.responses.create(model="ostiary", input=history, tools=[LOOK], store=False)
    assert answered.output_text == "A cat."
    assert [(each["role"], each["content"]) for each in model.last["messages"][-1:]] == [("tool", "fur")]


def test_a_streamed_call_comes_with_its_arguments(client: OpenAI, model: Model) -> None:
    model.begin(LOOKS)
    events = list(client.responses.create(model="ostiary", input="Who is there?", tools=[LOOK], stream=True))
    assert [event.type for event in events][-5:] == [
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ]
    last = events[-1]
    assert last.type == "response.completed"
    assert [item.type for item in last.response.output] == ["message", "function_call"]


def test_calls_answered_after_a_restart_go_on(home: Home, model: Model) -> None:
    home.configure(enabled(model.url))
    model.begin(LOOKS)
    with home.up() as gateway, client_of(gateway) as client:
        asked = client.responses.create(model="ostiary", input="Who is there?", tools=[LOOK])
        gateway.kill()
    model.begin("A cat.")
    output: Any = [{"type": "function_call_output", "call_id": asked.output[-1].call_id, "output": "fur"}]  # type: ignore[union-attr]
    with home.up() as gateway, client_of(gateway) as client:
        answered = client.responses.create(model="ostiary", input=output, previous_response_id=asked.id, tools=[LOOK])
    assert answered.output_text == "A cat."


def test_results_of_calls_nobody_made_are_refused(client: OpenAI, model: Model) -> None:
    model.begin("One.")
    first = client.responses.create(model="ostiary", input="a")
    output: Any = [{"type": "function_call_output", "call_id": "call_9", "output": "x"}]
    with pytest.raises(openai.BadRequestError) as refusal:
        client.responses.create(model="ostiary", input=output, previous_response_id=first.id)
    assert refusal.value.code == "no_open_calls"


def test_saying_something_else_leaves_the_calls_unanswered(client: OpenAI, model: Model) -> None:
    model.begin(LOOKS, "Never mind then.")
    asked = client.responses.create(model="ostiary", input="Who is there?", tools=[LOOK])
    other = client.responses.create(model="ostiary", input="Never mind.", previous_response_id=asked.id)
    assert other.output_text == "Never mind then."
    assert [each["role"] for each in model.last["messages"][-2:]] == ["tool", "user"]


def test_images_are_seen(client: OpenAI, model: Model) -> None:
    model.begin("A dot.")
    content: Any = [{"type": "input_text", "text": "What?"}, {"type": "input_image", "image_url": PNG, "detail": "auto"}]
    client.responses.create(model="ostiary", input=[{"role": "user", "content": content}])
    assert PNG in json.dumps(model.last["messages"])


def test_an_answer_cut_by_its_length_is_incomplete(client: OpenAI, model: Model) -> None:
    model.begin(Reply(parts=(Words(pieces=("half",)),), stop="length"))
    response = client.responses.create(model="ostiary", input="a", max_output_tokens=1)
    assert (response.status, response.incomplete_details and response.incomplete_details.reason) == (
        "incomplete",
        "max_output_tokens",
    )
    assert model.last["max_completion_tokens" if "max_completion_tokens" in model.last else "max_tokens"] == 1


def test_a_stream_that_breaks_after_it_began_ends_in_failed(client: OpenAI, model: Model) -> None:
    cut = Reply(parts=(Words(pieces=("half an ", "answer")),), cut_after=700)
    model.begin(*[cut] * 8)
    events = list(client.responses.create(model="ostiary", input="a", stream=True))
    last = events[-1]
    assert last.type == "response.failed"
    assert last.response.error is not None
    assert [event.delta for event in events if event.type == "response.output_text.delta"] != []


def test_a_response_under_way_can_be_looked_up_and_not_yet_continued(gateway: Gateway, client: OpenAI, model: Model) -> None:
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("two slow ", "words")),), holds={2: gate}))
    stream = client.responses.create(model="ostiary", input="a", stream=True)
    created = next(iter(stream))
    assert created.type == "response.created"
    looked = client.responses.retrieve(created.response.id)
    with pytest.raises(openai.ConflictError):
        client.responses.create(model="ostiary", input="b", previous_response_id=created.response.id)
    model.release(gate)
    rest = [event for event in stream if event.type == "response.completed"]
    assert looked.status == "in_progress"
    assert rest[0].response.output_text == "two slow words"
    assert client.responses.retrieve(created.response.id).output_text == "two slow words"


def test_the_same_key_runs_once(client: OpenAI, model: Model) -> None:
    model.begin("Once.")
    headers = {"Idempotency-Key": "responses-once"}
    one = client.responses.create(model="ostiary", input="a", extra_headers=headers)
    two = client.responses.create(model="ostiary", input="a", extra_headers=headers)
    assert (one.id, one.output_text) == (two.id, two.output_text)
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"background": True}, "background"),
        ({"text": {"format": {"type": "xml"}}}, "text.format.type"),
        ({"text": {"format": {"type": "json_schema", "name": "a"}}}, "text.format.schema"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"reasoning": {"effort": "heroic"}}, "reasoning.effort"),
        ({"input": []}, "input"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].type"),
        ({"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]}, "input[0].content[0].type"),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]}, "input[0].content[0].image_url"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(client: OpenAI, model: Model, more: Any, param: str) -> None:
    with pytest.raises(openai.BadRequestError) as refusal:
        client.responses.create(**{"model": "ostiary", "input": "a", **more})
    assert refusal.value.param == param
    assert model.requests == []
