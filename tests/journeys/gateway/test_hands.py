"""The assistant writes a program and runs it: asked once, done for real, taken back."""

import json
import threading
from typing import Any

from ostiary.kit.model_servers import Call, Reply
from tests.journeys.gateway.house import Answer, Gateway, until
from tests.journeys.gateway.model import Model


def calls(name: str, **arguments: object) -> Reply:
    return Reply(parts=(Call(name=name, pieces=(json.dumps(arguments),), id=f"call_{name}"),), stop="tool_calls")


def begin(gateway: Gateway, text: str, user: str) -> tuple[threading.Thread, list[Answer]]:
    """Ask and go on; the answer comes when the turn has ended."""
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(gateway.say(text, user)))
    thread.start()
    return thread, answers


def outcomes(model: Model) -> list[Any]:
    return [message["content"] for message in model.last["messages"] if message["role"] == "tool"]


def test_a_small_program_is_written_run_and_undone_and_only_the_run_is_asked(gateway: Gateway, model: Model) -> None:
    model.begin(
        calls("write", path="hello.sh", content="echo hello from $(basename $PWD) > out.txt; cat out.txt\n"),
        calls("exec", command="sh hello.sh"),
        "It says hello.",
    )
    thread, answers = begin(gateway, "Write a small program and run it.", "newcomer")
    until(lambda: gateway.status()["waiting"] == 1)
    assert "exec" in gateway.say("/approvals", "elsewhere").text
    assert "Nothing waits here" in gateway.say("/confirm", "elsewhere").text
    assert "Allowed" in gateway.say("/confirm", "newcomer").text
    thread.join()
    assert answers[0].text == "It says hello."
    assert "hello from workspace" in outcomes(model)[-1]
    undone = gateway.say("/undo", "newcomer").text
    assert "hello.sh" in undone
    assert "out.txt" in undone
    model.begin(calls("ls"), "Nothing left.")
    assert gateway.say("What is there?", "newcomer").text == "Nothing left."
    assert "hello.sh" not in outcomes(model)[-1]


def test_a_refusal_is_final_for_that_call(gateway: Gateway, model: Model) -> None:
    model.begin(calls("exec", command="echo no > refused.txt"), "As you wish.")
    thread, answers = begin(gateway, "Do it.", "refused")
    until(lambda: gateway.status()["waiting"] == 1)
    assert "Refused" in gateway.say("/deny", "elsewhere").text
    thread.join()
    assert answers[0].text == "As you wish."
    assert "said no" in outcomes(model)[-1]


def test_a_command_sees_nothing_of_the_machine(gateway: Gateway, model: Model) -> None:
    looking = "import os; print(dict(os.environ), os.getuid(), sorted(os.listdir('/')))"
    model.begin(calls("write", path="look.py", content=looking), calls("exec", command="python3 look.py"), "Nothing.")
    thread, _ = begin(gateway, "Look around.", "curious")
    until(lambda: gateway.status()["waiting"] == 1)
    gateway.say("/confirm", "curious")
    thread.join()
    seen = outcomes(model)[-1]
    assert "KIT_KEY" not in seen
    assert "'root'" not in seen
    assert "65534" in seen


def test_a_command_that_names_the_house_s_own_state_is_refused_unasked(gateway: Gateway, model: Model) -> None:
    model.begin(calls("exec", command=f"cat {gateway.home.path}/bots/main/store.db"), "I may not.")
    assert gateway.say("Look there.", "nosy").text == "I may not."
    assert "Refused by guard" in outcomes(model)[-1]


def test_a_name_that_differs_in_case_alone_costs_the_call_and_not_the_turn(gateway: Gateway, model: Model) -> None:
    model.begin(calls("write", path="twin.md", content="x"), calls("write", path="Twin.md", content="y"), "There is one already.")
    assert gateway.say("Write both.", "twins").text == "There is one already."
    assert "many disks cannot hold both" in outcomes(model)[-1]


def test_a_command_that_waits_for_input_ends_at_once(gateway: Gateway, model: Model) -> None:
    model.begin(calls("exec", command="cat; echo over"), "It said nothing.")
    thread, answers = begin(gateway, "Run it.", "silent")
    until(lambda: gateway.status()["waiting"] == 1)
    gateway.say("/confirm", "silent")
    thread.join()
    assert answers[0].text == "It said nothing."
    assert outcomes(model)[-1].startswith("over\n[exit 0")
