"""Idempotency-Key: a repeated request never runs twice, whatever happened in between."""

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from ostiary.kit.model_servers import Reply, Words
from tests.journeys.gateway.house import Gateway, Home, finished, said, until
from tests.journeys.gateway.model import Model


def test_the_same_key_again_gives_the_same_answer_without_asking_the_model(gateway: Gateway, model: Model) -> None:
    model.begin("once", "twice")
    answers = [gateway.say("hi", "sequential", Idempotency_Key="key-1").text for _ in range(3)]
    assert answers == ["once", "once", "once"]
    assert len(model.requests) == 1


def test_the_same_key_is_deduplicated_without_user_too(gateway: Gateway, model: Model) -> None:
    model.begin("once", "twice")
    answers = [gateway.say("hi", Idempotency_Key="stateless-1").text for _ in range(2)]
    assert answers == ["once", "once"]
    assert len(model.requests) == 1


def test_a_streamed_repetition_gets_the_whole_answer(gateway: Gateway, model: Model) -> None:
    model.begin("once", "twice")
    gateway.say("hi", "streamed", Idempotency_Key="key-2")
    assert gateway.ask(said("hi", "streamed", stream=True), Idempotency_Key="key-2").text == "once"
    assert len(model.requests) == 1


def test_the_same_key_at_the_same_time_waits_for_the_one_turn(gateway: Gateway, model: Model) -> None:
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("on", "ce")),), holds={1: gate}), "twice")
    with ThreadPoolExecutor(8) as pool:
        asking = [pool.submit(gateway.say, "hi", "concurrent", Idempotency_Key="key-3") for _ in range(8)]
        model.wait_asked()
        model.release(gate)
        answers = {each.result().text for each in asking}
    assert answers == {"once"}
    assert len(model.requests) == 1


def test_another_key_is_another_turn(gateway: Gateway, model: Model) -> None:
    model.begin("one", "two")
    assert gateway.say("hi", "different", Idempotency_Key="a").text == "one"
    assert gateway.say("hi", "different", Idempotency_Key="b").text == "two"


def test_one_key_in_two_conversations_is_two_turns(gateway: Gateway, model: Model) -> None:
    model.begin("one", "two")
    assert gateway.say("hi", "left", Idempotency_Key="shared").text == "one"
    assert gateway.say("hi", "right", Idempotency_Key="shared").text == "two"


def test_a_key_that_cannot_be_kept_is_refused(gateway: Gateway, model: Model) -> None:
    answer = gateway.say("hi", "long-key", Idempotency_Key="k" * 300)
    assert (answer.status, len(model.requests)) == (400, 0)
    assert "Idempotency-Key" in answer.error


def test_after_a_kill_the_same_key_gives_the_recorded_answer(home: Home, model: Model) -> None:
    model.begin("once", "twice")
    with home.up() as gateway:
        assert gateway.say("hi", "ada", Idempotency_Key="key").text == "once"
        gateway.kill()
    with home.up() as gateway:
        assert gateway.say("hi", "ada", Idempotency_Key="key").text == "once"
    assert len(model.requests) == 1


def test_a_turn_killed_in_mid_answer_finishes_once_after_the_next_start(home: Home, model: Model) -> None:
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("half ", "never")),), holds={2: gate}), "The whole answer.")
    with home.up() as gateway:
        connection = gateway.open("POST", "/v1/chat/completions", said("hi", "ada", stream=True), {"Idempotency-Key": "key"})
        model.wait_asked()
        gateway.kill()
        connection.close()
    with home.up() as gateway:
        model.wait_asked(2)
        assert gateway.say("hi", "ada", Idempotency_Key="key").text == "The whole answer."
        assert gateway.call("GET", "/v1/ostiary/session?key=agent:main:api:ada").json["turns"] == 1
    assert len(model.requests) == 2
    model.release(gate)


def test_hanging_up_cancels_nothing(gateway: Gateway, model: Model) -> None:
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("still ", "here")),), holds={2: gate}), "twice")
    connection = gateway.open("POST", "/v1/chat/completions", said("hi", "left-alone"), {"Idempotency-Key": "key"})
    model.wait_asked()
    connection.close()
    model.release(gate)
    assert gateway.say("hi", "left-alone", Idempotency_Key="key").text == "still here"
    assert len(model.requests) == 1


def test_hanging_up_on_a_stream_cancels_nothing(gateway: Gateway, model: Model) -> None:
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("still ", "here")),), holds={2: gate}), "twice")
    body = said("hi", "left-stream", stream=True)
    connection = gateway.open("POST", "/v1/chat/completions", body, {"Idempotency-Key": "key"})
    connection.getresponse().readline()
    connection.close()
    model.release(gate)
    assert gateway.say("hi", "left-stream", Idempotency_Key="key").text == "still here"


def test_hanging_up_cancels_when_the_caller_asked_for_that(gateway: Gateway, model: Model) -> None:
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("half ", "never")),), holds={2: gate}), "next")
    headers = {"Idempotency-Key": "key", "X-Ostiary-Cancel-On-Disconnect": "true"}
    connection = gateway.open("POST", "/v1/chat/completions", said("hi", "cancelled", stream=True), headers)
    connection.getresponse().readline()
    connection.close()
    outcome = gateway.say("hi", "cancelled", Idempotency_Key="key")
    model.release(gate)
    assert outcome.json["ostiary"]["status"] == "aborted"
    assert gateway.say("go on", "cancelled").text == "next"


def is_closed(gateway: Gateway) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", gateway.port)) != 0


def test_stopping_lets_a_running_turn_finish_and_answers_it(home: Home, model: Model) -> None:
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("in ", "time")),), holds={2: gate}))
    home.configure(home.file.read_text().replace('"drainSeconds": 1', '"drainSeconds": 20'))
    with home.up() as gateway:
        connection = gateway.open("POST", "/v1/chat/completions", said("hi", "ada"))
        model.wait_asked()
        gateway.terminate()
        until(lambda: is_closed(gateway))
        model.release(gate)
        assert finished(connection.getresponse()).text == "in time"
        connection.close()
        assert gateway.end() == 0
    assert len(model.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_cut_off_by_stopping_is_told_how_to_get_its_answer(home: Home, model: Model, stream: bool) -> None:
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("never", "!")),), holds={1: gate}), "The whole answer.")
    body, key = said("hi", stream=stream), {"Idempotency-Key": "key"}
    with home.up() as gateway:
        connection = gateway.open("POST", "/v1/chat/completions", body, key)
        model.wait_asked()
        gateway.terminate()
        answer = finished(connection.getresponse())
        connection.close()
        assert gateway.end() == 0
    assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "gateway_stopping", "5")
    assert answer.headers["x-should-retry"] == "true"
    assert "the turn goes on" in answer.error
    assert "the same Idempotency-Key" in answer.error
    with home.up() as gateway:
        assert gateway.call("POST", "/v1/chat/completions", body, key).text == "The whole answer."
    model.release(gate)
    assert "Traceback" not in (home.path / "logs" / "ostiary.log").read_text()


def test_a_request_without_a_key_that_is_cut_off_is_told_not_to_ask_again(home: Home, model: Model) -> None:
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("never", "!")),), holds={1: gate}), "The whole answer.")
    with home.up() as gateway:
        connection = gateway.open("POST", "/v1/chat/completions", said("hi"))
        model.wait_asked()
        gateway.terminate()
        answer = finished(connection.getresponse())
        connection.close()
    assert (answer.status, answer.headers["x-should-retry"]) == (503, "false")
    assert "would begin another" in answer.error
    model.release(gate)


def test_a_stream_cut_off_by_stopping_ends_with_the_reason(home: Home, model: Model) -> None:
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("half of the answer is here, and ", "never")),), holds={2: gate}), "whole")
    with home.up() as gateway:
        connection = gateway.open("POST", "/v1/chat/completions", said("hi", "ada", stream=True))
        response = connection.getresponse()
        first = response.readline()
        gateway.terminate()
        rest = response.read()
        connection.close()
    assert b"half" in first + rest
    assert b"gateway_stopping" in rest
    model.release(gate)


def test_a_stuck_model_is_left_to_the_next_start(home: Home, model: Model) -> None:
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("half ", "never")),), holds={2: gate}), "whole")
    with home.up() as gateway:
        connection = gateway.open("POST", "/v1/chat/completions", said("hi", "ada"), {"Idempotency-Key": "key"})
        model.wait_asked()
        assert gateway.end() == 0
        connection.close()
    assert home.stderr == "warning: 1 turns go on after the next start\n"
    with home.up() as gateway:
        assert gateway.say("hi", "ada", Idempotency_Key="key").text == "whole"
    model.release(gate)
    assert len(model.requests) == 2
