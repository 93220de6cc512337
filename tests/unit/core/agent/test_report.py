import json

from ostiary.assembly.prompts import load_prompts
from ostiary.contracts.model import ToolSchema
from ostiary.core.agent.bootstrap import SourceFile
from ostiary.core.agent.prompt import PromptInputs, SkillLine, build_prefix
from ostiary.core.agent.report import context_report, describe, schema_text

READ = ToolSchema(name="read", description="Read a file.", parameters={"type": "object", "properties": {}})
INPUTS = PromptInputs(
    prompts=load_prompts(),
    tools=(READ,),
    skills=(SkillLine(name="taxes", description="Forms.", path="skills/taxes"),),
    files=(
        SourceFile(name="AGENTS.md", text="  Work well.\n"),
        SourceFile(name="USER.md"),
        SourceFile(name="TOOLS.md", text="x" * 54_210),
    ),
)


def test_the_report_counts_exactly_what_is_in_the_prompt() -> None:
    built = build_prefix(INPUTS)
    assert built.report["prompt"]["characters"] == len(built.text)
    assert built.report["files"] == [
        {"name": "AGENTS.md", "raw": 13, "injected": 10, "truncated": False, "missing": False},
        {"name": "USER.md", "raw": 0, "injected": 0, "truncated": False, "missing": True},
        {"name": "TOOLS.md", "raw": 54_210, "injected": 20_000, "truncated": True, "missing": False},
    ]
    assert built.report["tools"] == [{"name": "read", "characters": len(schema_text(READ))}]
    assert built.report["skills"] == [{"name": "taxes", "characters": len("- taxes: Forms. (skills/taxes)")}]


def test_a_report_is_plain_json() -> None:
    report = context_report("prompt", messages=3, history_tokens=40, window=1000)
    assert json.loads(json.dumps(report)) == {
        "prompt": {"characters": 6, "tokens": 2},
        "files": [],
        "tools": [],
        "skills": [],
        "history": {"messages": 3, "tokens": 40},
        "window": 1000,
    }


def test_a_schema_is_written_the_same_whatever_the_order_of_its_keys() -> None:
    other = ToolSchema(name="read", description="Read a file.", parameters={"properties": {}, "type": "object"})
    assert schema_text(other) == schema_text(READ)


def test_the_list_names_every_file_and_what_became_of_it() -> None:
    said = describe(build_prefix(INPUTS).report)
    assert "- AGENTS.md: whole, 10 of 13 characters" in said
    assert "- USER.md: missing" in said
    assert "- TOOLS.md: truncated, 20,000 of 54,210 characters" in said


def test_the_detail_adds_the_size_of_each_tool_and_skill() -> None:
    report = build_prefix(INPUTS).report
    line = f"- read: {len(schema_text(READ))} characters"
    assert line in describe(report, detail=True)
    assert line not in describe(report)
