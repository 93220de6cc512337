import json

import pytest
from tests.unit.adapters.models.embedded.cases import TOOL_CASES, TOOLS

from ostiary.adapters.models.embedded import router
from ostiary.contracts.model import ToolSchema


@pytest.mark.parametrize(("question", "tool", "argument"), TOOL_CASES)
def test_a_message_that_needs_a_tool_is_always_asked_about(question: str, tool: str, argument: str) -> None:
    assert router.worth_asking(question, TOOLS)


@pytest.mark.parametrize("question", ["What is the capital of France?", "Tell me a joke.", "Hi there"])
def test_plain_talk_is_answered_without_asking(question: str) -> None:
    assert not router.worth_asking(question, TOOLS)


def test_another_language_is_asked_about() -> None:
    assert router.worth_asking("Quelle heure est-il maintenant?", TOOLS)


def test_an_unknown_tool_is_recognised_by_its_own_words() -> None:
    weather = ToolSchema(name="weather", description="Forecast for a city", parameters={})
    assert router.worth_asking("Will there be a forecast of rain in my street?", (weather,))
    assert not router.worth_asking("What is the capital of France?", (weather,))


def test_only_the_last_message_depends_on_the_question() -> None:
    one, other = router.messages("Read a.txt", TOOLS), router.messages("Which files are there?", TOOLS)
    assert one[:-1] == other[:-1]
    assert one[-1] == {"role": "user", "content": "Read a.txt"}


def test_examples_use_the_names_the_tool_gives_its_arguments() -> None:
    reader = ToolSchema(
        name="vault_read", description="Read", parameters={"type": "object", "properties": {"file": {}}, "required": ["file"]}
    )
    replies = [message["content"] for message in router.messages("?", (reader,)) if message["role"] == "assistant"]
    assert '{"tool": "vault_read", "arguments": {"file": "notes.txt"}}' in replies


def test_an_example_that_cannot_fill_what_is_required_is_left_out() -> None:
    odd = ToolSchema(
        name="read", description="Read", parameters={"type": "object", "properties": {"page": {}}, "required": ["page"]}
    )
    assert not [message for message in router.messages("?", (odd,)) if '"read"' in message["content"]]


def test_the_grammar_offers_an_answer_and_each_tool_with_its_own_arguments() -> None:
    options = router.schema(TOOLS)["anyOf"]
    assert isinstance(options, list)
    by_name = {option["properties"]["tool"]["const"]: option["properties"] for option in options}
    assert set(by_name) == {"answer", *(tool.name for tool in TOOLS)}
    assert "arguments" not in by_name["answer"]
    assert list(by_name["grep"]["arguments"]["properties"]) == ["pattern"]


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"type": ["integer", "null"], "minimum": 1}, {"type": "integer", "minimum": 1}),
        ({"enum": ["a", "b"]}, {"enum": ["a", "b"]}),
        ({"$ref": "#/x"}, {"type": "string", "minLength": 1, "maxLength": 160}),
        ({"type": "array", "items": {"type": "number"}}, {"type": "array", "items": {"type": "number"}, "maxItems": 8}),
        (True, {"type": "string", "maxLength": 160}),
    ],
)
def test_a_schema_is_reduced_to_what_a_grammar_can_say(given: object, made: object) -> None:
    tool = ToolSchema(name="t", description="", parameters={"properties": {"x": given}, "required": ["x"]})
    options = router.schema((tool,))["anyOf"]
    assert isinstance(options, list)
    assert options[1]["properties"]["arguments"]["properties"]["x"] == made


def test_a_choice_is_the_tool_and_its_arguments() -> None:
    choice = router.parse('{"tool":"read","arguments":{"path":"a.txt"}}', "read a.txt", TOOLS)
    assert choice is not None
    assert (choice.tool, json.loads(choice.arguments)) == ("read", {"path": "a.txt"})


@pytest.mark.parametrize(
    "text",
    [
        '{"tool":"answer"}',
        '{"tool":"rm","arguments":{}}',
        '{"tool":"read","argum',
        "[]",
        '{"tool":"read"}',
        '{"tool":"read","arguments":{"path":"date.txt"}}',
    ],
)
def test_anything_else_means_to_answer_in_words(text: str) -> None:
    assert router.parse(text, "What is today's date?", TOOLS) is None


@pytest.mark.parametrize(
    ("question", "name"), [("Print 1 to 5 and run it.", "program.py"), ("Write count.py that prints 1 to 5, run it", "count.py")]
)
def test_a_program_in_the_place_of_a_command_is_kept_and_run(question: str, name: str) -> None:
    shell = ToolSchema(name="exec", description="Run a command.", parameters={"properties": {"command": {"type": "string"}}})
    program = "for i in range(1, 6): print(i)"
    choice = router.parse(json.dumps({"tool": "exec", "arguments": {"command": program}}), question, (shell,))
    assert choice is not None
    assert json.loads(choice.arguments) == {"command": f"cat > {name} <<'END'\n{program}\nEND\npython3 {name}"}


@pytest.mark.parametrize(
    "command", ["ls -l", "true", "a=1", "python3 x.py", "echo 'print(1)' > a.py", "f() { ls; }; f", "print(1)\nEND\n#"]
)
def test_a_command_stays_as_it_is(command: str) -> None:
    shell = ToolSchema(name="exec", description="Run a command.", parameters={"properties": {"command": {"type": "string"}}})
    choice = router.parse(json.dumps({"tool": "exec", "arguments": {"command": command}}), "run it", (shell,))
    assert choice is not None
    assert json.loads(choice.arguments) == {"command": command}
