"""Tools that run on the caller's side: the turn waits for them and goes on with what they returned."""

from typing import Any

from ostiary.kit.model_servers import Call, Reply, say
from tests.journeys.gateway.house import Answer, Gateway, Home, said
from tests.journeys.gateway.model import Model

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather somewhere.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
CALLS = Reply(parts=(Call(name="weather", pieces=('{"city":', '"Bern"}'), id="call_a"),), stop="tool_calls")


def ask(gateway: Gateway, user: str, **more: object) -> Answer:
    return gateway.ask(said("How is Bern?", user, tools=[WEATHER], **more))


def calls_of(answer: Answer) -> list[dict[str, Any]]:
    assert answer.json["choices"][0]["finish_reason"] == "tool_calls"
    calls: list[dict[str, Any]] = answer.json["choices"][0]["message"]["tool_calls"]
    return calls


def result(call_id: str, text: str = "rain") -> dict[str, str]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def test_a_call_suspends_the_turn_and_its_result_resumes_it(gateway: Gateway, model: Model) -> None:
    model.begin(CALLS, "Take an umbrella.")
    (call,) = calls_of(ask(gateway, "resumed"))
    assert call["function"] == {"name": "weather", "arguments": '{"city":"Bern"}'}
    assert gateway.status()["waiting"] == 1
    assert gateway.ask({"messages": [result(call["id"])], "user": "resumed"}).text == "Take an umbrella."
    assert model.last["messages"][-1] == {"role": "tool", "tool_call_id": "call_a", "content": "rain"}


def test_a_streamed_call_carries_id_name_and_arguments(gateway: Gateway, model: Model) -> None:
    model.begin(CALLS, "Umbrella.")
    events = ask(gateway, "streamed-call", stream=True).events
    deltas = [d for e in events for c in e["choices"] for d in c["delta"].get("tool_calls", ())]
    assert [(d["id"], d["function"]["name"]) for d in deltas] == [("call_a", "weather")]
    assert gateway.ask({"messages": [result("call_a")], "user": "streamed-call", "stream": True}).text == "Umbrella."


def test_a_stateless_caller_sends_the_history_with_the_result(gateway: Gateway, model: Model) -> None:
    model.begin(CALLS, "Umbrella.")
    first = ask(gateway, "")
    message = first.json["choices"][0]["message"]
    messages = [{"role": "user", "content": "How is Bern?"}, message, result(message["tool_calls"][0]["id"])]
    assert gateway.ask({"messages": messages, "tools": [WEATHER]}).text == "Umbrella."
    assert len(model.requests) == 2


def test_another_message_closes_the_call_as_unanswered(gateway: Gateway, model: Model) -> None:
    model.begin(CALLS, "Never mind then.")
    calls_of(ask(gateway, "unanswered"))
    assert gateway.say("Never mind.", "unanswered").text == "Never mind then."
    *_, unanswered, note, new = model.last["messages"]
    assert "Not run" in unanswered["content"]
    assert note["content"] == "[aborted: a new message came instead of the answers]"
    assert new["content"] == "Never mind."


def test_a_result_nobody_asked_for_is_refused_and_harms_nothing(gateway: Gateway, model: Model) -> None:
    model.begin("hello", "fine")
    gateway.say("hi", "unasked")
    refused = gateway.ask({"messages": [result("call_x")], "user": "unasked"})
    assert (refused.status, refused.code) == (400, "no_open_calls")
    assert gateway.say("and now?", "unasked").text == "fine"


def test_a_waiting_turn_survives_a_kill(home: Home, model: Model) -> None:
    model.begin(CALLS, "Umbrella.")
    with home.up() as gateway:
        (call,) = calls_of(ask(gateway, "ada"))
        gateway.kill()
    with home.up() as gateway:
        assert gateway.ask({"messages": [result(call["id"])], "user": "ada"}).text == "Umbrella."


def test_the_same_result_twice_leads_to_the_same_answer(gateway: Gateway, model: Model) -> None:
    model.begin(CALLS, "Umbrella.", "again")
    (call,) = calls_of(ask(gateway, "twice"))
    answers = [gateway.ask({"messages": [result(call["id"])], "user": "twice"}).text for _ in range(2)]
    assert answers == ["Umbrella.", "Umbrella."]
    assert len(model.requests) == 2


def test_a_client_tool_cannot_take_the_name_of_one_of_ours(gateway: Gateway, model: Model) -> None:
    ours = {"type": "function", "function": {**WEATHER["function"], "name": "session_status"}}
    model.begin(say("ok"))
    gateway.ask(said("hi", "shadowed", tools=[ours]))
    names = [tool["function"]["name"] for request in model.requests for tool in request.body.get("tools", ())]
    assert names.count("session_status") <= 1
