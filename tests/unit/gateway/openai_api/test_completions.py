from typing import Any

import anyio
import pytest

from ostiary.contracts import content
from ostiary.contracts.channel import Accepted
from ostiary.contracts.content import Image, Text, ToolCall, Trust
from ostiary.contracts.engine import Outcome, Submission
from ostiary.contracts.errors import Busy, NotAllowed, StoreUnavailable
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.model import Usage
from ostiary.gateway.limits import Limits
from tests.unit.gateway.fakes import Client, FakeEngine, call

PNG = "data:image/png;base64,iVBORw0KGgo="


async def test_an_answer_has_the_shape_that_openai_clients_read() -> None:
    reply = await Client().chat("hi")
    body = reply.json
    assert reply.status == 200
    assert body["object"] == "chat.completion"
    assert body["model"] == "fake/echo"
    assert body["created"] == 1_800_000_000
    assert body["choices"] == [
        {"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop", "logprobs": None}
    ]
    assert body["usage"] == {
        "prompt_tokens": 7,
        "completion_tokens": 2,
        "total_tokens": 9,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    assert body["ostiary"]["status"] == "completed"


async def test_without_user_the_messages_are_the_context_of_a_session_of_their_own() -> None:
    client = Client()
    await client.chat("one", {"role": "assistant", "content": "two"}, "three")
    (submission,) = client.engine.submitted
    first, second = submission.context
    assert submission.ephemeral
    assert str(submission.session).startswith("agent:main:call:")
    assert isinstance(first, content.UserMessage)
    assert isinstance(second, content.AssistantMessage)
    assert [part.text for part in (*first.parts, *second.parts) if isinstance(part, Text)] == ["one", "two"]
    assert submission.message.text == "three"


async def test_two_stateless_calls_never_share_a_session() -> None:
    client = Client()
    await client.chat("a")
    await client.chat("a")
    one, two = client.engine.submitted
    assert one.session != two.session
    assert one.message.id != two.message.id


async def test_with_user_only_what_follows_the_last_answer_is_appended() -> None:
    client = Client()
    await client.chat("old", {"role": "assistant", "content": "answer"}, "new", "newer", user="ana")
    (submission,) = client.engine.submitted
    assert submission.session == SessionKey("main", "api:ana")
    assert not submission.ephemeral
    assert submission.context == ()
    assert submission.message.text == "new\n\nnewer"


async def test_the_token_is_the_principal_and_user_never_is() -> None:
    client = Client()
    await client.chat("hi", user="root")
    (submission,) = client.engine.submitted
    assert submission.principal is not None
    assert submission.principal.is_owner
    assert submission.principal.user.stable_id == "token"
    assert submission.message.sender == submission.principal.user


async def test_system_and_developer_messages_are_instructions_for_this_turn() -> None:
    client = Client()
    await client.chat(
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "text", "text": "In verse."}]},
        "hi",
    )
    (submission,) = client.engine.submitted
    assert submission.instructions == "Be brief.\n\nIn verse."
    assert submission.message.text == "hi"
    assert submission.context == ()


async def test_an_idempotency_key_is_the_message_id() -> None:
    client = Client()
    await client.chat("hi", user="ana", headers={"Idempotency-Key": "k-1"})
    message = client.engine.submitted[0].message
    assert (message.id, message.address.channel, message.address.account) == ("k-1", "api", "default")


async def test_a_stateless_repetition_names_the_same_session() -> None:
    client = Client()
    await client.chat("hi", headers={"Idempotency-Key": "k-1"})
    await client.chat("hi", headers={"Idempotency-Key": "k-1"})
    one, two = client.engine.submitted
    assert one.session == two.session


@pytest.mark.parametrize("stream", [False, True])
async def test_a_repeated_request_gets_the_outcome_of_the_first(stream: bool) -> None:
    engine = FakeEngine()
    engine.accept = lambda submission: Accepted(status="duplicate", item=77, session=submission.session)
    engine.settle(77, Outcome(turn="t", session=SessionKey("main", "api:ana"), status="completed", text="said before"))
    reply = await Client(engine).chat("hi", user="ana", stream=stream, headers={"Idempotency-Key": "k"})
    assert "said before" in reply.body.decode()


async def test_a_command_answers_at_once() -> None:
    engine = FakeEngine()
    engine.accept = lambda submission: Accepted(status="answered", item=3, session=submission.session, text="Model: fake/echo")
    reply = await Client(engine).chat("/status", user="ana")
    assert reply.json["choices"][0]["message"]["content"] == "Model: fake/echo"


async def test_model_chooses_the_agent() -> None:
    client = Client()
    await client.chat("hi", user="ana", model="ostiary/home")
    await client.chat("hi", user="ana", model="agent:home")
    assert [each.session for each in client.engine.submitted] == [SessionKey("home", "api:ana")] * 2


@pytest.mark.parametrize("model", ["ostiary/nobody", "agent:nobody", "gpt-9", "nowhere/model"])
async def test_an_unknown_model_is_not_found(model: str) -> None:
    client = Client()
    reply = await client.chat("hi", model=model)
    assert (reply.status, reply.error["code"], reply.error["param"]) == (404, "model_not_found", "model")
    assert client.engine.submitted == []


@pytest.mark.parametrize("user", [None, "ana"])
async def test_a_real_model_is_a_directive_for_the_turn(user: str | None) -> None:
    client = Client()
    await client.chat("hi", model="fake/echo", user=user)
    assert client.engine.submitted[0].directives == {"model": "fake/echo"}
    assert client.engine.submitted[0].message.text == "hi"


async def test_the_command_line_may_name_a_session_by_its_key() -> None:
    client = Client()
    await client.chat("hi", headers={"X-Ostiary-Session": "agent:home:main"})
    assert client.engine.submitted[0].session == SessionKey("home", "main")


async def test_images_become_blobs_and_attachments() -> None:
    client = Client()
    picture = {"type": "image_url", "image_url": {"url": PNG}}
    await client.chat({"role": "user", "content": [{"type": "text", "text": "what is this?"}, picture]})
    (submission,) = client.engine.submitted
    (attachment,) = submission.message.attachments
    assert submission.blobs[attachment.digest] == b"\x89PNG\r\n\x1a\n"
    assert (attachment.media_type, attachment.size) == ("image/png", 8)


async def test_images_of_earlier_messages_go_into_the_context() -> None:
    client = Client()
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": PNG}}]}
    await client.chat(picture, {"role": "assistant", "content": "a dot"}, "sure?")
    first = client.engine.submitted[0].context[0]
    assert isinstance(first, content.UserMessage)
    (part,) = first.parts
    assert isinstance(part, Image)
    assert part.digest in client.engine.submitted[0].blobs


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("https://example.org/a.png", "addresses are not fetched"),
        ("data:image/svg+xml;base64,PHN2Zz4=", "expected data:"),
        ("data:image/png;base64,!!!!", "not valid base64"),
        ("data:image/png;base64,AAAA", "not image/png"),
        ("data:image/png;base64," + "A" * 4000, "larger than 1000 bytes"),
    ],
)
async def test_a_bad_image_is_refused_with_its_place(url: str, says: str) -> None:
    client = Client(limits=Limits(image_bytes=1000))
    reply = await client.chat({"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]})
    assert reply.status == 400
    assert reply.error["param"] == "messages[0].content[0].image_url.url"
    assert says in reply.error["message"]


WAITING: dict[str, Any] = {"status": "waiting", "calls": (call(),), "text": ""}
TOOLS = [{"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}}}]


async def test_a_turn_that_waits_for_the_client_finishes_with_tool_calls() -> None:
    client = Client(FakeEngine(lambda engine, submission, item: engine.end(submission, item, **WAITING)))
    reply = await client.chat("look", user="ana", tools=TOOLS)
    (choice,) = reply.json["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    assert choice["message"]["tool_calls"] == [
        {"id": "call_1", "function": {"name": "look", "arguments": "{}"}, "type": "function"}
    ]
    (tool,) = client.engine.submitted[0].client_tools
    assert (tool.name, tool.description) == ("look", "Look.")


async def test_tool_messages_resume_the_turn_of_their_session() -> None:
    client = Client()
    session = SessionKey("main", "api:ana")
    client.engine.open_calls[str(session)] = 5
    client.engine.settle(5, Outcome(turn="t", session=session, status="completed", text="a cat", usage=Usage()))
    asked = {
        "role": "assistant",
        "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    }
    reply = await client.chat("look", asked, {"role": "tool", "tool_call_id": "call_1", "content": "fur"}, user="ana")
    ((answered, (outcome,)),) = client.engine.answers
    assert reply.json["choices"][0]["message"]["content"] == "a cat"
    assert answered == session
    assert (outcome.call_id, outcome.name, outcome.text, outcome.label.trust) == ("call_1", "look", "fur", Trust.UNTRUSTED)
    assert client.engine.submitted == []


async def test_tool_messages_that_answer_nothing_are_refused_in_a_session() -> None:
    client = Client()
    reply = await client.chat({"role": "tool", "tool_call_id": "call_9", "content": "fur"}, user="ana")
    assert (reply.status, reply.error["code"]) == (400, "no_open_calls")


async def test_a_stateless_caller_is_led_back_to_the_turn_that_asked() -> None:
    client = Client(FakeEngine(lambda engine, submission, item: engine.end(submission, item, **WAITING)))
    asked = (await client.chat("look", tools=TOOLS)).json["choices"][0]["message"]
    session = client.engine.submitted[0].session
    client.engine.open_calls[str(session)] = 9
    client.engine.settle(9, Outcome(turn="t", session=SessionKey("main", "x"), status="completed", text="a cat"))
    result = {"role": "tool", "tool_call_id": asked["tool_calls"][0]["id"], "content": "fur"}
    reply = await client.chat("look", asked, result, tools=TOOLS)
    ((answered, (outcome,)),) = client.engine.answers
    assert (answered, outcome.call_id) == (session, "call_1")
    assert reply.json["choices"][0]["message"]["content"] == "a cat"


async def test_stateless_tool_results_of_somebody_elses_calls_are_context() -> None:
    client = Client()
    asked = {
        "role": "assistant",
        "tool_calls": [{"id": "x1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    }
    await client.chat("look", asked, {"role": "tool", "tool_call_id": "x1", "content": "fur"})
    (submission,) = client.engine.submitted
    last = submission.context[-1]
    assert isinstance(last, content.ToolMessage)
    assert [(each.call_id, each.name, each.text) for each in last.outcomes] == [("x1", "look", "fur")]
    calls = submission.context[-2].parts if isinstance(submission.context[-2], content.AssistantMessage) else ()
    assert [part.id for part in calls if isinstance(part, ToolCall)] == ["x1"]


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("rate_limit", 429),
        ("auth", 502),
        ("billing", 402),
        ("context_overflow", 400),
        ("unavailable", 502),
        ("timeout", 504),
        ("", 500),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_failed_turn_answers_with_the_status_its_kind_stands_for(kind: str, status: int, stream: bool) -> None:
    def fail(engine: FakeEngine, submission: Submission, item: int) -> None:
        engine.start(submission, item)
        engine.end(submission, item, status="failed", reason="It broke.", error_kind=kind)

    reply = await Client(FakeEngine(fail)).chat("hi", stream=stream)
    assert (reply.status, reply.error["message"]) == (status, "It broke.")


@pytest.mark.parametrize(
    ("error", "status"), [(Busy("full"), 429), (NotAllowed("no"), 403), (StoreUnavailable("disk full", hint="Make room."), 503)]
)
@pytest.mark.parametrize("stream", [False, True])
async def test_an_engine_that_refuses_is_quoted(error: Exception, status: int, stream: bool) -> None:
    engine = FakeEngine()

    def refuse(submission: Submission) -> Accepted:
        raise error

    engine.accept = refuse
    reply = await Client(engine).chat("hi", stream=stream)
    assert reply.status == status
    assert reply.error["message"].startswith(str(error))


async def test_a_bug_in_the_engine_tells_nothing_of_the_inside() -> None:
    engine = FakeEngine()

    def broken(submission: Submission) -> Accepted:
        raise RuntimeError("secret thing")

    engine.accept = broken
    reply = await Client(engine).chat("hi")
    assert reply.status == 500
    assert "secret" not in reply.body.decode()


async def test_a_turn_that_outlasts_the_request_is_not_cancelled() -> None:
    client = Client(FakeEngine(lambda engine, submission, item: None), limits=Limits(turn_seconds=0.01))
    reply = await client.chat("hi")
    assert (reply.status, reply.error["code"]) == (504, "timeout")
    assert client.engine.stopped == []


@pytest.mark.parametrize(("header", "stopped"), [("(none)", 0), ("false", 0), ("true", 1)])
@pytest.mark.parametrize("stream", [False, True])
async def test_hanging_up_stops_the_turn_only_when_asked_to(header: str, stopped: int, stream: bool) -> None:
    client = Client(FakeEngine(lambda engine, submission, item: client.leave.set()), limits=Limits(turn_seconds=0.05))
    await client.chat("hi", stream=stream, headers={"X-Ostiary-Cancel-On-Disconnect": header})
    assert len(client.engine.stopped) == stopped


async def test_requests_beyond_the_limit_are_told_to_come_back() -> None:
    client = Client(FakeEngine(lambda engine, submission, item: None), limits=Limits(requests=1))
    async with anyio.create_task_group() as group:
        group.start_soon(client.chat, "one")
        await anyio.wait_all_tasks_blocked()
        reply = await client.chat("two")
        group.cancel_scope.cancel()
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
