"""A newcomer tells the assistant three things, is answered from memory in the next conversation, and makes it forget one."""

import json
from typing import Any

import pytest

from tests.journeys.gateway.house import Answer, Gateway, Home, until
from tests.journeys.gateway.model import Model
from tests.journeys.gateway.test_hands import calls, outcomes
from tests.journeys.memory.reading import holders

FACTS = (
    "The owner's sister Ana lives in Zanzibar.",
    "The owner is allergic to hazelnuts.",
    "The owner's bicycle is kept at number 12 Quay Street.",
)


def say(gateway: Gateway, text: str) -> Answer:
    return gateway.say(text, X_Ostiary_Session="agent:main:main")


def tell(gateway: Gateway, model: Model, fact: str) -> None:
    model.begin(calls("memory_write", text=fact), "I shall remember it.")
    assert say(gateway, f"Remember: {fact}").text == "I shall remember it."


def ask(gateway: Gateway, model: Model, question: str, answer: str) -> Answer:
    model.begin(calls("memory_search", query=question), answer)
    return say(gateway, question)


def daily_note(home: Home) -> str:
    listed = home.run_json("vault", "ls", "_memory")
    paths = [row["path"] for row in listed if row["path"].startswith("memory/2")]
    return home.run("vault", "get", f"_memory:{paths[0]}").stdout if paths else ""


def why(home: Home, words: str) -> list[dict[str, Any]]:
    done = home.run("gateway", "call", "memory.why", "--params", json.dumps({"target": words}))
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout)["origins"])


def test_what_was_told_is_answered_from_memory_with_its_source(home: Home, model: Model) -> None:
    with home.up() as gateway:
        for fact in FACTS:
            tell(gateway, model, fact)
        assert "new conversation" in say(gateway, "/new").text
        answer = ask(gateway, model, "Where does my sister live?", "In Zanzibar. Source: MEMORY.md#L3-L3").text
        asked = model.requests[0].body
        found = outcomes(model)[-1]
        until(lambda: "(conversation agent:main:main, events" in daily_note(home))
        origins = why(home, "Zanzibar")
        told = say(gateway, "/memory why Zanzibar").text
    assert answer == "In Zanzibar. Source: MEMORY.md#L3-L3"
    assert f"> - {FACTS[0]}" in found
    assert 'like "Source: MEMORY.md#L' in found
    assert len(asked["messages"]) == 2, "the first conversation is not sent again"
    long_term = [each for each in origins if each["entry"]["path"] == "MEMORY.md"]
    assert [each["words"] for each in long_term] == [f"Remember: {FACTS[0]}"]
    assert long_term[0]["entry"]["session"] == "agent:main:main"
    assert long_term[0]["entry"]["turn"].startswith("turn_")
    assert long_term[0]["entry"]["trust"] == "owner"
    assert "You had said: Remember: The owner's sister Ana" in told


def test_the_daily_note_tells_of_the_first_conversation(home: Home, model: Model) -> None:
    with home.up() as gateway:
        tell(gateway, model, FACTS[0])
        model.begin("Good night.")
        say(gateway, "That was all, good night.")
        say(gateway, "/new")
        until(lambda: bool(daily_note(home)))
        note = daily_note(home)
    assert "First answer: I shall remember it." in note
    assert "Last said: That was all, good night." in note


def test_what_is_forgotten_is_nowhere_any_more_not_even_in_the_files(home: Home, model: Model) -> None:
    with home.up() as gateway:
        for fact in FACTS:
            tell(gateway, model, fact)
        say(gateway, "/new")
        until(lambda: bool(daily_note(home)))
        ask(gateway, model, "Where does my sister live?", "In Zanzibar.")
        until(lambda: gateway.status()["running"] == 0)
        before = home.run("memory", "search", "sister", "--json").stdout
        done = home.run("memory", "forget", "zanzibar", "--yes")
        after = home.run("memory", "search", "sister Zanzibar", "--json").stdout
        kept = home.run("memory", "search", "hazelnuts", "--json").stdout
        model.begin("I do not know.")
        say(gateway, "Where was it?")
        shown = json.dumps(model.last["messages"])
    assert "Zanzibar" in before
    assert done.returncode == 0, done.stderr
    assert "Zanzibar" not in after
    assert "hazelnuts" in kept
    assert "Zanzibar" not in shown
    assert holders(home.path, "hazelnuts") != []
    assert holders(home.path, "zanzibar") == []


def test_a_second_look_before_forgetting_changes_nothing(home: Home, model: Model) -> None:
    with home.up() as gateway:
        tell(gateway, model, FACTS[0])
        offered = say(gateway, "/forget Ana lives in Zanzibar").text
        still = home.run("memory", "search", "sister", "--json").stdout
        command = offered.rpartition("To do it: ")[2]
        gone = say(gateway, command).text
    assert "MEMORY.md#L3" in offered
    assert "Zanzibar" in still
    assert gone.startswith("Erased 1 notes")
    assert holders(home.path, "zanzibar") == []


@pytest.mark.parametrize("fact", FACTS)
def test_memory_outlives_a_power_cut(home: Home, model: Model, fact: str) -> None:
    with home.up() as gateway:
        tell(gateway, model, fact)
        gateway.kill()
        gateway.stopping = True
    assert fact in home.run("memory", "search", fact, "--json").stdout
