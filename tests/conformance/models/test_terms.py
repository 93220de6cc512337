"""What binds an answer: its form, and which tools it must call. Each server checks that the terms are in its own words."""

from typing import Any

import pytest

from ostiary.contracts.content import ToolCall
from ostiary.contracts.errors import ModelRejected
from ostiary.contracts.model import AnswerForm, ModelRef, ToolChoice
from ostiary.kit.model_servers import Call, Reply, say
from tests.conformance.models.conftest import REF, Rig
from tests.conformance.models.test_answers import NOTHING, READ

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "number"}},
    "required": ["city", "degrees"],
    "additionalProperties": False,
}
WEATHER = AnswerForm(schema=SCHEMA, name="weather", strict=True)
ANY_JSON = AnswerForm()
JSON = '{"city": "Bern", "degrees": 9}'
CALL = Reply(parts=(Call(id="call_a", name="read", pieces=('{"path":"a"}',), proof="p"),), stop="tool_calls")
TOOLS = (READ, NOTHING)
NEWER = ModelRef("kit", "gemini-3-pro")

FORMS: dict[str, tuple[str, Any]] = {
    "openai-completions": (
        "response_format",
        {"type": "json_schema", "json_schema": {"name": "weather", "schema": SCHEMA, "strict": True}},
    ),
    "openai-responses": ("text", {"format": {"type": "json_schema", "name": "weather", "schema": SCHEMA, "strict": True}}),
    "anthropic-messages": ("output_config", {"format": {"type": "json_schema", "schema": SCHEMA}}),
    "ollama": ("format", SCHEMA),
}
REQUIRED: dict[str, Any] = {
    "openai-completions": ["required", {"type": "function", "function": {"name": "read"}}, "none"],
    "openai-responses": ["required", {"type": "function", "name": "read"}, "none"],
    "anthropic-messages": [{"type": "any"}, {"type": "tool", "name": "read"}, {"type": "none"}],
}
CHOICES = [ToolChoice(mode="required"), ToolChoice(mode="required", tool="read"), ToolChoice(mode="none")]


async def test_an_answer_in_the_form_of_a_schema_is_asked_for_in_the_providers_words(rig: Rig) -> None:
    rig.server.script(say(JSON))
    answered = await rig.answer("In JSON, please.", form=WEATHER)
    assert [part.text for part in answered.parts] == [JSON]
    field, value = FORMS.get(rig.api, ("generationConfig", None))
    sent = rig.last[field]
    assert sent == (value or {"responseMimeType": "application/json", "responseSchema": sent["responseSchema"]})


async def test_a_form_next_to_tools_is_taken_by_the_provider(rig: Rig) -> None:
    rig.server.script(say(JSON))
    assert (await rig.answer("In JSON, please.", form=WEATHER, tools=TOOLS)).stop == "stop"


@pytest.mark.parametrize("rig", ["openai-completions", "openai-responses", "google-generative-ai", "ollama"], indirect=True)
async def test_any_json_can_be_asked_for(rig: Rig) -> None:
    rig.server.script(say(JSON))
    assert (await rig.answer("In JSON, please.", form=ANY_JSON)).stop == "stop"


@pytest.mark.parametrize("rig", ["anthropic-messages"], indirect=True)
async def test_any_json_is_refused_by_name_where_a_schema_is_needed(rig: Rig) -> None:
    with pytest.raises(ModelRejected, match=r"^response_format: "):
        await rig.answer(form=ANY_JSON)
    assert not rig.server.requests


@pytest.mark.parametrize("rig", list(REQUIRED), indirect=True)
async def test_calls_are_demanded_and_forbidden_in_the_providers_words(rig: Rig) -> None:
    rig.server.script(CALL, CALL, say("no call"))
    for choice in CHOICES:
        await rig.answer(tools=TOOLS, tool_choice=choice)
    assert [asked.body["tool_choice"] for asked in rig.server.requests] == REQUIRED[rig.api]


@pytest.mark.parametrize("rig", ["google-generative-ai"], indirect=True)
async def test_gemini_is_told_by_its_calling_config(rig: Rig) -> None:
    rig.server.script(CALL, CALL, say("no call"))
    for choice in CHOICES:
        await rig.answer(tools=TOOLS, tool_choice=choice)
    told = [asked.body["toolConfig"]["functionCallingConfig"] for asked in rig.server.requests]
    assert told == [{"mode": "ANY"}, {"mode": "ANY", "allowedFunctionNames": ["read"]}, {"mode": "NONE"}]


@pytest.mark.parametrize("rig", ["google-generative-ai"], indirect=True)
async def test_a_newer_gemini_takes_functions_next_to_a_form(rig: Rig) -> None:
    rig.server.script(CALL)
    answered = await rig.answer("In JSON.", ref=NEWER, form=WEATHER, tools=TOOLS, tool_choice=ToolChoice(mode="required"))
    assert [type(part) for part in answered.parts] == [ToolCall]


@pytest.mark.parametrize("rig", ["google-generative-ai"], indirect=True)
async def test_an_older_gemini_refuses_to_be_made_to_call_next_to_a_form(rig: Rig) -> None:
    with pytest.raises(ModelRejected, match=r"^tool_choice: "):
        await rig.answer(form=WEATHER, tools=TOOLS, tool_choice=ToolChoice(mode="required"))


@pytest.mark.parametrize("rig", ["ollama"], indirect=True)
@pytest.mark.parametrize("choice", CHOICES[:2])
async def test_a_server_that_cannot_be_made_to_call_says_so_by_name(rig: Rig, choice: ToolChoice) -> None:
    with pytest.raises(ModelRejected, match=r"^tool_choice: "):
        await rig.answer(tools=TOOLS, tool_choice=choice)


@pytest.mark.parametrize("rig", ["ollama"], indirect=True)
async def test_where_calls_cannot_be_forbidden_no_tool_is_offered(rig: Rig) -> None:
    rig.server.script(say("no call"))
    await rig.answer(tools=TOOLS, tool_choice=ToolChoice(mode="none"))
    assert "tools" not in rig.last


@pytest.mark.parametrize("rig", ["openai-completions", "openai-responses"], indirect=True)
async def test_one_call_at_a_time_is_asked_for(rig: Rig) -> None:
    rig.server.script(CALL, say("no tools"))
    await rig.answer(tools=TOOLS, parallel_calls=False)
    assert rig.last["parallel_tool_calls"] is False
    await rig.answer(parallel_calls=False)
    assert "parallel_tool_calls" not in rig.last


@pytest.mark.parametrize("rig", ["anthropic-messages"], indirect=True)
async def test_claude_is_told_to_call_one_at_a_time_by_the_tool_choice(rig: Rig) -> None:
    rig.server.script(CALL, CALL)
    await rig.answer(tools=TOOLS, parallel_calls=False)
    assert rig.last["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    await rig.answer(tools=TOOLS, parallel_calls=False, tool_choice=ToolChoice(mode="required"))
    assert rig.last["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}


@pytest.mark.parametrize("rig", ["google-generative-ai", "ollama"], indirect=True)
async def test_one_call_at_a_time_is_refused_by_name_where_it_cannot_be_had(rig: Rig) -> None:
    with pytest.raises(ModelRejected, match=r"^parallel_tool_calls: "):
        await rig.answer(tools=TOOLS, parallel_calls=False)
    assert not rig.server.requests


@pytest.mark.parametrize("rig", ["anthropic-messages"], indirect=True)
@pytest.mark.parametrize("ref", [REF, ModelRef("kit", "claude-sonnet-5")])
async def test_claude_does_not_think_where_it_is_made_to_call(rig: Rig, ref: ModelRef) -> None:
    rig.server.script(CALL, say(JSON))
    await rig.answer(tools=TOOLS, ref=ref, thinking="high", tool_choice=ToolChoice(mode="required"))
    assert rig.last.get("thinking", {}).get("type") not in ("enabled", "adaptive")
    await rig.answer(ref=ref, thinking="high", form=WEATHER)
    assert rig.last["output_config"]["format"]["schema"] == SCHEMA


async def test_nothing_is_sent_of_terms_that_nobody_set(rig: Rig) -> None:
    rig.server.script(say("hi"))
    await rig.answer(tools=TOOLS)
    terms = {"response_format", "text", "format", "tool_choice", "parallel_tool_calls", "toolConfig", "output_config"}
    assert not terms & rig.last.keys()
