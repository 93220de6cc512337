from typing import Any

import pytest

from ostiary.contracts.engine import Submission
from tests.unit.gateway.fakes import FakeEngine, call
from tests.unit.gateway.openai_api.pages import Pages


async def test_a_response_has_the_shape_that_openai_clients_read() -> None:
    body = await Pages().respond(instructions="Be brief.")
    assert (body["object"], body["status"], body["error"], body["incomplete_details"]) == ("response", "completed", None, None)
    (message,) = body["output"]
    assert (message["type"], message["role"], message["status"]) == ("message", "assistant", "completed")
    assert message["content"] == [{"type": "output_text", "text": "hello", "annotations": [], "logprobs": []}]
    assert body["usage"]["total_tokens"] == 9


async def test_instructions_come_before_those_among_the_items() -> None:
    pages = Pages()
    items = [{"role": "system", "content": "two"}, {"role": "user", "content": "hi"}]
    await pages.respond(instructions="one", input=items)
    assert pages.engine.submitted[0].instructions == "one\n\ntwo"


async def test_effort_and_limits_bind_the_turn() -> None:
    pages = Pages()
    await pages.respond(reasoning={"effort": "high"}, max_output_tokens=50, temperature=0.1)
    (submission,) = pages.engine.submitted
    assert (submission.directives, submission.max_tokens, submission.temperature) == ({"thinking": "high"}, 50, 0.1)


async def test_calls_among_the_items_belong_to_the_step_that_made_them() -> None:
    pages = Pages()
    items: Any = [
        {"role": "user", "content": "look twice"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Looking."}]},
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "fur"},
        {"type": "function_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "tail"}]},
        {"role": "user", "content": "well?"},
    ]
    await pages.respond(input=items)
    asked, answered, results = pages.engine.submitted[0].context
    assert [part.kind for part in answered.parts] == ["text", "tool_call", "tool_call"]  # type: ignore[union-attr]
    assert [(each.name, each.text) for each in results.outcomes] == [("look", "fur"), ("look", "tail")]  # type: ignore[union-attr]
    assert asked.role == "user"


def restarts(engine: FakeEngine, submission: Submission, item: int) -> None:
    engine.start(submission, item)
    engine.delta(submission, "wrong")
    engine.delta(submission, "right", attempt=2)
    engine.end(submission, item, text="right")


async def test_an_attempt_that_is_void_is_an_incomplete_item_and_not_in_the_response() -> None:
    events = await Pages(FakeEngine(restarts)).events()
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert [(item["status"], item["content"][0]["text"]) for item in done] == [("incomplete", "wrong"), ("completed", "right")]
    assert [event["output_index"] for event in events if event["type"] == "response.output_item.added"] == [0, 1]
    assert events[-1]["response"]["output"] == [done[1]]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


async def test_every_event_of_an_item_names_it() -> None:
    events = await Pages().events()
    item = next(event["item"]["id"] for event in events if event["type"] == "response.output_item.added")
    inside = [event for event in events if "content_index" in event]
    assert {event["item_id"] for event in inside} == {item}
    assert len({event["response"]["id"] for event in events if "response" in event}) == 1


async def test_calls_are_items_of_their_own_after_what_was_said() -> None:
    def asks(engine: FakeEngine, submission: Submission, item: int) -> None:
        engine.start(submission, item)
        engine.delta(submission, "Let me look.")
        engine.end(submission, item, status="waiting", text="Let me look.", calls=(call("a"), call("b", arguments='{"x":1}')))

    events = await Pages(FakeEngine(asks)).events()
    output = events[-1]["response"]["output"]
    assert [(each["type"], each.get("arguments")) for each in output] == [
        ("message", None),
        ("function_call", "{}"),
        ("function_call", '{"x":1}'),
    ]
    assert len({each["id"] for each in output}) == 3


async def test_a_turn_that_fails_before_it_says_anything_is_an_http_error() -> None:
    def fails(engine: FakeEngine, submission: Submission, item: int) -> None:
        engine.start(submission, item)
        engine.end(submission, item, status="failed", reason="It broke.", error_kind="unavailable")

    status, body = await Pages(FakeEngine(fails)).call("POST", "/v1/responses", {"input": "hi", "stream": True})
    assert (status, b"It broke." in body) == (502, True)


async def test_a_turn_that_fails_afterwards_is_a_failed_response() -> None:
    def fails(engine: FakeEngine, submission: Submission, item: int) -> None:
        engine.start(submission, item)
        engine.delta(submission, "so far")
        engine.end(submission, item, status="failed", reason="It broke.", error_kind="unavailable")

    last = (await Pages(FakeEngine(fails)).events())[-1]
    assert (last["type"], last["response"]["status"]) == ("response.failed", "failed")
    assert last["response"]["error"] == {"code": "provider_unavailable", "message": "It broke."}
    assert last["response"]["output"][0]["status"] == "incomplete"


@pytest.mark.parametrize(("stop", "reason"), [("length", "max_output_tokens"), ("refusal", "content_filter")])
async def test_an_answer_that_was_cut_is_incomplete(stop: str, reason: str) -> None:
    pages = Pages(FakeEngine(lambda engine, submission, item: engine.say(submission, item, "lo", stop=stop)))
    body = await pages.respond()
    assert (body["status"], body["incomplete_details"]) == ("incomplete", {"reason": reason})
    assert (await pages.events())[-1]["type"] == "response.incomplete"


async def test_an_empty_answer_is_still_a_message() -> None:
    def silent(engine: FakeEngine, submission: Submission, item: int) -> None:
        engine.start(submission, item)
        engine.end(submission, item, text="")

    events = await Pages(FakeEngine(silent)).events()
    assert events[-1]["response"]["output"][0]["content"][0]["text"] == ""
