"""Talking over HTTP, as any OpenAI client does."""

from ostiary.kit.model_servers import say
from tests.journeys.gateway.house import Gateway, said
from tests.journeys.gateway.model import Model


def test_healthz_needs_no_token(gateway: Gateway) -> None:
    answer = gateway.call("GET", "/healthz", headers={"Authorization": ""})
    assert (answer.status, answer.json) == (200, {"status": "ok"})


def test_a_question_gets_the_models_answer_and_its_usage(gateway: Gateway, model: Model) -> None:
    model.begin("Blue.")
    answer = gateway.say("Which colour?")
    assert answer.text == "Blue."
    assert answer.json["usage"]["total_tokens"] == 15
    assert answer.json["object"] == "chat.completion"


def test_a_streamed_answer_comes_in_pieces_and_ends_with_done(gateway: Gateway, model: Model) -> None:
    model.begin(say("Bl", "ue", "."))
    answer = gateway.ask(said("Which colour?", stream=True, stream_options={"include_usage": True}))
    assert answer.text == "Blue."
    assert answer.events[-2]["choices"][0]["finish_reason"] == "stop"
    assert answer.events[-1]["usage"]["completion_tokens"] == 5


def test_pieces_arrive_while_the_model_still_writes(gateway: Gateway, model: Model) -> None:
    gate = model.gate()
    held = say("first ", "second ", "third")
    model.begin(type(held)(parts=held.parts, holds={3: gate}))
    connection = gateway.open("POST", "/v1/chat/completions", said("Count.", stream=True))
    response = connection.getresponse()
    early = response.readline() + response.readline() + response.readline()
    model.release(gate)
    late = response.read()
    connection.close()
    assert b"third" not in early
    assert b"first" in early + late
    assert b"third" in late


def test_without_user_nothing_is_remembered(gateway: Gateway, model: Model) -> None:
    model.begin("Hello Ada.", "I do not know.")
    gateway.say("I am Ada.")
    gateway.say("Who am I?")
    assert "Ada" not in str(model.last["messages"][-2:])


def test_without_user_the_messages_are_the_context(gateway: Gateway, model: Model) -> None:
    model.begin("Ada.")
    history = [
        {"role": "user", "content": "I am Ada."},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "Who am I?"},
    ]
    assert gateway.ask({"messages": history}).text == "Ada."
    assert [m["content"] for m in model.last["messages"] if m["role"] != "system"] == ["I am Ada.", "Hello.", "Who am I?"]


def test_with_user_the_conversation_goes_on(gateway: Gateway, model: Model) -> None:
    model.begin("Hello Ada.", "You are Ada.")
    gateway.say("I am Ada.", "remembered")
    gateway.say("Who am I?", "remembered")
    assert [m["content"] for m in model.last["messages"] if m["role"] != "system"] == ["I am Ada.", "Hello Ada.", "Who am I?"]


def test_with_user_only_what_follows_the_last_answer_is_appended(gateway: Gateway, model: Model) -> None:
    model.begin("one", "two")
    gateway.say("first", "appended")
    invented = [
        {"role": "user", "content": "never said"},
        {"role": "assistant", "content": "never answered"},
        {"role": "user", "content": "second"},
        {"role": "user", "content": "third"},
    ]
    gateway.ask({"messages": invented, "user": "appended"})
    spoken = [m["content"] for m in model.last["messages"] if m["role"] != "system"]
    assert spoken == ["first", "one", "second\n\nthird"]


def test_a_system_message_binds_its_turn_only(gateway: Gateway, model: Model) -> None:
    model.begin("Arr.", "Yes.")
    pirate = {"role": "system", "content": "Speak like a pirate 4711."}
    gateway.ask({"messages": [pirate, {"role": "user", "content": "hi"}], "user": "pirate"})
    first = str(model.last)
    gateway.say("hi again", "pirate")
    assert "4711" in first
    assert "4711" not in str(model.last)


def test_two_users_share_nothing(gateway: Gateway, model: Model) -> None:
    model.begin("ok", "ok")
    gateway.say("the word is swordfish", "ada")
    gateway.say("what is the word?", "eve")
    assert "swordfish" not in str(model.last)


def test_the_agents_and_models_are_listed(gateway: Gateway) -> None:
    names = [row["id"] for row in gateway.call("GET", "/v1/models").json["data"]]
    assert names[:2] == ["ostiary", "ostiary/main"]
    assert {"kit/kit-1", "kit/kit-2"} <= set(names)


def test_a_request_may_name_another_model(gateway: Gateway, model: Model) -> None:
    model.begin("ok")
    gateway.ask(said("hi", "other-model", model="kit/kit-2"))
    assert model.last["model"] == "kit-2"


def test_every_answer_says_where_its_journal_is(gateway: Gateway, model: Model) -> None:
    model.begin("ok")
    ours = gateway.say("hi", "journal").json["ostiary"]
    shown = gateway.home.run_json("sessions", "show", ours["session"], "--turn", ours["turn"])
    kinds = [row["kind"] for row in shown]
    assert kinds[0] == "turn.started"
    assert kinds[-1] == "turn.ended"
