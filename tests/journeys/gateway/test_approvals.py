"""Answering what the assistant asks, from everywhere, of a real process: by socket, command line, API; twice, late, wrongly."""

import json
import os
import pty
import subprocess
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from ostiary.client import CallRefused, connect
from ostiary.client.gateway import Gateway as Socket
from ostiary.kit.model_servers import Call, Reply
from tests.journeys.gateway.house import OSTIARY, Answer, Gateway, Home, said, until
from tests.journeys.gateway.model import Model


def calls(*commands: str, name: str = "exec") -> Reply:
    made = tuple(
        Call(name=name, pieces=(json.dumps({"command": command}),), id=f"call_{place}") for place, command in enumerate(commands)
    )
    return Reply(parts=made, stop="tool_calls")


def writes(path: str, content: str) -> Reply:
    arguments = json.dumps({"path": path, "content": content})
    return Reply(parts=(Call(name="write", pieces=(arguments,), id="call_write"),), stop="tool_calls")


def begin(gateway: Gateway, text: str, user: str) -> tuple[threading.Thread, list[Answer]]:
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(gateway.say(text, user)))
    thread.start()
    return thread, answers


def over_socket(gateway: Gateway, act: Callable[[Socket], Awaitable[Any]], **who: Any) -> Any:
    async def run() -> Any:
        async with connect(gateway.url, token=gateway.token, **who) as socket:
            return await act(socket)

    return anyio.run(run)


def ask(gateway: Gateway, method: str, **params: Any) -> Any:
    return over_socket(gateway, lambda socket: socket.call(method, params))


def settle(gateway: Gateway, approval: str, *, allow: bool) -> None:
    over_socket(gateway, lambda socket: socket.answer(approval, allow))


def pending(gateway: Gateway, count: int = 1) -> list[dict[str, Any]]:
    """What waits, once that many do."""
    until(lambda: gateway.status()["waiting"] == 1)
    found: list[dict[str, Any]] = ask(gateway, "approvals.list")["approvals"]
    assert len(found) == count
    return found


def outcomes(model: Model) -> list[Any]:
    return [message["content"] for message in model.last["messages"] if message["role"] == "tool"]


def test_a_question_is_shown_whole_and_answered_by_the_command_line(gateway: Gateway, model: Model) -> None:
    home = gateway.home
    model.begin(calls("echo \u202eone"), "Done.")
    thread, answers = begin(gateway, "Go.", "cli")
    (asked,) = pending(gateway)
    shown = home.run("approvals", "list").stdout
    assert "command: echo \\u{202E}one" in shown
    assert "cwd" in shown
    assert f"({asked['id']})" in shown
    assert home.run("approvals", "allow", asked["id"]).stdout == f"Allowed: {asked['id']}.\n"
    thread.join()
    assert answers[0].text == "Done."
    twice = home.run("approvals", "deny", asked["id"])
    assert (twice.returncode, "answered already: allowed by api:token" in twice.stderr) == (1, True)


def test_a_refusal_with_a_reason_reaches_the_model(gateway: Gateway, model: Model) -> None:
    model.begin(calls("echo no"), "As you wish.")
    thread, answers = begin(gateway, "Go.", "refusing")
    (asked,) = pending(gateway)
    assert gateway.home.run("approvals", "deny", asked["id"], "--note", "Use the other one.").stdout.startswith("Refused")
    thread.join()
    assert answers[0].text == "As you wish."
    assert "Use the other one." in outcomes(model)[-1]


def test_a_socket_hears_of_the_question_and_its_answer_and_answers_it(gateway: Gateway, model: Model) -> None:
    model.begin(calls("echo two"), "Done.")

    async def converse(socket: Socket) -> list[Any]:
        heard: list[Any] = []
        with socket.listening("approval") as told:
            async for piece in socket.chat("agent:main:api:socket", "Go."):
                heard += [piece.kind] if piece.kind in ("asked", "final") else []
                if piece.kind == "asked":
                    assert "command: echo two" in piece.text
                    late = await second(gateway)
                    assert [each["id"] for each in late] == [piece.payload["id"]]
                    await socket.answer(piece.payload["id"], True)
            states = [(await told.get()).payload["state"] for _ in range(2)]
        return [*heard, *states]

    assert over_socket(gateway, converse) == ["asked", "final", "asked", "answered"]


async def second(gateway: Gateway) -> Any:
    """Who connects while something waits is greeted with it."""
    async with connect(gateway.url, token=gateway.token) as socket:
        return socket.hello["snapshot"]["approvals"]


@pytest.mark.parametrize("scopes", [["chat"], ["read", "chat"]])
def test_a_caller_without_the_scope_answers_nothing(gateway: Gateway, model: Model, scopes: list[str]) -> None:
    model.begin(calls("echo three"), "No.")
    thread, _ = begin(gateway, "Go.", "scopes")
    (asked,) = pending(gateway)
    with pytest.raises(BaseExceptionGroup) as refused:
        over_socket(gateway, lambda socket: socket.answer(asked["id"], True), scopes=scopes)
    assert refused.group_contains(CallRefused, match="needs the scope approve")
    assert len(pending(gateway)) == 1
    over_socket(gateway, lambda socket: socket.answer(asked["id"], False), scopes=["approve"])
    thread.join()


def test_the_api_answers_it_too_and_names_what_waits(gateway: Gateway, model: Model) -> None:
    model.begin(calls("echo four"), "Done.")
    thread, answers = begin(gateway, "Go.", "api")
    (asked,) = pending(gateway)
    assert "echo four" in gateway.say("/approvals", "other").text
    assert gateway.say(f"/confirm {asked['id']}", "api").text == f"Allowed: {asked['id']}."
    thread.join()
    assert answers[0].text == "Done."


def test_two_at_once_are_answered_apart(gateway: Gateway, model: Model) -> None:
    model.begin(calls("echo first", "uname -s"), "One of them.")
    thread, answers = begin(gateway, "Go.", "two")
    first, other = pending(gateway, 2)
    settle(gateway, other["id"], allow=False)
    assert [each["id"] for each in pending(gateway)] == [first["id"]]
    settle(gateway, first["id"], allow=True)
    thread.join()
    assert answers[0].text == "One of them."
    done, refused = outcomes(model)[-2:]
    assert "first" in done
    assert "said no" in refused


def test_one_pattern_answers_all_that_is_alike_and_later_calls_run_unasked(gateway: Gateway, model: Model) -> None:
    home = gateway.home
    model.begin(calls("ls -a", "ls -l"), calls("ls -t"), calls("ls; id"), "Done.")
    thread, answers = begin(gateway, "Go.", "alike")
    first, other = pending(gateway, 2)
    (group,) = ask(gateway, "approvals.list")["groups"]
    assert group["ids"] == [first["id"], other["id"]]
    done = home.run_json("approvals", "allow", first["id"], "--like", group["offer"]["pattern"], "--for", "8h")
    assert done["also"] == [other["id"]]
    model.wait_asked(3)
    (unlike,) = pending(gateway)
    assert "ls; id" in unlike["text"]
    settle(gateway, unlike["id"], allow=False)
    thread.join()
    assert answers[0].text == "Done."
    (grant,) = ask(gateway, "grants.list")["grants"]
    assert home.run("approvals", "revoke", grant["id"]).stdout.startswith("Revoked: exec: ls")
    assert ask(gateway, "grants.list")["grants"] == []


def test_a_kill_takes_every_grant_back(home: Home, model: Model) -> None:
    model.begin(calls("ls -a"), "Done.")
    with home.up() as gateway:
        thread, _ = begin(gateway, "Go.", "killed")
        (asked,) = pending(gateway)
        home.run_json("approvals", "allow", asked["id"], "--like", "ls *", "--for", "8h")
        thread.join()
        assert (home.run_json("kill")["grants"], ask(gateway, "grants.list")["grants"]) == (1, [])


def test_a_pattern_that_does_not_fit_and_a_time_without_end_are_refused(gateway: Gateway, model: Model) -> None:
    home = gateway.home
    model.begin(calls("echo five"), "No.")
    thread, _ = begin(gateway, "Go.", "patterns")
    (asked,) = pending(gateway)
    assert "does not cover" in home.run("approvals", "allow", asked["id"], "--like", "ls *", "--for", "1h").stderr
    assert "is no time" in home.run("approvals", "allow", asked["id"], "--for", "ever").stderr
    assert len(pending(gateway)) == 1
    settle(gateway, asked["id"], allow=False)
    thread.join()


def test_a_question_survives_a_power_cut_and_is_answered_after_it(home: Home, model: Model) -> None:
    model.begin(calls("echo survived"))
    with home.up() as gateway:
        connection = gateway.open("POST", "/v1/chat/completions", said("Go.", "ana"))
        (before,) = pending(gateway)
        gateway.kill()
        connection.close()
    model.begin("Done.")
    with home.up() as gateway:
        (after,) = pending(gateway)
        assert (after["id"], after["text"]) == (before["id"], before["text"])
        settle(gateway, after["id"], allow=True)
        until(lambda: len(model.requests) == 1)
    assert "survived" in outcomes(model)[-1]


def test_a_yes_to_a_file_that_changed_since_is_asked_again(gateway: Gateway, model: Model) -> None:
    model.begin(writes("run.sh", "echo harmless\n"), calls("sh run.sh"), writes("run.sh", "echo other\n"), "Changed.", "Done.")
    thread, _ = begin(gateway, "Write it and run it.", "changing")
    (first,) = pending(gateway)
    changed = threading.Thread(target=lambda: gateway.say("Change it.", "meanwhile"))
    changed.start()
    changed.join()
    settle(gateway, first["id"], allow=True)
    until(lambda: first["id"] not in gateway.say("/approvals", "elsewhere").text)
    (again,) = pending(gateway)
    assert again["id"] != first["id"]
    assert again["bound"] != first["bound"]
    settle(gateway, again["id"], allow=False)
    thread.join()


def test_a_stream_that_waits_is_kept_open_and_then_answered(gateway: Gateway, model: Model) -> None:
    model.begin(calls("echo six"), "Done.")
    connection = gateway.open("POST", "/v1/chat/completions", said("Go.", "stream", stream=True))
    response = connection.getresponse()
    first = response.readline()
    (asked,) = pending(gateway)
    assert first == f": waiting for a person, {asked['id']}\n".encode()
    settle(gateway, asked["id"], allow=True)
    rest = response.read()
    connection.close()
    assert b'"content":"Done."' in rest
    assert rest.endswith(b"data: [DONE]\n\n")


def test_changes_are_listed_as_diffs_and_undone_from_the_command_line(gateway: Gateway, model: Model) -> None:
    home, key = gateway.home, "agent:main:api:files"
    model.begin(writes("note.txt", "one\n"), "Written.")
    gateway.say("Write a note.", "files")
    shown = home.run("sessions", "changes", key).stdout
    assert "added note.txt (+1 -0)" in shown
    assert "+one" in shown
    (turn,) = ask(gateway, "changes.list", key=key)["turns"]
    assert home.run("undo", turn["turn"]).stdout == "Removed note.txt.\n"
    assert not ask(gateway, "changes.list", turn=turn["turn"])["turns"][0]["files"][0]["current"]


def test_a_turn_is_explained_and_run_again_from_its_second_step(gateway: Gateway, model: Model) -> None:
    home, key = gateway.home, "agent:main:api:again"
    model.begin(writes("again.txt", "one\n"), "Written.")
    gateway.say("Write it.", "again")
    events = ask(gateway, "sessions.events", key=key)["events"]
    turn = next(event["turn"] for event in events if event["kind"] == "turn.started")
    told = home.run("sessions", "explain", key, turn).stdout
    assert "write" in told
    assert "allow by" in told
    model.begin("Written again.")
    branch = home.run_json("sessions", "rerun", key, turn, "--step", "2")["key"]
    until(lambda: ask(gateway, "chat.history", key=branch)["turns"][-1]["reply"] == "Written again.")
    texts = [str(message["content"]) for message in model.last["messages"]]
    assert sum("Write it." in text for text in texts) == 2
    assert ask(gateway, "sessions.events", key=key)["events"] == events
    assert "has no step 9" in home.run("sessions", "rerun", key, turn, "--step", "9").stderr


def test_the_terminal_is_asked_when_somebody_sits_there(gateway: Gateway, model: Model) -> None:
    model.begin(calls("echo seven"), "Done.")
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [OSTIARY, "agent", "-m", "Go.", "--session", "tty"],
        env=gateway.home.environ,
        stdin=follower,
        stdout=subprocess.PIPE,
        stderr=follower,
    )
    os.close(follower)
    seen = b""
    while b"[y/N]" not in seen:
        seen += os.read(leader, 4096)
    os.write(leader, b"y\n")
    out, _ = process.communicate(timeout=30)
    os.close(leader)
    assert b"command: echo seven" in seen
    assert out == b"Done.\n"


def test_without_a_terminal_it_says_what_to_type_and_waits(gateway: Gateway, model: Model) -> None:
    model.begin(calls("echo eight"), "Done.")
    process = subprocess.Popen(
        [OSTIARY, "agent", "-m", "Go.", "--session", "pipe", "--json"],
        env=gateway.home.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    (asked,) = pending(gateway)
    gateway.home.run("approvals", "allow", asked["id"])
    out, err = process.communicate(timeout=30)
    assert f"ostiary approvals allow {asked['id']}" in err.decode()
    assert json.loads(out)["choices"][0]["message"]["content"] == "Done."
