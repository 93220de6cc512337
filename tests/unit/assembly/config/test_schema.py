import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ostiary.assembly.config.json_schema import export
from ostiary.assembly.config.reference_page import page
from ostiary.assembly.config.section import key, section

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "configuration.md"


@section
class Telegram:
    """Telegram's own keys."""

    stream_mode: str = key("partial", "How replies appear.", label="Streaming")


def nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(schema, Mapping):
        yield schema
        for each in schema.values():
            yield from nodes(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from nodes(each)


def test_the_schema_is_plain_json_with_types_bounds_and_defaults() -> None:
    schema = json.loads(json.dumps(export()))["schema"]
    port = schema["properties"]["gateway"]["properties"]["port"]
    assert (port["type"], port["minimum"], port["maximum"], port["default"]) == ("integer", 0, 65535, 18789)
    assert schema["properties"]["posture"]["enum"] == ["personal", "open", "team", "vault"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["$schema"]["type"] == "string"


def test_every_section_refuses_unknown_keys_unless_it_is_open() -> None:
    schema = export()["schema"]
    closed = [node for node in nodes(schema) if "properties" in node and "additionalProperties" in node]
    assert len([node for node in closed if node["additionalProperties"] is True]) == 2
    assert len(closed) > 30


@pytest.mark.parametrize(
    "path", ["gateway.auth.token", "models.providers.*.apiKey", "models.providers.*.headers", "env", "hooks.token"]
)
def test_secrets_are_marked_for_forms(path: str) -> None:
    assert export()["uiHints"][path]["sensitive"] is True


def test_hints_reach_into_lists_and_maps() -> None:
    hints = export()["uiHints"]
    assert hints["agents.list[].id"]["help"]
    assert hints["agents.defaults.model.primary"]["placeholder"]
    assert hints["channels.*.dmPolicy"]["help"]


def test_a_channels_own_keys_appear_in_schema_and_hints() -> None:
    made = export({"channels.telegram": Telegram})
    properties = made["schema"]["properties"]["channels"]["properties"]["telegram"]["properties"]
    assert {"streamMode", "dmPolicy"} <= set(properties)
    assert made["uiHints"]["channels.telegram.streamMode"]["label"] == "Streaming"


def test_every_key_says_what_it_does() -> None:
    rows = [line for line in page().partition("## $schema")[2].splitlines() if line.startswith("| `")]
    assert len(rows) > 150
    assert [row for row in rows if row.endswith("|  |")] == []


def test_the_reference_page_is_current() -> None:
    assert PAGE.read_text() == page()
