import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.cli.transcript import read, write
from ostiary.contracts.content import (
    AssistantMessage,
    Label,
    Message,
    Text,
    ToolCall,
    ToolMessage,
    ToolOutcome,
    Trust,
    UserMessage,
)
from ostiary.contracts.errors import BadInput

LABEL = Label(trust=Trust.OWNER)
TALK: list[Message] = [
    UserMessage(parts=(Text(text="what time is it?", label=LABEL),)),
    AssistantMessage(
        parts=(Text(text="Let me look.", label=LABEL), ToolCall(id="c1", name="clock", arguments='{"zone":"UTC"}')), model="a/b"
    ),
    ToolMessage(outcomes=(ToolOutcome(call_id="c1", name="clock", text="noon", is_error=False, label=LABEL),)),
    AssistantMessage(parts=(Text(text="Noon.", label=LABEL),)),
]


def test_what_is_written_reads_back_the_same_but_untrusted() -> None:
    found = read(list(write("agent:main:main", TALK)), "x.jsonl")
    again = read(list(write("agent:main:main", found.messages)), "x.jsonl")
    user, call, result, answer = found.messages
    assert list(write("k", again.messages)) == list(write("k", TALK))
    assert isinstance(user, UserMessage)
    assert user.parts[0].label.trust is Trust.UNTRUSTED
    assert isinstance(call, AssistantMessage)
    assert call.parts[1] == ToolCall(id="c1", name="clock", arguments='{"zone":"UTC"}')
    assert isinstance(result, ToolMessage)
    assert isinstance(answer, AssistantMessage)


def test_another_assistants_export_is_understood() -> None:
    lines = [
        json.dumps({"type": "session", "id": "1"}),
        json.dumps({"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "hi"}]}}),
        json.dumps(
            {
                "type": "message",
                "message": {
                    "role": "assistant",
                    "content": [{"type": "toolCall", "id": "t", "name": "ls", "arguments": {"a": 1}}],
                },
            }
        ),
        json.dumps(
            {
                "type": "message",
                "message": {"role": "toolResult", "toolCallId": "t", "toolName": "ls", "content": "x", "isError": True},
            }
        ),
    ]
    user, call, result = read(lines, "old.jsonl").messages
    assert isinstance(call, AssistantMessage)
    assert call.parts == (ToolCall(id="t", name="ls", arguments='{"a": 1}'),)
    assert isinstance(result, ToolMessage)
    assert (result.outcomes[0].name, result.outcomes[0].is_error) == ("ls", True)
    assert isinstance(user, UserMessage)


def test_a_cut_last_line_is_left_out_and_said() -> None:
    found = read(['{"role": "user", "content": "hi"}', '{"role": "assis'], "x")
    assert len(found.messages) == 1
    assert found.notes == ("line 2 is not JSON and was left out",)


@pytest.mark.parametrize("lines", [[], ["nonsense"], ['{"a": 1}'], ['{"type": "ostiary-transcript", "version": 9}']])
def test_what_is_no_transcript_is_refused(lines: list[str]) -> None:
    with pytest.raises(BadInput):
        read(lines, "x")


JSON = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.sampled_from(["user", "assistant", "tool"]), JSON, JSON, JSON)
def test_no_shape_of_a_message_breaks_the_reader(role: str, content: object, calls: object, name: object) -> None:
    entry = {"role": role, "content": content, "tool_calls": calls, "tool_call_id": name, "name": name, "model": name}
    found = read([json.dumps(entry), '{"role": "user", "content": "end"}'], "x")
    assert found.messages
