from ostiary.adapters.models.wires.schema import gemini_schema, object_schema, ollama_schema

CYCLE = {
    "type": "object",
    "properties": {"next": {"$ref": "#/$defs/node"}},
    "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}},
}


def test_the_top_is_always_an_object_without_alternatives() -> None:
    schema = object_schema({"anyOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "integer"}}}]})
    assert schema == {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}


def test_gemini_gets_only_what_it_knows() -> None:
    schema = gemini_schema(
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "kind": {"const": "x"},
                "count": {"type": ["integer", "null"], "exclusiveMinimum": 0},
                "when": {"type": "string", "format": "date-time"},
                "where": {"type": "string", "format": "uri"},
                "tags": {"type": "array"},
                "one": {"oneOf": [{"type": "string"}, {"type": "null"}]},
                "many": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "both": {"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"type": "object"}]},
            },
            "required": ["kind", "gone"],
        }
    )
    assert schema == {
        "type": "object",
        "properties": {
            "kind": {"enum": ["x"], "type": "string"},
            "count": {"type": "integer", "nullable": True},
            "when": {"type": "string", "format": "date-time"},
            "where": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "one": {"nullable": True, "type": "string"},
            "many": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "both": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        },
        "required": ["kind"],
    }


def test_ollama_gets_references_resolved_and_keywords_dropped() -> None:
    schema = ollama_schema(
        {
            "$schema": "x",
            "additionalProperties": False,
            "properties": {"a": {"$ref": "#/$defs/a"}, "b": {"type": "array", "items": {"type": "string", "format": "uri"}}},
            "$defs": {"a": {"type": "string", "format": "email"}},
        }
    )
    assert schema == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "string"}}},
    }


def test_a_schema_that_refers_to_itself_comes_to_an_end() -> None:
    assert gemini_schema(CYCLE)["type"] == "object"
    assert ollama_schema(CYCLE)["type"] == "object"


def test_nonsense_does_not_break_anything() -> None:
    odd = {"properties": {"a": True, "b": 7}, "required": "a", "anyOf": 3, "$ref": 5, "allOf": [1], "items": []}
    assert gemini_schema(odd)["properties"].keys() == {"a", "b"}
    assert ollama_schema(odd)["properties"].keys() == {"a", "b"}
    assert object_schema(odd)["properties"].keys() == {"a", "b"}
