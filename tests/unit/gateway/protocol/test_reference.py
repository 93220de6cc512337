import json
import re
from pathlib import Path

from ostiary.gateway.methods import all_methods
from ostiary.gateway.methods.reference import page, schema
from ostiary.gateway.protocol.errors import CODES
from ostiary.gateway.protocol.events import EVENTS

REFERENCE = Path(__file__).parents[4] / "docs" / "reference"


def test_the_schema_is_current() -> None:
    kept = json.loads((REFERENCE / "protocol.schema.json").read_text())
    assert kept == json.loads(json.dumps(schema())), "run make docs"


def test_the_page_is_current() -> None:
    assert (REFERENCE / "protocol.md").read_text() == page(), "run make docs"


def test_the_page_names_every_method_event_and_error() -> None:
    named = set(re.findall(r"`([\w.-]+)`", page()))
    assert named >= {*all_methods(), *EVENTS, *CODES}


def test_every_reference_in_the_schema_leads_somewhere() -> None:
    whole = schema()
    references = set(re.findall(r'"\$ref": "#/\$defs/([^"]+)"', json.dumps(whole)))
    assert references <= whole["$defs"].keys()


def test_no_field_on_the_wire_is_in_snake_case() -> None:
    properties = {name for shape in schema()["$defs"].values() for name in shape.get("properties", {})}
    assert not [name for name in properties if "_" in name]
