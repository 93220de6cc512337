"""What every tool promises, whatever it does."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conformance.tools.tools import LIMIT, STRANGER, context, large_workspace, shipped_tools

from ostiary.contracts.errors import ToolError
from ostiary.contracts.tool import Effect, Tool, ToolResult
from ostiary.core.agent.arguments import parse_arguments, validate

TOOLS = shipped_tools(large_workspace())
EVERY = pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS.keys())
GOOD = {
    "read": {"path": "big.md"},
    "ls": {"path": "many"},
    "find": {"glob": "*.md"},
    "grep": {"pattern": "e"},
    "write": {"path": "new/file.md", "content": "hello\n"},
    "edit": {"path": "many/file-with-a-long-name-1.md", "old": "entry", "new": "row"},
    "apply_patch": {"patch": "*** Begin Patch\n*** Update File: many/file-with-a-long-name-1.md\n-entry 1\n+x\n*** End Patch"},
    "session_status": {},
}
JUNK: list[object] = [None, True, 0, -1, 1.5, 10**30, "", "\x00", "../../etc/passwd", "x" * 5000, [], {}, ["a"], {"a": 1}]


async def outcome(tool: Tool, arguments: dict[str, object]) -> ToolResult | ToolError:
    try:
        return await tool.call(arguments, context())
    except ToolError as error:
        return error


@EVERY
def test_its_name_is_one_that_every_provider_accepts(tool: Tool) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]{0,63}", tool.spec.name)


@EVERY
def test_its_description_is_one_short_text(tool: Tool) -> None:
    assert 0 < len(tool.spec.schema.description) <= 200


@EVERY
def test_its_schema_is_closed_and_names_what_it_requires(tool: Tool) -> None:
    schema = tool.spec.schema.parameters
    properties = schema["properties"]
    required = schema.get("required", [])
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert isinstance(properties, dict)
    assert isinstance(required, list)
    assert set(required) <= set(properties)
    assert all("type" in entry or "enum" in entry for entry in properties.values())


@EVERY
def test_its_schema_is_terse(tool: Tool) -> None:
    assert len(json.dumps(dict(tool.spec.schema.parameters))) <= 500


@EVERY
def test_it_declares_what_it_does(tool: Tool) -> None:
    assert tool.spec.effects
    assert tool.spec.effects <= set(Effect)


@EVERY
async def test_good_arguments_fit_the_schema_and_give_a_result(tool: Tool) -> None:
    arguments = GOOD[tool.spec.name]
    assert validate(arguments, tool.spec.schema.parameters) == []
    result = await tool.call(arguments, context())
    assert (bool(result.text), result.is_error) == (True, False)


@EVERY
async def test_what_it_says_is_capped_and_encodable(tool: Tool) -> None:
    result = await tool.call(GOOD[tool.spec.name], context())
    assert len(result.text.encode()) <= LIMIT


@EVERY
async def test_its_result_says_where_it_comes_from(tool: Tool) -> None:
    assert (await tool.call(GOOD[tool.spec.name], context())).label is not None


@EVERY
async def test_the_same_call_gives_the_same_result(tool: Tool) -> None:
    arguments = GOOD[tool.spec.name]
    assert await tool.call(arguments, context()) == await tool.call(arguments, context())


@EVERY
@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: repr(junk)[:20])
async def test_a_bad_value_in_any_argument_is_a_result_or_a_tool_error(tool: Tool, junk: object) -> None:
    names = [*tool.spec.schema.parameters["properties"]]  # type: ignore[misc]
    outcomes = [await outcome(tool, {**GOOD[tool.spec.name], name: junk}) for name in names]
    assert all(isinstance(got, ToolResult | ToolError) and len(str(got)) < 3 * LIMIT for got in outcomes)


@EVERY
async def test_an_argument_nobody_asked_for_is_a_tool_error(tool: Tool) -> None:
    with pytest.raises(ToolError, match="approved"):
        await tool.call({**GOOD[tool.spec.name], "approved": True}, context())


@EVERY
async def test_a_missing_required_argument_is_a_tool_error(tool: Tool) -> None:
    required = tool.spec.schema.parameters.get("required", [])
    outcomes = [await outcome(tool, {}) for _ in required]  # type: ignore[attr-defined]
    assert all(isinstance(got, ToolError) for got in outcomes)


@EVERY
async def test_a_stranger_learns_nothing_of_the_owners_usage(tool: Tool) -> None:
    said = (await tool.call(GOOD[tool.spec.name], STRANGER)).text
    assert not [secret for secret in ("openai/gpt-x", "0.0123", "agent:main:main") if secret in said]


@given(st.sampled_from(sorted(TOOLS)), st.text(max_size=60))
def test_whatever_a_model_writes_is_parsed_or_refused_with_a_tool_error(name: str, written: str) -> None:
    try:
        parsed: object = parse_arguments(written, TOOLS[name].spec.schema.parameters)
    except ToolError:
        parsed = {}
    assert isinstance(parsed, dict)
