"""Choosing a tool with a model too small to do it by itself.

A short prompt with examples asks for one JSON object, and a grammar made from the tools' own schemas lets it write nothing
else. A message that has no word in common with any tool is not asked about at all.
"""

import ast
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from ostiary.contracts.model import ToolSchema
from ostiary.contracts.records import dataclass

ANSWER = "answer"
MAX_TOKENS = 160
_MAX_TOOLS = 16
_MAX_STRING = 160
_QUESTION = 600
_PATHS = ("path", "file", "file_path", "filename", "directory", "dir", "folder")
_PATTERNS = ("pattern", "query", "text", "regex", "glob", "name", "q", "search")
_NAMES = {
    "path": _PATHS,
    "pattern": _PATTERNS,
    "content": ("content", "text"),
    "command": ("command", "cmd"),
    "fact": ("text", "fact", "note", "content"),
}
_KEPT = ("type", "enum", "const", "minimum", "maximum", "items", "pattern", "format")


@dataclass(frozen=True, slots=True)
class Choice:
    """`arguments` is JSON text."""

    tool: str
    arguments: str


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_EXAMPLES: Mapping[str, Sequence[tuple[str, Mapping[str, str]]]] = {
    "session_status": (("What time is it?", {}), ("Which model am I talking to?", {}), ("Which date is it?", {})),
    "read": (("What does notes.txt say?", {"path": "notes.txt"}), ("Summarize docs/plan.md for me", {"path": "docs/plan.md"})),
    "ls": (("Which files do I have?", {"path": "."}), ("Show me the folder photos", {"path": "photos"})),
    "grep": (("Where is the word budget mentioned?", {"pattern": "budget"}),),
    "find": (("Find all pdf files", {"pattern": "*.pdf"}), ("Where is my file photo.png?", {"pattern": "photo.png"})),
    "write": (("Save a note todo.md: buy milk", {"path": "todo.md", "content": "buy milk"}),),
    "memory_write": (
        ("Remember that my dentist is called Wolf", {"fact": "The user's dentist is called Wolf."}),
        ("Please note: the spare key is under the pot", {"fact": "The spare key is under the pot."}),
    ),
    "memory_search": (
        ("What is my dentist called?", {"pattern": "dentist called"}),
        ("Where does my brother work?", {"pattern": "brother work"}),
        ("Do you remember where the spare key is?", {"pattern": "spare key"}),
    ),
    # One command does both: a model this small is asked for one call at a time.
    "exec": (
        (
            "Write a program three.py that prints three and run it",
            {"command": "echo 'print(\"three\")' > three.py && python3 three.py"},
        ),
        ("Make a small script hi.sh that says hi, then run it", {"command": "echo 'echo hi' > hi.sh && sh hi.sh"}),
    ),
}
_FAMILIES = (
    (re.compile(r"(?:^|_)memory_write$"), "memory_write"),
    (re.compile(r"(?:^|_)memory_search$"), "memory_search"),
    (re.compile(r"(?:^|_)(?:read|open|cat|view)(?:_|$)"), "read"),
    (re.compile(r"(?:^|_)(?:ls|list|dir)(?:_|$)"), "ls"),
    (re.compile(r"(?:^|_)(?:grep|search)(?:_|$)"), "grep"),
    (re.compile(r"(?:^|_)(?:find|glob)(?:_|$)"), "find"),
    (re.compile(r"^(?:session_status|status)$"), "session_status"),
    (re.compile(r"^(?:write|write_file|save|save_file|create_file)$"), "write"),
    (re.compile(r"^(?:exec|bash|shell|run|run_command)$"), "exec"),
)
_FAMILY_OF_COMMANDS = next(pattern for pattern, family in _FAMILIES if family == "exec")
_PROGRAM_NAME = re.compile(r"\b[a-zA-Z_]\w{0,40}\.py\b")
_TALK = (
    "Hello!",
    "What is the capital of Japan?",
    "Write a short poem about the sea",
    "How do I read a file in Python?",
    "When does the sun set in Rome?",
)

_HINTS: Mapping[str, frozenset[str]] = {
    "session_status": _set("time clock date day today model session status tokens context usage now hour"),
    "read": _set("read open show file content contents says say look print display see inside"),
    "ls": _set("list files folder folders directory directories workspace ls"),
    "grep": _set("search grep mention mentioned mentions contain contains containing where line lines occurs word"),
    "find": _set("find locate named called files file extension where"),
    "write": _set("write save note file create put store"),
    "memory_write": _set("remember note memorize memorise forget keep mind"),
    "memory_search": _set("remember recall my mine our told said know"),
    "exec": _set("run execute program script command code test tests compile start calculate compute"),
}
_FILE_NAME = re.compile(r"(?:^|[\s'\"`(])(?:[\w.-]*/[\w./-]+|[\w-]+\.[A-Za-z]\w{0,4})(?=$|[\s'\"`),?!:;.])")
_WORD = re.compile(r"[a-z]+")
_ENGLISH = _set(
    "the a an is are what how who why when which do does did can you your my me i to of in and please hi hello"
    " that was thanks tell give write"
)
_DULL = _ENGLISH | _set("for from with this that it its be as or on by at all any use tool returns get gets when if one")


def worth_asking(question: str, tools: Sequence[ToolSchema]) -> bool:
    """False only for plain English that shares no word with any tool and names no file: then the answer needs no tool."""
    if _FILE_NAME.search(question[:_QUESTION]):
        return True
    words = set(_WORD.findall(question[:_QUESTION].lower()))
    if not words & _ENGLISH:
        return True
    return any(words & _words(tool) for tool in tools)


def messages(question: str, tools: Sequence[ToolSchema]) -> list[dict[str, str]]:
    """The prompt. All but the last message depends on the tools alone, so it is read once and then kept."""
    tools = tools[:_MAX_TOOLS]
    lines = [f"- {tool.name}: {_brief(tool.description)}" for tool in tools]
    system = (
        "Decide what the message needs. Reply with JSON.\n"
        f"- {ANSWER}: conversation, general knowledge, writing, advice, code.\n" + "\n".join(lines)
    )
    talks = iter(_TALK)
    shown: list[tuple[str, str]] = []
    for tool in tools:
        # In turns, so that neither a tool nor an answer is what simply came last.
        shown += [(talk, _json(ANSWER)) for talk in islice(talks, 1)]
        shown += [(said, _json(tool.name, arguments)) for said, arguments in _examples(tool)]
    shown += [(talk, _json(ANSWER)) for talk in talks]
    made = [{"role": "system", "content": system}]
    for said, reply in shown:
        made += [{"role": "user", "content": said}, {"role": "assistant", "content": reply}]
    return [*made, {"role": "user", "content": question[:_QUESTION]}]


def schema(tools: Sequence[ToolSchema]) -> dict[str, object]:
    """Either an answer, or one of the tools with arguments its own schema allows."""
    options: list[object] = [_object({"tool": {"const": ANSWER}})]
    options += [_object({"tool": {"const": tool.name}, "arguments": _arguments(tool)}) for tool in tools[:_MAX_TOOLS]]
    return {"anyOf": options}


def parse(text: str, question: str, tools: Sequence[ToolSchema]) -> Choice | None:
    """None means: answer in words. So does a reply that was cut off, names no offered tool, or a path nobody mentioned."""
    try:
        reply = json.loads(text)
    except ValueError:
        return None
    if not isinstance(reply, dict) or reply.get("tool") not in {tool.name for tool in tools}:
        return None
    arguments = reply.get("arguments")
    if not isinstance(arguments, dict) or any(_invented(name, value, question) for name, value in arguments.items()):
        return None
    if _FAMILY_OF_COMMANDS.search(reply["tool"]):
        commands = {name: value for name, value in arguments.items() if name in _NAMES["command"] and isinstance(value, str)}
        arguments |= {name: _for_a_shell(value, question) for name, value in commands.items()}
    return Choice(reply["tool"], json.dumps(arguments, ensure_ascii=False))


def _for_a_shell(command: str, question: str) -> str:
    """A model this small writes a program where a command belongs; then the command is to keep the program and run it."""
    if not _is_python(command):
        return command
    named = _PROGRAM_NAME.search(question)
    name = named[0] if named else "program.py"
    return f"cat > {name} <<'END'\n{command}\nEND\npython3 {name}"


def _is_python(command: str) -> bool:
    try:
        tree = ast.parse(command)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False
    # Many a command is an expression of Python's too, such as `ls -l`; none is a call.
    return "\nEND" not in command and any(isinstance(node, ast.Call | ast.Import | ast.ImportFrom) for node in ast.walk(tree))


def _invented(name: str, value: object, question: str) -> bool:
    """A small model makes up file names: `date.txt` for "what is today's date?"."""
    return name in _PATHS and isinstance(value, str) and value.strip("./").lower() not in question.lower()


def _json(tool: str, arguments: Mapping[str, str] | None = None) -> str:
    return json.dumps({"tool": tool} if arguments is None else {"tool": tool, "arguments": arguments})


def _family(tool: ToolSchema) -> str:
    return next((family for pattern, family in _FAMILIES if pattern.search(tool.name)), "")


def _words(tool: ToolSchema) -> frozenset[str]:
    if family := _family(tool):
        return _HINTS[family]
    return frozenset(_WORD.findall(f"{tool.name} {tool.description[:300]}".lower())) - _DULL


def _examples(tool: ToolSchema) -> Iterable[tuple[str, dict[str, str]]]:
    """Examples of the family, with the arguments named as this tool names them."""
    properties = _offered(tool)
    required = set(_strings(tool.parameters.get("required")))
    for said, values in _EXAMPLES.get(_family(tool), ()):
        named = {}
        for kind, value in values.items():
            names = _NAMES[kind]
            if name := next((name for name in properties if name in names), ""):
                named[name] = value
        if required <= named.keys():
            yield said, named


def _brief(description: str) -> str:
    return " ".join(description.split()).split(". ")[0][:120]


def _offered(tool: ToolSchema) -> dict[str, Any]:
    """What is required, or else the first thing that is not: a small model fills in every field it is shown."""
    properties = tool.parameters.get("properties")
    if not isinstance(properties, dict):
        return {}
    required = [name for name in _strings(tool.parameters.get("required")) if name in properties]
    names = required or [name for name in properties if name in _PATHS + _PATTERNS][:1]
    return {name: properties[name] for name in names}


def _arguments(tool: ToolSchema) -> dict[str, object]:
    return _object({name: _simplified(value) for name, value in _offered(tool).items()})


def _simplified(value: object) -> dict[str, object]:
    """The part of a schema that a grammar can be made from."""
    if not isinstance(value, dict):
        return {"type": "string", "maxLength": _MAX_STRING}
    kept: dict[str, object] = {key: value[key] for key in _KEPT if key in value and key not in ("pattern", "format")}
    if "items" in kept:
        kept["items"] = _simplified(kept["items"])
        kept["maxItems"] = 8
    if isinstance(kept.get("type"), list):
        kept["type"] = next((name for name in _strings(kept["type"]) if name != "null"), "string")
    if "enum" in kept or "const" in kept:
        return kept
    if kept.get("type") not in ("integer", "number", "boolean", "array", "object"):
        return {"type": "string", "minLength": 1, "maxLength": _MAX_STRING}
    return kept


def _object(properties: Mapping[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": dict(properties), "required": list(properties), "additionalProperties": False}


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []
