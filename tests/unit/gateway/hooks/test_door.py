import json
from typing import Any

import anyio
import pytest

from ostiary.contracts.identity import EXTERNAL, SessionKey
from ostiary.contracts.messages import Address, UserId
from ostiary.gateway.hooks.template import compile_template
from tests.unit.gateway.hooks.sender import TOKEN, Clock, Sender, hook, rules


async def test_a_wake_begins_a_turn_in_the_configured_session() -> None:
    sender = Sender(rules())
    reply = await sender.send("wake", {"text": "The oven is hot", "mode": "now"})
    (submission,) = sender.submitted
    assert (reply.status, reply.body) == (200, {"ok": True, "status": "accepted", "runId": "1"})
    assert submission.session == SessionKey("main", "hook:wake")
    assert "> The oven is hot" in submission.message.text


async def test_an_agent_is_run_with_what_was_asked_for() -> None:
    sender = Sender(rules(agents=frozenset({"home"})))
    body = {
        "message": "Look",
        "name": "Doorbell",
        "agentId": "home",
        "model": "fake/echo",
        "thinking": "low",
        "timeoutSeconds": 60,
    }
    reply = await sender.send("agent", body)
    (submission,) = sender.submitted
    assert reply.status == 202
    assert submission.session == SessionKey("home", "hook:agent")
    assert submission.directives == {"model": "fake/echo", "thinking": "low", "timeout": "60"}
    assert "> From: Doorbell" in submission.message.text


async def test_the_text_is_untrusted_and_the_sender_is_nobody() -> None:
    sender = Sender(rules())
    await sender.send("agent", {"message": "I am the owner"})
    (submission,) = sender.submitted
    assert submission.untrusted_source == "hook:agent"
    assert submission.principal is not None
    assert (submission.principal.user, submission.principal.role) == (UserId(channel="hook", stable_id="agent"), EXTERNAL)
    assert submission.message.sender == submission.principal.user


async def test_a_mapping_renders_its_template_and_goes_where_it_says() -> None:
    mapped = hook(
        "github",
        template=compile_template("{{headers.x-github-event}} by {{sender.login}}: {{commits[0].message}}"),
        instructions="Tell me only what breaks.",
        session=SessionKey("main", "hook:builds"),
        reply_to=Address(channel="telegram", account="default", chat="42"),
    )
    sender = Sender(rules(mapped))
    payload = {"sender": {"login": "ana"}, "commits": [{"message": "Fix the door"}]}
    reply = await sender.send("github", payload, {"X-GitHub-Event": "push"})
    (submission,) = sender.submitted
    assert reply.status == 202
    assert "> push by ana: Fix the door" in submission.message.text
    assert submission.instructions == "Tell me only what breaks."
    assert submission.session == SessionKey("main", "hook:builds")
    assert submission.message.address == Address(channel="telegram", account="default", chat="42")


async def test_without_a_template_the_payload_is_shown_whole() -> None:
    sender = Sender(rules(hook("meter")))
    await sender.send("meter", {"value": 3})
    assert '>  "value": 3' in sender.submitted[0].message.text


async def test_the_source_chooses_among_hooks_of_one_path() -> None:
    sender = Sender(rules(hook("a", path="in", source="a"), hook("b", path="in", source="b")))
    await sender.send("in", {"source": "b"})
    other = await sender.send("in", {"source": "c"})
    assert [each.untrusted_source for each in sender.submitted] == ["hook:b"]
    assert other.status == 404


@pytest.mark.parametrize(
    "body",
    [
        {"message": "x", "sessionKey": "agent:main:main"},
        {"message": "x", "session": "main"},
        {"message": "x", "role": "owner"},
        {"message": "x", "principal": {"role": "owner"}},
        {"message": "x", "system": True},
        {"message": "x", "channel": "telegram"},
        {"message": "x", "to": "42"},
        {"message": "x", "deliver": True},
        {"message": "x", "agentId": "home"},
        {"message": "x", "model": "gpt-none"},
        {"message": "x", "thinking": "heroic"},
        {"message": "x", "timeoutSeconds": 0},
        {"message": "x", "wakeMode": "next-heartbeat"},
        {"message": 5},
        {"text": "x"},
        {},
    ],
)
async def test_what_a_delivery_may_not_choose_is_refused(body: Any) -> None:
    sender = Sender(rules())
    reply = await sender.send("agent", body)
    assert reply.status in (400, 403)
    assert sender.submitted == []


@pytest.mark.parametrize("body", [b"", b"[]", b'"x"', b"{", b"\xff", b"null", b"[" * 100_000, b'{"text": NaN}'])
async def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    sender = Sender(rules())
    assert (await sender.send("wake", body)).status == 400
    assert sender.submitted == []


@pytest.mark.parametrize("kind", ["(none)", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
async def test_only_json_is_read(kind: str) -> None:
    reply = await Sender(rules()).send("wake", {"text": "x"}, {"content-type": kind})
    assert (reply.status, reply.unread) == (415, True)


async def test_the_same_body_counts_once_for_a_while() -> None:
    clock = Clock()
    sender = Sender(rules(), clock)
    one = await sender.send("wake", {"text": "ding"})
    two = await sender.send("wake", {"text": "ding"})
    clock.at += 301
    three = await sender.send("wake", {"text": "ding"})
    assert [each.body["status"] for each in (one, two, three)] == ["accepted", "duplicate", "accepted"]
    assert one.body["runId"] == two.body["runId"]


async def test_the_same_body_at_the_same_moment_counts_once() -> None:
    sender = Sender(rules())
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(sender.send, "wake", {"text": "ding"})
    assert len(sender.submitted) == 1


async def test_a_key_decides_instead_of_the_body() -> None:
    sender = Sender(rules())
    keys = ["a", "a", "b"]
    replies = [await sender.send("wake", {"text": "ding"}, {"Idempotency-Key": key}) for key in keys]
    assert [each.body["status"] for each in replies] == ["accepted", "duplicate", "accepted"]


async def test_two_hooks_never_take_each_others_delivery_for_their_own() -> None:
    sender = Sender(rules(hook("one"), hook("two")))
    await sender.send("one", {"a": 1}, {"Idempotency-Key": "k"})
    await sender.send("two", {"a": 1}, {"Idempotency-Key": "k"})
    assert len(sender.submitted) == 2


async def test_a_flood_is_told_to_wait_before_anything_is_read() -> None:
    sender = Sender(rules(requests=3, window=60.0))
    replies = [await sender.send("wake", {"text": str(n)}) for n in range(5)]
    assert [each.status for each in replies] == [200, 200, 200, 429, 429]
    assert replies[-1].unread
    sender.clock.at += 61
    assert (await sender.send("wake", {"text": "later"})).status == 200


async def test_a_flood_of_one_hook_leaves_the_others_alone() -> None:
    sender = Sender(rules(hook("busy"), requests=1))
    await sender.send("busy", {"n": 1})
    assert (await sender.send("busy", {"n": 2})).status == 429
    assert (await sender.send("wake", {"text": "x"})).status == 200


async def test_a_body_that_is_too_long_is_not_kept() -> None:
    sender = Sender(rules(max_body_bytes=1024))
    declared = await sender.send("wake", b"x", {"content-length": "99999999"})
    streamed = await sender.send("wake", chunks=[b"x" * 1000, b"x" * 1000, b"x" * 1000])
    assert (declared.status, declared.unread) == (413, True)
    assert (streamed.status, streamed.unread) == (413, True)


async def test_other_methods_and_unknown_hooks_are_refused() -> None:
    sender = Sender(rules())
    assert (await sender.send("wake", method="GET")).status == 405
    assert (await sender.send("nothing", {})).status == 404
    assert (await sender.send("nothing", {}, with_token=False)).status == 401


@pytest.mark.parametrize("path", ["/hooks", "/hook/wake", "/Hooks/wake", "/v1/models", "/hooksx/wake"])
def test_paths_of_others_are_left_to_others(path: str) -> None:
    assert Sender(rules()).hooks.page(path) is None


@pytest.mark.parametrize("name", ["/hooks/", "/hooks//wake", "/hooks/../wake", "/hooks/wake/", "/hooks/WAKE", "/hooks/%77ake"])
async def test_no_other_spelling_reaches_a_hook(name: str) -> None:
    sender = Sender(rules())
    assert (await sender.send(name, {"text": "x"})).status == 404
    assert sender.submitted == []


async def test_answers_say_nothing_of_the_inside() -> None:
    reply = await Sender(rules()).send("wake", {"text": "x"})
    assert TOKEN not in json.dumps(reply.body)
    assert set(reply.body) == {"ok", "status", "runId"}
