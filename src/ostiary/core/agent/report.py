"""What was sent, in numbers: the answer to `/context`."""

import json
from collections.abc import Mapping, Sequence
from typing import TypedDict

from ostiary.contracts.model import ToolSchema
from ostiary.core.agent.bootstrap import FileEntry
from ostiary.core.agent.tokens import estimate_tokens


class Sized(TypedDict):
    characters: int
    tokens: int


class FileLine(TypedDict):
    name: str
    raw: int
    injected: int
    truncated: bool
    missing: bool


class NamedSize(TypedDict):
    name: str
    characters: int


class History(TypedDict):
    messages: int
    tokens: int


class ContextReport(TypedDict):
    """Characters are exact; tokens are estimates (see core.agent.tokens). `window` 0 means not known."""

    prompt: Sized
    files: list[FileLine]
    tools: list[NamedSize]
    skills: list[NamedSize]
    history: History
    window: int


def schema_text(schema: ToolSchema) -> str:
    """A tool's schema as compact JSON: what is counted, and the same text for the same tool every time."""
    shown = {"name": schema.name, "description": schema.description, "parameters": schema.parameters}
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def context_report(
    prompt: str,
    *,
    files: Sequence[FileEntry] = (),
    tools: Sequence[ToolSchema] = (),
    skills: Mapping[str, int] | None = None,
    messages: int = 0,
    history_tokens: int = 0,
    window: int = 0,
) -> ContextReport:
    """The report on exactly this prompt, these files and these schemas. `skills` maps names to characters."""
    return ContextReport(
        prompt=Sized(characters=len(prompt), tokens=estimate_tokens(prompt)),
        files=[_line(entry) for entry in files],
        tools=[NamedSize(name=tool.name, characters=len(schema_text(tool))) for tool in tools],
        skills=[NamedSize(name=name, characters=size) for name, size in (skills or {}).items()],
        history=History(messages=messages, tokens=history_tokens),
        window=window,
    )


def _line(entry: FileEntry) -> FileLine:
    return FileLine(name=entry.name, raw=entry.raw, injected=entry.injected, truncated=entry.truncated, missing=entry.missing)


def describe(report: ContextReport, *, detail: bool = False) -> str:
    """The report as `/context list` (or `detail`) shows it."""
    prompt, history, window = report["prompt"], report["history"], report["window"]
    tools = sum(tool["characters"] for tool in report["tools"])
    total = prompt["tokens"] + history["tokens"] + tools // 4
    lines = [
        f"System prompt: {prompt['characters']:,} characters (~{prompt['tokens']:,} tokens)",
        f"Tool schemas: {tools:,} characters, {len(report['tools'])} tools",
        f"History: {history['messages']:,} messages (~{history['tokens']:,} tokens)",
        f"In all: ~{total:,} tokens" + (f" of {window:,} ({total / window:.0%})" if window else ""),
    ]
    if report["files"]:
        lines += ["", "Files:", *(f"- {_file_line(file)}" for file in report["files"])]
    for title, entries in (("Tools", report["tools"]), ("Skills", report["skills"])):
        if entries and detail:
            ordered = sorted(entries, key=lambda entry: (-entry["characters"], entry["name"]))
            lines += ["", f"{title}:", *(f"- {entry['name']}: {entry['characters']:,} characters" for entry in ordered)]
        elif entries:
            lines += ["", f"{title}: " + ", ".join(entry["name"] for entry in entries)]
    return "\n".join(lines)


def _file_line(file: FileLine) -> str:
    if file["missing"]:
        return f"{file['name']}: missing"
    state = "truncated" if file["truncated"] else "whole" if file["injected"] else "blank"
    return f"{file['name']}: {state}, {file['injected']:,} of {file['raw']:,} characters"
