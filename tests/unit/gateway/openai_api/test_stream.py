import anyio
import pytest

from ostiary.contracts.engine import Submission
from ostiary.contracts.events import ApprovalAnswered, ApprovalAsked, Steered, ToolIntended, TurnInput, TurnSuspended
from ostiary.gateway.limits import Limits
from tests.unit.gateway.fakes import Client, FakeEngine, Play, call


async def test_a_stream_opens_says_its_words_finishes_and_is_done() -> None:
    reply = await Client().chat("hi", stream=True, stream_options={"include_usage": True})
    opening, word, finish, usage = reply.chunks
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert opening["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert word["choices"][0]["delta"] == {"content": "hello"}
    assert finish["choices"][0]["finish_reason"] == "stop"
    assert (usage["choices"], usage["usage"]["total_tokens"]) == ([], 9)
    assert {chunk["object"] for chunk in reply.chunks} == {"chat.completion.chunk"}
    assert len({chunk["id"] for chunk in reply.chunks}) == 1
    assert reply.body.endswith(b"data: [DONE]\n\n")


async def test_words_that_are_ready_together_leave_in_one_write() -> None:
    def burst(engine: FakeEngine, submission: Submission, item: int) -> None:
        engine.start(submission, item)
        for place in range(50):
            engine.delta(submission, "a", offset=place)
        engine.end(submission, item, text="a" * 50)

    reply = await Client(FakeEngine(burst)).chat("hi", stream=True)
    assert reply.text == "a" * 50
    assert len(reply.writes) <= 3


def play(*deltas: tuple[int, int, int, str], text: str) -> Play:
    def turn(engine: FakeEngine, submission: Submission, item: int) -> None:
        engine.start(submission, item)
        for step, attempt, offset, piece in deltas:
            engine.delta(submission, piece, step=step, attempt=attempt, offset=offset)
        engine.end(submission, item, text=text)

    return turn


@pytest.mark.parametrize(
    ("turn", "text", "restarts"),
    [
        (play((1, 1, 0, "Hel"), (1, 2, 0, "Hello"), text="Hello"), "Hello", 0),
        (play((1, 1, 0, "Hel"), (1, 2, 0, "H"), (1, 2, 1, "ello"), text="Hello"), "Hello", 0),
        (play((1, 1, 0, "Hel"), (1, 2, 0, "Bonjour"), text="Bonjour"), "Hel\n\nBonjour", 1),
        (play((1, 1, 0, "Hel"), (1, 2, 0, "He"), (1, 2, 2, "aven"), text="Heaven"), "Hel\n\nHeaven", 1),
        (play((1, 2, 0, "new"), (1, 1, 0, "stale"), text="new"), "new", 0),
        (play((1, 1, 0, "Let me look."), (2, 1, 0, "A cat."), text="A cat."), "Let me look.\n\nA cat.", 0),
        (play((1, 1, 0, "one "), (1, 1, 8, "three"), text="one two three"), "one two three", 0),
        (play(text="said only at the end"), "said only at the end", 0),
        (play((1, 1, 0, "draft"), text="final"), "draft\n\nfinal", 1),
        (play((1, 1, 0, "kept"), text=""), "kept", 0),
    ],
)
async def test_every_word_is_said_once_whatever_the_attempts(turn: Play, text: str, restarts: int) -> None:
    reply = await Client(FakeEngine(turn)).chat("hi", stream=True)
    assert reply.text == text
    assert sum(bool(chunk.get("ostiary", {}).get("restarted")) for chunk in reply.chunks) == restarts


async def test_only_the_turn_that_took_the_message_is_streamed() -> None:
    def busy(engine: FakeEngine, submission: Submission, item: int) -> None:
        engine.delta(submission, "somebody else's answer", turn="turn_0")
        engine.say(submission, item, "mine")

    reply = await Client(FakeEngine(busy)).chat("hi", stream=True, user="ana")
    assert reply.text == "mine"


async def test_a_message_that_steered_a_running_turn_hears_the_rest_of_it() -> None:
    def steer(engine: FakeEngine, submission: Submission, item: int) -> None:
        engine.delta(submission, "before", turn="turn_1")
        engine.record(submission.session, "turn_1", Steered(inputs=(TurnInput(item=item, parts=(), at=0.0),)))
        engine.delta(submission, "after", turn="turn_1", step=2)
        engine.end(submission, item, text="after")

    reply = await Client(FakeEngine(steer)).chat("hi", stream=True, user="ana")
    assert reply.text == "after"


async def test_client_calls_are_streamed_and_finish_the_answer() -> None:
    def wait(engine: FakeEngine, submission: Submission, item: int) -> None:
        engine.start(submission, item)
        engine.end(submission, item, status="waiting", calls=(call(),))

    reply = await Client(FakeEngine(wait)).chat("hi", stream=True, user="ana")
    deltas = [chunk["choices"][0] for chunk in reply.chunks]
    assert deltas[1]["delta"]["tool_calls"] == [
        {"index": 0, "id": "call_1", "function": {"name": "look", "arguments": "{}"}, "type": "function"}
    ]
    assert deltas[2]["finish_reason"] == "tool_calls"


async def test_an_answer_cut_by_its_length_says_so() -> None:
    client = Client(FakeEngine(lambda engine, submission, item: engine.say(submission, item, "lo", stop="length")))
    reply = await client.chat("hi", stream=True)
    assert reply.chunks[-1]["choices"][0]["finish_reason"] == "length"


async def test_a_failure_in_mid_answer_is_an_error_event() -> None:
    def fail(engine: FakeEngine, submission: Submission, item: int) -> None:
        engine.start(submission, item)
        engine.delta(submission, "so far")
        engine.end(submission, item, status="failed", reason="It broke.", error_kind="unavailable")

    reply = await Client(FakeEngine(fail)).chat("hi", stream=True)
    assert reply.status == 200
    assert reply.text == "so far"
    assert reply.chunks[-1]["error"]["message"] == "It broke."
    assert reply.body.endswith(b"data: [DONE]\n\n")


async def test_a_silent_stream_is_kept_awake() -> None:
    client = Client(FakeEngine(lambda engine, submission, item: None), limits=Limits(keep_alive_seconds=0.001, turn_seconds=0.05))
    reply = await client.chat("hi", stream=True)
    assert reply.body.startswith(b": keep-alive\n\n")
    assert reply.chunks[-1]["error"]["code"] == "timeout"


@pytest.mark.parametrize(("header", "seen"), [("true", ["clock"]), ("(none)", [])])
async def test_tools_are_named_only_to_screens_that_ask(header: str, seen: list[str]) -> None:
    def use(engine: FakeEngine, submission: Submission, item: int) -> None:
        engine.start(submission, item)
        intended = ToolIntended(call_id="1", name="clock", arguments="{}", call_key="k", repeatable=True, layer="x")
        engine.record(submission.session, "turn_1", intended)
        engine.end(submission, item, text="noon")

    reply = await Client(FakeEngine(use)).chat("hi", stream=True, headers={"X-Ostiary-Detail": header})
    assert [chunk["ostiary"]["tool"] for chunk in reply.chunks if "tool" in chunk.get("ostiary", {})] == seen


async def test_a_turn_that_waits_for_a_person_keeps_its_stream_until_it_is_answered_or_lapses() -> None:
    def wait(engine: FakeEngine, submission: Submission, item: int) -> None:
        engine.start(submission, item)
        asked = ApprovalAsked(
            approval="abcd", call_id="1", name="exec", digest="d", layers=("confirm",), reason="it runs", deadline=9.0
        )
        engine.record(submission.session, "turn_1", asked)
        engine.record(submission.session, "turn_1", TurnSuspended(waiting_for="approval", call_ids=("1",)))

    engine = FakeEngine(wait)
    client = Client(engine, limits=Limits(keep_alive_seconds=5.0, turn_seconds=5.0))
    replies = []

    async def ask() -> None:
        replies.append(await client.chat("hi", stream=True))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        lapsed = ApprovalAnswered(approval="abcd", call_id="1", answer="expired")
        engine.record(engine.submitted[0].session, "turn_1", lapsed)
        engine.delta(engine.submitted[0], "Nobody answered.", step=2)
        engine.end(engine.submitted[0], 1, text="Nobody answered.")
    (reply,) = replies
    assert reply.body.startswith(b": waiting for a person, abcd\n\n")
    assert (reply.text, reply.status) == ("Nobody answered.", 200)


async def test_a_resumed_turn_is_streamed_without_a_start() -> None:
    client = Client()
    key = "agent:main:api:ana"
    client.engine.open_calls[key] = 5
    replies = []

    async def ask() -> None:
        replies.append(await client.chat({"role": "tool", "tool_call_id": "c", "content": "fur"}, user="ana", stream=True))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        submission = client.engine.resumed(key)
        client.engine.delta(submission, "a cat")
        client.engine.end(submission, 5, text="a cat")
    assert replies[0].text == "a cat"
