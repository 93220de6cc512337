import json
from typing import Any

import pytest

from ostiary.gateway.protocol import frames
from ostiary.gateway.protocol.errors import MethodError
from ostiary.gateway.protocol.frames import answer, decode, event_frame, event_head, refusal

CASES = {
    "not JSON": "{",
    "an array": "[]",
    "a number": "7",
    "null": "null",
    "no type": '{"id":"1","method":"health"}',
    "another type": '{"type":"event","id":"1","method":"health"}',
    "no id": '{"type":"req","method":"health"}',
    "an empty id": '{"type":"req","id":"","method":"health"}',
    "an id that is no text": '{"type":"req","id":1,"method":"health"}',
    "an id that never ends": json.dumps({"type": "req", "id": "x" * 129, "method": "health"}),
    "no method": '{"type":"req","id":"1"}',
    "a field nobody knows": '{"type":"req","id":"1","method":"health","token":"x"}',
    "nothing": "",
    "two objects": '{"type":"req","id":"1","method":"health"}{}',
    "a lone surrogate": '{"type":"req","id":"\\ud800","method":"health"',
    "nesting without end": '{"type":"req","id":"1","method":"health","params":' + "[" * 100_000,
    "deep nesting that is whole": '{"type":"req","id":"1","method":"health","params":' + "[" * 50_000 + "]" * 50_000 + "}",
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_what_is_no_request_frame_is_refused_as_one(text: str) -> None:
    with pytest.raises(MethodError) as refused:
        decode(text)
    assert refused.value.code == "BAD_FRAME"


def test_a_frame_without_params_has_none() -> None:
    frame = decode('{"type":"req","id":"1","method":"health"}')
    assert (frame.id, frame.method, bytes(frame.params)) == ("1", "health", b"{}")


def test_the_id_of_a_bad_frame_is_told_where_it_can_be() -> None:
    with pytest.raises(MethodError) as refused:
        decode('{"type":"req","id":"mine","method":7}')
    assert refused.value.details == {"id": "mine"}


def test_bytes_that_are_not_utf_8_are_refused() -> None:
    with pytest.raises(MethodError):
        decode(b'{"type":"req","id":"\xff","method":"health"}')


def test_a_response_carries_the_id_whatever_it_holds() -> None:
    assert json.loads(answer('"}\n<', b'{"ok":true}')) == {"type": "res", "id": '"}\n<', "ok": True, "payload": {"ok": True}}


def test_a_refusal_leaves_out_what_it_does_not_know() -> None:
    frame: Any = json.loads(refusal("1", MethodError("BUSY", "Later.", retry_after_ms=5)))
    assert frame == {"type": "res", "id": "1", "ok": False, "error": {"code": "BUSY", "message": "Later.", "retryAfterMs": 5}}


def test_an_event_is_one_head_with_a_number_of_its_own() -> None:
    head = event_head("presence", b'{"presence":[]}', b'{"presence":2,"health":1}')
    frame = json.loads(event_frame(head, 12))
    assert frame == {
        "type": "event",
        "event": "presence",
        "payload": {"presence": []},
        "stateVersion": {"presence": 2, "health": 1},
        "seq": 12,
    }


def test_the_challenge_is_not_counted() -> None:
    assert "seq" not in json.loads(frames.unnumbered_event("connect.challenge", b'{"nonce":"n","ts":1}'))
