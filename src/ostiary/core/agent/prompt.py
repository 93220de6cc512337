"""The stable system prompt, assembled from fixed sections; and the envelope that carries what varies.

The prefix of a session never changes from turn to turn, so that providers' prompt caches hit: no clock, no counters, no
sender, no channel. Those stand in the envelope around each message, where they become history and stay cached.
"""

import re
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, tzinfo
from typing import Literal

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import BadInput
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.records import dataclass
from ostiary.core.agent.bootstrap import IN_ALL, PER_FILE, SourceFile, inject
from ostiary.core.agent.report import ContextReport, context_report

Mode = Literal["full", "minimal", "none"]

SECTIONS = (
    "identity",
    "tooling",
    "safety",
    "skills",
    "memory",
    "workspace",
    "sandbox",
    "time",
    "reply_tags",
    "messaging",
    "heartbeats",
    "runtime",
    "reasoning",
    "files",
)
PROMPT_FILES = tuple(f"{section}.md" for section in SECTIONS)
_NOT_FOR_SUBAGENTS = frozenset({"skills", "memory", "reply_tags", "messaging", "heartbeats"})
_FILE_TOOLS = frozenset({"read", "ls", "find", "grep", "write", "edit", "apply_patch"})
_FILE_WRITERS = frozenset({"write", "edit", "apply_patch"})
_PLACE = re.compile(r"\{(\??)([a-z_]+)\}")
_CONDITION = re.compile(r"\{\?([a-z_]+)\}")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\[\]]+")
_NAME_LENGTH = 64

PLACEHOLDERS: Mapping[str, frozenset[str]] = {
    "identity": frozenset({"name"}),
    "skills": frozenset({"skills"}),
    "memory": frozenset({"memory_write"}),
    "workspace": frozenset({"read_only"}),
    "sandbox": frozenset({"sandbox"}),
    "time": frozenset({"time_zone", "clock"}),
    "messaging": frozenset({"envelope", "message_tool", "silence"}),
    "heartbeats": frozenset({"heartbeat"}),
    "runtime": frozenset({"runtime"}),
    "files": frozenset({"missing", "files"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillLine:
    name: str
    description: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptInputs:
    """Everything the prefix may depend on; whatever is not here cannot change it.

    `prompts` are the parsed section texts. `files` are already selected for the session. `runtime` is shown as given
    (model, thinking level, ...) and absent where the agent may not know. `has_envelopes`: messages come from channels.
    `may_be_silent`: groups, heartbeats, a message tool. `think_tags`: for models without thinking of their own.
    """

    prompts: Mapping[str, str]
    mode: Mode = "full"
    name: str = "a personal assistant running in Ostiary"
    tools: tuple[ToolSchema, ...] = ()
    files: tuple[SourceFile, ...] = ()
    skills: tuple[SkillLine, ...] = ()
    time_zone: str = ""
    sandbox: str = ""
    heartbeat: str = ""
    runtime: Mapping[str, str] = field(default_factory=dict)
    has_reply_tags: bool = False
    has_envelopes: bool = False
    may_be_silent: bool = False
    think_tags: bool = False
    per_file: int = PER_FILE
    in_all: int = IN_ALL


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """`label` says where the words of the prompt come from; `report` still lacks history and window."""

    text: str
    report: ContextReport
    label: Label


def parse_prompts(texts: Mapping[str, str]) -> dict[str, str]:
    """Check the section files by name (`safety.md`) and give them by section. Raises BadInput naming the file for one
    that is missing or has a placeholder nobody fills."""
    parsed = {}
    for section in SECTIONS:
        text = texts.get(f"{section}.md")
        if text is None:
            raise BadInput(f"the prompt file {section}.md is missing")
        unknown = {match[2] for match in _PLACE.finditer(text)} - PLACEHOLDERS.get(section, frozenset())
        if unknown:
            raise BadInput(f"the prompt file {section}.md has unknown placeholders: {', '.join(sorted(unknown))}")
        parsed[section] = text.strip()
    return parsed


def build_prefix(inputs: PromptInputs) -> Prefix:
    """The same inputs give the same text, byte for byte."""
    injected = inject(() if inputs.mode == "none" else inputs.files, per_file=inputs.per_file, in_all=inputs.in_all)
    values = _values(inputs)
    if injected.text or injected.missing:
        missing = f"[Missing: {', '.join(injected.missing)}.]" if injected.missing else ""
        values["files"] = {"missing": missing, "files": injected.text}
    parts = [
        fill(inputs.prompts[section], values[section])
        for section in SECTIONS
        if section in values and _belongs(section, inputs.mode)
    ]
    text = "\n\n".join(parts)
    system = Label(trust=Trust.SYSTEM)
    return Prefix(
        text=text,
        report=context_report(
            text,
            files=injected.entries,
            tools=inputs.tools,
            skills={skill.name: len(_skill_line(skill)) for skill in inputs.skills},
        ),
        label=system if injected.label is None else system.join(injected.label),
    )


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace `{placeholders}`, once. A line that begins with `{?name}` is there only if `name` has a value, and a line
    whose placeholders leave nothing disappears."""
    lines = []
    for line in text.split("\n"):
        condition = _CONDITION.match(line)
        if condition is not None and not values.get(condition[1]):
            continue
        rest = line[condition.end() :] if condition else line
        filled = _PLACE.sub(lambda match: values.get(match[2], ""), rest).rstrip()
        if filled or not _PLACE.search(rest):
            lines.append(filled)
    return "\n".join(lines).strip()


def _belongs(section: str, mode: Mode) -> bool:
    if mode == "none":
        return section == "identity"
    return mode == "full" or section not in _NOT_FOR_SUBAGENTS


def _values(inputs: PromptInputs) -> dict[str, Mapping[str, str]]:
    """The sections that have something to say, with what fills their placeholders."""
    # The posture vault knows some tools by names of their own.
    tools = {tool.name.removeprefix("vault_") for tool in inputs.tools}
    values: dict[str, Mapping[str, str]] = {"identity": {"name": inputs.name}, "safety": {}}
    if tools:
        values["tooling"] = {}
    if inputs.skills:
        values["skills"] = {"skills": "\n".join(_skill_line(skill) for skill in inputs.skills)}
    if "memory_search" in tools:
        values["memory"] = {"memory_write": _flag("memory_write" in tools)}
    if tools & _FILE_TOOLS:
        values["workspace"] = {"read_only": _flag(not tools & _FILE_WRITERS)}
    if inputs.sandbox:
        values["sandbox"] = {"sandbox": inputs.sandbox}
    if inputs.time_zone:
        values["time"] = {"time_zone": inputs.time_zone, "clock": _flag("session_status" in tools)}
    if inputs.has_reply_tags:
        values["reply_tags"] = {}
    messaging = {
        "envelope": _flag(inputs.has_envelopes),
        "message_tool": _flag("message" in tools),
        "silence": _flag(inputs.may_be_silent),
    }
    if any(messaging.values()):
        values["messaging"] = messaging
    if inputs.heartbeat:
        values["heartbeats"] = {"heartbeat": inputs.heartbeat}
    if inputs.runtime:
        values["runtime"] = {"runtime": ", ".join(f"{name} {value}" for name, value in inputs.runtime.items())}
    if inputs.think_tags:
        values["reasoning"] = {}
    return values


def _flag(holds: bool) -> str:
    return "yes" if holds else ""


def _skill_line(skill: SkillLine) -> str:
    return f"- {skill.name}: {skill.description} ({skill.path})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """How messages from channels are stamped. `zone` is the zone of the stamp."""

    zone: tzinfo
    has_timestamp: bool = True
    has_elapsed: bool = True


def wrap(
    text: str, *, channel: str, sender: str, at: float, envelope: Envelope, sender_name: str = "", previous_at: float = 0.0
) -> str:
    """`[Telegram Alice telegram:42 2026-01-18 06:19 CET +2m] text`. The sender's name is what the sender chose, so it is
    cut and stripped of what could imitate an envelope. `previous_at` 0 means there was no earlier message."""
    head = [_plain(channel).capitalize()]
    if sender_name:
        head.append(_plain(sender_name))
    head.append(_plain(sender))
    if envelope.has_timestamp:
        head.append(datetime.fromtimestamp(at, envelope.zone).strftime("%Y-%m-%d %H:%M %Z"))
    if envelope.has_elapsed and previous_at and at - previous_at >= 60:
        head.append(f"+{elapsed(at - previous_at)}")
    return f"[{' '.join(part for part in head if part)}] {text}"


def elapsed(seconds: float) -> str:
    """The largest whole unit: 2m, 3h, 5d."""
    minutes = int(seconds) // 60
    if minutes < 60:
        return f"{minutes}m"
    return f"{minutes // 60}h" if minutes < 48 * 60 else f"{minutes // 1440}d"


def _plain(text: str) -> str:
    return " ".join(_UNSAFE.sub(" ", text).split())[:_NAME_LENGTH]


def turn_note(*, instructions: str = "", dropped: str = "") -> str:
    """This turn's own part of the system prompt, sent behind the prefix: a caller's instructions, and a word about
    messages that were dropped while busy. Empty if there is nothing to say. It grants nothing."""
    parts = []
    if instructions.strip():
        parts.append(f"# For this answer\n{instructions.strip()}")
    if dropped.strip():
        parts.append(f"# Messages left out\n{dropped.strip()}")
    return "\n\n".join(parts)
