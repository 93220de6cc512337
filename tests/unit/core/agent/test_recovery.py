import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostiary.contracts.content import AnswerPart, Label, Text, Thinking, ToolCall, Trust
from ostiary.core.agent import written_calls
from ostiary.core.agent.recovery import recover_calls

LABEL = Label(trust=Trust.UNTRUSTED, sources=("model",))
OFFERED = frozenset({"read", "list_files", "session_status"})
READ = '{"name": "read", "arguments": {"path": "a.txt"}}'
ONE = [("read", {"path": "a.txt"})]


def recover(text: str) -> tuple[AnswerPart, ...]:
    return recover_calls((Text(text=text, label=LABEL),), OFFERED)


def calls(text: str) -> list[tuple[str, object]]:
    return [(part.name, json.loads(part.arguments)) for part in recover(text) if isinstance(part, ToolCall)]


SHAPES = {
    "hermes": f"<tool_call>{READ}</tool_call>",
    "hermes on lines": f"<tool_call>\n{READ}\n</tool_call>",
    "hermes never closed": f"<tool_call>\n{READ}",
    "hermes with a brace forgotten": '<tool_call>{"name": "read", "arguments": {"path": "a.txt"}</tool_call>',
    "tool_use tag": f"<tool_use>{READ}</tool_use>",
    "function_call tag": f"<function_call>{READ}</function_call>",
    "name before arguments": '<tool_call>read\n{"path": "a.txt"}</tool_call>',
    "glm": "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a.txt</arg_value>\n</tool_call>",
    "llama function": '<function=read>{"path": "a.txt"}</function>',
    "qwen coder": "<tool_call>\n<function=read>\n<parameter=path>\na.txt\n</parameter>\n</function>\n</tool_call>",
    "invoke": '<function_calls><invoke name="read"><parameter name="path">a.txt</parameter></invoke></function_calls>',
    "mistral array": f"[TOOL_CALLS] [{READ}]",
    "mistral args": '[TOOL_CALLS]read[ARGS]{"path": "a.txt"}',
    "python tag": '<|python_tag|>{"name": "read", "parameters": {"path": "a.txt"}}',
    "kimi": '<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{"path": "a.txt"}'
    "<|tool_call_end|><|tool_calls_section_end|>",
    "deepseek": '<｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n{"path": "a.txt"}\n```<｜tool▁call▁end｜>',
    "harmony": '<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path": "a.txt"}<|call|>',
    "react": 'Action: read\nAction Input: {"path": "a.txt"}',
    "fenced json": f"```json\n{READ}\n```",
    "fenced without a name": f"```\n{READ}\n```",
    "fenced mark": f"```xml\n<tool_call>{READ}</tool_call>\n```",
    "bare": READ,
    "bare over lines": json.dumps(json.loads(READ), indent=2),
    "openai": '{"type": "function", "function": {"name": "read", "arguments": "{\\"path\\": \\"a.txt\\"}"}}',
    "tool_calls list": f'{{"tool_calls": [{READ}]}}',
    "tool and input": '{"tool": "read", "input": {"path": "a.txt"}}',
    "action and action_input": '{"action": "read", "action_input": {"path": "a.txt"}}',
    "function prefix": '{"name": "functions.read", "arguments": {"path": "a.txt"}}',
    "a comma too many": '{"name": "read", "arguments": {"path": "a.txt",}}',
    "words before": f"Let me look into the file.\n\n<tool_call>{READ}</tool_call>",
    "words on the same line": f"Sure! <tool_call>{READ}</tool_call>",
    "a little around a fence": f"I will read it.\n```json\n{READ}\n```\nOne moment.",
}


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES.keys())
def test_a_call_written_as_text_becomes_a_call(text: str) -> None:
    assert calls(text) == ONE


EXAMPLES = {
    "no such tool": '<tool_call>{"name": "rm_rf", "arguments": {"path": "/"}}</tool_call>',
    "no such tool in a fence": '```json\n{"name": "rm_rf", "arguments": {}}\n```',
    "an explanation of the shape": f"Models call tools in this format:\n```json\n{READ}\n```\nThe name comes first.",
    "an example": f"For example:\n\n<tool_call>{READ}</tool_call>\n\nThat reads a file.",
    "in the middle of a sentence": f"I wrote <tool_call>{READ}</tool_call> because you asked about tool calls.",
    "inline code": f"The model answered `<tool_call>{READ}</tool_call>`",
    "quoted mail": f"> <tool_call>{READ}</tool_call>\n\nThat is what the stranger sent.",
    "inside a longer code block": f"```python\nanswer = ask()\n<tool_call>{READ}</tool_call>\nprint(answer)\n```",
    "long prose around json": f"{'The history of files is long. ' * 20}\n```json\n{READ}\n```",
    "data that happens to have a name": '{"name": "read", "version": 3}',
    "a list of which one is no call": f'[{READ}, {{"name": "read"}}]',
    "another code block beside it": f"```python\nprint(1)\n```\n```json\n{READ}\n```",
    "json within a line": f"The answer was {READ} and nothing else.",
    "plain words": "Hello! Use { and < as you like.",
    "truncated in the arguments": '<tool_call>{"name": "read", "arguments": {"path": "a.t',
    "arguments that are no object": '<tool_call>{"name": "read", "arguments": [1]}</tool_call>',
    "empty": "",
}


@pytest.mark.parametrize("text", EXAMPLES.values(), ids=EXAMPLES.keys())
def test_what_is_only_talked_about_is_left_as_it_is(text: str) -> None:
    parts = (Text(text=text, label=LABEL),)
    assert recover_calls(parts, OFFERED) is parts


def test_words_around_a_call_are_kept_in_order_with_their_label() -> None:
    found = recover(f"First this.\n<tool_call>{READ}</tool_call>\nThen that.\n<tool_call>{READ}</tool_call>")
    assert [part.kind for part in found] == ["text", "tool_call", "text", "tool_call"]
    assert found[0] == Text(text="First this.", label=LABEL)
    assert found[2] == Text(text="Then that.", label=LABEL)


def test_several_calls_in_one_answer_are_all_taken() -> None:
    other = '{"name": "list_files", "arguments": {}}'
    expected = [*ONE, ("list_files", {})]
    assert calls(f"<tool_call>{READ}</tool_call>\n<tool_call>{other}</tool_call>") == expected
    assert calls(f"```json\n[{READ}, {other}]\n```") == expected
    assert calls(f"{READ}\n{other}") == expected
    assert calls(f"<tool_call>\n{READ}\n{other}\n</tool_call>") == expected


def test_a_marked_call_needs_no_arguments() -> None:
    assert calls('<tool_call>{"name": "session_status"}</tool_call>') == [("session_status", {})]


def test_parameters_in_tags_keep_their_types() -> None:
    text = "<parameter=path>a b.txt</parameter><parameter=limit>5</parameter><parameter=all>true</parameter>"
    assert calls(f"<function=read>{text}</function>") == [("read", {"path": "a b.txt", "limit": 5, "all": True})]


def test_arguments_may_hold_the_closing_mark_of_nothing() -> None:
    assert calls('{"name": "read", "arguments": {"path": "a}]{\\"b.txt"}}') == [("read", {"path": 'a}]{"b.txt'})]


def test_a_hundred_calls_are_cut_to_a_bound() -> None:
    assert len(calls(f"<tool_call>{READ}</tool_call>\n" * 100)) == 32


def test_thinking_and_real_calls_are_not_touched() -> None:
    thought = Thinking(text=f"<tool_call>{READ}</tool_call>")
    real = ToolCall(id="1", name="read", arguments="{}")
    assert recover_calls((thought, real), OFFERED) == (thought, real)


def test_nothing_is_recovered_when_nothing_was_offered() -> None:
    parts = (Text(text=READ, label=LABEL),)
    assert recover_calls(parts, frozenset()) is parts


def test_half_a_surrogate_pair_can_still_be_stored() -> None:
    [call] = recover('{"name": "read", "arguments": {"path": "\\ud800"}}')
    assert isinstance(call, ToolCall)
    assert call.arguments.encode() == b'{"path": "\\ud800"}'


FRAGMENTS = [
    *SHAPES.values(),
    *EXAMPLES.values(),
    "<tool_call>",
    "</tool_call>",
    "<function=read>",
    "<parameter=path>",
    "[TOOL_CALLS]",
    "```",
    "```json\n",
    "\n",
    "{",
    "}",
    "[",
    '"',
    "\\",
    '{"name": "read", "arguments": ',
    "Action: read\nAction Input: ",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=20), max_size=12))
def test_no_text_makes_it_raise_or_call_what_was_not_offered(fragments: list[str]) -> None:
    found = recover("".join(fragments))
    assert {part.name for part in found if isinstance(part, ToolCall)} <= OFFERED
    assert all(isinstance(json.loads(part.arguments), dict) for part in found if isinstance(part, ToolCall))


HOSTILE = {
    "open tags": "<tool_call>",
    "open braces": "{",
    "open brackets on lines": "[\n",
    "nested objects": '{"a":',
    "pairs in an open object": "{}",
    "escaped quotes": '\\"',
    "calls cut short": '<tool_call>{"name": "read", "arguments": {"a": "',
    "nested tags": "<tool_calls><tool_call><tool_use><function_call><tool>",
    "closed nested tags": "<tool_calls><tool_call><tool></tool></tool_call></tool_calls>",
    "fences": "```\n",
    "backticks": "`",
    "functions": "<function=read><parameter=a>",
    "react": "Action: read\nAction Input: {",
    "calls": f"<tool_call>{READ}</tool_call>\n",
    "json calls": f"{READ}\n",
    "commas": '{"a": 1,   ',
    "spaces": " ",
}


class CountingPattern:
    """Counts the characters that a pattern was let loose on."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern = pattern
        self.steps = 0

    def finditer(self, text: str, start: int, end: int):  # type: ignore[no-untyped-def]
        for token in self.pattern.finditer(text, start, end):
            self.steps += len(token[0])
            yield token


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_work_grows_no_faster_than_the_text(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = CountingPattern(written_calls._STRUCTURE)
    monkeypatch.setattr(written_calls, "_STRUCTURE", pattern)
    text = '{"' + unit * (100_000 // len(unit) - 1)
    recover(text[:100_000])
    recover(text[2:100_000])
    assert pattern.steps <= 40 * 100_000
