"""The owner's control of a real process: asleep at the start, killed, ended by a power cut, started again."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager

from ostiary.kit.model_servers import say
from tests.journeys.gateway.house import Gateway, Home, config, said, until
from tests.journeys.gateway.model import Model


def state(home: Home) -> str:
    done = home.run("gateway", "call", "control.status")
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["state"])


@contextmanager
def a_turn_that_hangs(gateway: Gateway, model: Model) -> Iterator[None]:
    held, gate = say("a", "b", "c", "d"), model.gate()
    model.begin(type(held)(parts=held.parts, holds={1: gate}))
    with closing(gateway.open("POST", "/v1/chat/completions", said("go on and on", "ana"))):
        model.wait_asked()
        yield
    model.release(gate)


def test_it_starts_asleep_and_is_woken_by_the_owner_who_speaks(home: Home, model: Model) -> None:
    model.begin("Good morning.")
    with home.up() as gateway:
        assert state(home) == "dormant"
        assert gateway.say("hi", "ana").text == "Good morning."
        assert state(home) == "awake"
        assert home.run("sleep").stdout == "asleep\n"
        assert state(home) == "dormant"


def test_strict_it_is_woken_by_the_word_alone(home: Home, model: Model) -> None:
    model.begin("Good morning.")
    home.configure(config(model.url, control={"strict": True}))
    with home.up() as gateway:
        assert gateway.say("hi", "ana").text == "I am asleep. /wake wakes me."
        assert gateway.say("/wake", "ana").text.startswith("I am awake.")
        assert gateway.say("hi", "ana").text == "Good morning."


def test_tools_are_switched_from_the_command_line(home: Home) -> None:
    with home.up():
        assert "Send /wake first." in home.run("enable", "read").stderr
        assert home.run("wake").stdout == "awake\n"
        assert home.run("enable", "read", "group:fs", "--for", "2h").stdout == "read: for 2 h\ngroup:fs: for 2 h\n"
        assert "No tool is called nonsense" in home.run("enable", "nonsense").stderr
        assert home.run("disable").stdout == "every tool is switched off\n"


def test_a_kill_outlasts_a_power_cut_and_revives_nothing(home: Home, model: Model) -> None:
    with home.up() as gateway, a_turn_that_hangs(gateway, model):
        done = home.run_json("kill")
        assert (done["turns"], done["unfinished"]) == (1, [])
        assert done["seconds"] < 1
        gateway.kill()
    model.begin()
    with home.up() as gateway:
        assert state(home) == "shutdown"
        assert gateway.say("hi", "ana").text == "I was shut down by /kill. /wake starts me again."
        model.begin("Here again.")
        assert home.run("wake").stdout == "awake\n"
        assert gateway.say("hi", "ana").text == "Here again."
        assert [len(asked.body["messages"]) > 0 for asked in model.requests] == [True]


def test_a_kill_without_a_gateway_keeps_the_next_start_from_reviving_anything(home: Home, model: Model) -> None:
    with home.up() as gateway, a_turn_that_hangs(gateway, model):
        gateway.kill()
    model.begin("Revived.")
    assert "the next start brings nothing back" in home.run("kill").stdout
    with home.up() as gateway:
        assert state(home) == "shutdown"
        assert (gateway.status()["running"], gateway.status()["queued"], gateway.status()["waiting"]) == (0, 0, 0)
    assert model.requests == []


def test_without_a_kill_the_same_turn_goes_on(home: Home, model: Model) -> None:
    with home.up() as gateway, a_turn_that_hangs(gateway, model):
        gateway.kill()
    model.begin("Revived.")
    with home.up():
        until(lambda: len(model.requests) == 1)


def test_there_is_nothing_to_kill_where_no_house_is(home: Home) -> None:
    done = home.run("kill")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no house" in done.stderr
