"""What every tool promises, whatever it does."""

import json
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conformance.tools.acting import GOOD, one_tool, quiet_tools
from tests.conformance.tools.tools import LIMIT, STRANGER, context

from ostiary.adapters import tools
from ostiary.contracts.errors import ToolError
from ostiary.contracts.tool import Binding, Effect, Tool, ToolResult
from ostiary.core.agent.arguments import parse_arguments, validate

QUIET = quiet_tools()
_DEEP: object = []
for _ in range(200):
    _DEEP = [_DEEP]
JUNK: list[object] = [
    *(None, True, 0, -1, 1.5, 10**30, float("nan"), float("-inf")),
    *("", " ", "\x00", "a\x00b", "\ud800", "..", "../../etc/passwd", "/", "~/.ssh/id_rsa", "\r\n\r\n", "{port}", "%00"),
    *("http://[::1", "http://169.254.169.254/latest/meta-data", "file:///etc/passwd", "x" * 5000, "é" * 200_000),
    *([], {}, ["a"], {"a": 1}, {"a": {"b": ["c", {"d": None}]}}, _DEEP),
]


class Shipped(NamedTuple):
    """A tool and arguments that are good for it."""

    tool: Tool
    good: dict[str, object]


@pytest.fixture(params=GOOD)
async def shipped(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Shipped]:
    async with one_tool(request.param, tmp_path) as (tool, good):
        yield Shipped(tool, good)


@pytest.fixture
def tool(shipped: Shipped) -> Tool:
    return shipped.tool


@pytest.fixture
def good(shipped: Shipped) -> dict[str, object]:
    return shipped.good


def said(got: ToolResult | ToolError) -> int:
    """How much the model is given to read."""
    return len((got.text if isinstance(got, ToolResult) else str(got)).encode("utf-8", "replace"))


async def binding(tool: Tool, arguments: dict[str, object]) -> Mapping[str, str]:
    assert isinstance(tool, Binding)
    try:
        return await tool.bind(arguments, context())
    except ToolError:
        return {}


async def outcome(tool: Tool, arguments: dict[str, object]) -> ToolResult | ToolError:
    try:
        return await tool.call(arguments, context())
    except ToolError as error:
        return error


async def test_its_name_is_one_that_every_provider_accepts(tool: Tool) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]{0,63}", tool.spec.name)


async def test_its_description_is_one_short_text(tool: Tool) -> None:
    assert 0 < len(tool.spec.schema.description) <= 200


async def test_its_schema_is_closed_and_names_what_it_requires(tool: Tool) -> None:
    schema = tool.spec.schema.parameters
    properties = schema["properties"]
    required = schema.get("required", [])
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert isinstance(properties, dict)
    assert isinstance(required, list)
    assert set(required) <= set(properties)
    assert all("type" in entry or "enum" in entry for entry in properties.values())


async def test_its_schema_is_terse(tool: Tool) -> None:
    assert len(json.dumps(dict(tool.spec.schema.parameters))) <= 500


async def test_it_declares_what_it_does(tool: Tool) -> None:
    assert tool.spec.effects
    assert tool.spec.effects <= set(Effect)


async def test_good_arguments_fit_the_schema_and_give_a_result(tool: Tool, good: dict[str, object]) -> None:
    assert validate(good, tool.spec.schema.parameters) == []
    result = await tool.call(good, context())
    assert (bool(result.text), result.is_error) == (True, False)


async def test_what_it_says_is_capped_and_encodable(tool: Tool, good: dict[str, object]) -> None:
    result = await tool.call(good, context())
    assert len(result.text.encode()) <= LIMIT


async def test_its_result_says_where_it_comes_from(tool: Tool, good: dict[str, object]) -> None:
    assert (await tool.call(good, context())).label is not None


async def test_the_same_call_tells_the_model_the_same(tool: Tool, good: dict[str, object]) -> None:
    first, second = await tool.call(good, context()), await tool.call(good, context())
    assert (first.text, first.label, first.images) == (second.text, second.label, second.images)


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: repr(junk)[:20])
async def test_a_bad_value_in_any_argument_is_a_result_or_a_tool_error(tool: Tool, good: dict[str, object], junk: object) -> None:
    names = [*tool.spec.schema.parameters["properties"]]  # type: ignore[misc]
    outcomes = [await outcome(tool, {**good, name: junk}) for name in names]
    assert [name for name, got in zip(names, outcomes, strict=True) if said(got) > 3 * LIMIT] == []


@pytest.mark.parametrize("shipped", ["exec", "browser"], indirect=True)
@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: repr(junk)[:20])
async def test_what_an_approval_is_bound_to_is_named_or_refused_with_a_tool_error(shipped: Shipped, junk: object) -> None:
    names = [*shipped.tool.spec.schema.parameters["properties"]]  # type: ignore[misc]
    bound = [await binding(shipped.tool, {**shipped.good, name: junk}) for name in names]
    assert all(isinstance(value, str) for each in bound for value in each.values())


async def test_an_argument_nobody_asked_for_is_a_tool_error(tool: Tool, good: dict[str, object]) -> None:
    with pytest.raises(ToolError, match="approved"):
        await tool.call({**good, "approved": True}, context())


async def test_a_missing_required_argument_is_a_tool_error(tool: Tool) -> None:
    required = tool.spec.schema.parameters.get("required", [])
    outcomes = [await outcome(tool, {}) for _ in required]  # type: ignore[attr-defined]
    assert all(isinstance(got, ToolError) for got in outcomes)


async def test_a_stranger_learns_nothing_of_the_owners_usage(tool: Tool, good: dict[str, object]) -> None:
    said = (await tool.call(good, STRANGER)).text
    assert not [secret for secret in ("openai/gpt-x", "0.0123", "agent:main:main") if secret in said]


@given(st.sampled_from(sorted(QUIET)), st.text(max_size=60))
def test_whatever_a_model_writes_is_parsed_or_refused_with_a_tool_error(name: str, written: str) -> None:
    try:
        parsed: object = parse_arguments(written, QUIET[name].spec.schema.parameters)
    except ToolError:
        parsed = {}
    assert isinstance(parsed, dict)


def test_every_tool_of_the_house_is_in_this_suite() -> None:
    modules = [each for each in Path(tools.__file__).parent.rglob("*.py") if "ToolSchema(" in each.read_text()]
    named = {name for each in modules for name in re.findall(r'ToolSchema\(\s*name="(\w+)"', each.read_text())}
    assert named == set(GOOD)
