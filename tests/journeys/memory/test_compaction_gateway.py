"""Long conversations at a running gateway: summarised, asked for, and taken up again after a power cut."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ostiary.kit.model_servers import Reply, say
from tests.journeys.gateway.house import Home, config, until
from tests.journeys.gateway.model import Model, running

WHO = "ada"
SPARSE = {
    "model": {"primary": "kit/kit-1"},
    "compaction": {"atTokens": 6000, "memoryFlush": {"enabled": False}},
}
LONG = "hello again " * 1500


@pytest.fixture(scope="module")
def model_server() -> Iterator[Model]:
    with running() as model:
        yield model


@pytest.fixture
def home(tmp_path: Path, model_server: Model) -> Home:
    model_server.begin()
    home = Home(tmp_path / "home")
    home.configure({**config(model_server.url), "agents": {"defaults": SPARSE}})
    return home


def is_summary(asked: dict[str, object]) -> bool:
    messages = asked["messages"]
    assert isinstance(messages, list)
    return str(messages[0]["content"]).startswith("You summarise")


def test_a_fact_from_before_the_summary_is_still_sent_to_the_model(home: Home, model_server: Model) -> None:
    model_server.begin("one", "two", "three", "They said hello.", "four")
    with home.up() as gateway:
        told = [gateway.say(text, WHO).text for text in ("My locker is number 90210.", "hello", LONG, "Which locker?")]
        command = gateway.say("/context", WHO).text
    asked = [request.body for request in model_server.requests]
    assert told == ["one", "two", "three", "four"]
    assert [is_summary(body) for body in asked] == [False, False, False, True, False]
    assert "90210" in str(asked[-1]["messages"])
    assert "one" not in [message["content"] for message in asked[-1]["messages"]]
    assert "messages" in command


def test_messages_beyond_the_owners_limit_leave_their_facts_behind_and_cost_no_call(home: Home, model_server: Model) -> None:
    home.configure({**config(model_server.url), "agents": {"defaults": SPARSE}, "session": {"historyLimit": 6}})
    model_server.begin("one", "two", "three", "four")
    with home.up() as gateway:
        for text in ("My locker is number 90210.", "hello", "hello again", "Which locker?"):
            gateway.say(text, WHO)
    assert [is_summary(request.body) for request in model_server.requests] == [False] * 4
    assert "90210" in str(model_server.last["messages"])
    assert "one" not in [message["content"] for message in model_server.last["messages"]]


def test_a_summary_can_be_asked_for(home: Home, model_server: Model) -> None:
    model_server.begin("one", "two", "Lockers, mostly.", "three")
    with home.up() as gateway:
        gateway.say("My locker is number 90210.", WHO)
        gateway.say("hello", WHO)
        told = gateway.say("/compact numbers matter", WHO).text
        gateway.say("go on", WHO)
    summary = next(request.body for request in model_server.requests if is_summary(request.body))
    assert told.startswith("Summarised: ")
    assert "numbers matter" in str(summary["messages"][0])
    assert "Lockers, mostly." in str(model_server.last["messages"])
    assert "90210" in str(model_server.last["messages"])


def test_a_power_cut_in_the_middle_of_a_summary_loses_nothing(home: Home, model_server: Model) -> None:
    gate = model_server.gate()
    held: Reply = say("never said")
    model_server.begin("one", "two", "three", type(held)(parts=held.parts, holds={0: gate}))
    with home.up() as gateway:
        for text in ("My locker is number 90210.", "hello", LONG):
            gateway.say(text, WHO)
        connection = gateway.open(
            "POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": "Which?"}], "user": WHO}
        )
        model_server.wait_asked(4)
        gateway.kill()
        connection.close()
        gateway.stopping = True
    model_server.release(gate)
    model_server.begin("They said hello.", "four", "five")
    with home.up() as gateway:
        until(lambda: len(model_server.requests) >= 2)
        until(lambda: gateway.status()["running"] == 0)
        assert gateway.say("And now?", WHO).text == "five"
    kinds = [is_summary(request.body) for request in model_server.requests]
    assert kinds == [True, False, False]
    assert "90210" in str(model_server.last["messages"])
