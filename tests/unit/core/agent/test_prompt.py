from datetime import UTC
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.assembly.prompts import load_prompts, load_templates
from ostiary.contracts.content import Trust
from ostiary.contracts.errors import BadInput
from ostiary.contracts.model import ToolSchema
from ostiary.core.agent.bootstrap import FILES, SourceFile, select
from ostiary.core.agent.prompt import (
    PROMPT_FILES,
    Envelope,
    PromptInputs,
    SkillLine,
    build_prefix,
    fill,
    parse_prompts,
    turn_note,
    wrap,
)

VIENNA = Envelope(zone=ZoneInfo("Europe/Vienna"))


def tools(*names: str) -> tuple[ToolSchema, ...]:
    return tuple(ToolSchema(name=name, description="Does it.", parameters={"type": "object"}) for name in names)


def prefix(**given: object) -> str:
    return build_prefix(PromptInputs(prompts=load_prompts(), **given)).text  # type: ignore[arg-type]


FULL = {
    "tools": tools("read", "write", "message", "memory_search", "memory_write", "session_status"),
    "files": (SourceFile(name="AGENTS.md", text="Work well."), SourceFile(name="USER.md")),
    "skills": (SkillLine(name="taxes", description="Fill in forms.", path="skills/taxes/SKILL.md"),),
    "time_zone": "Europe/Vienna",
    "sandbox": "Commands run in a sandbox without network.",
    "heartbeat": "Look after things.",
    "runtime": {"model": "openai/x", "thinking": "low"},
    "has_reply_tags": True,
    "has_envelopes": True,
    "may_be_silent": True,
    "think_tags": True,
}
HEADINGS = [
    "## Tools",
    "## Safety",
    "## Skills",
    "## Memory",
    "## Workspace",
    "## Sandbox",
    "## Time",
    "## Reply tags",
    "## Messages",
    "## Heartbeats",
    "## Runtime",
    "## Reasoning",
    "# Your files",
]


def headings(text: str) -> list[str]:
    return [line for line in text.split("\n") if line in HEADINGS]


def test_with_everything_to_say_all_sections_stand_in_their_order() -> None:
    assert headings(prefix(**FULL)) == HEADINGS


def test_sections_with_nothing_to_say_are_absent() -> None:
    assert headings(prefix()) == ["## Safety"]


def test_a_sub_agents_prompt_leaves_out_what_only_a_conversation_needs() -> None:
    left_out = {"## Skills", "## Memory", "## Reply tags", "## Messages", "## Heartbeats"}
    assert headings(prefix(mode="minimal", **FULL)) == [heading for heading in HEADINGS if heading not in left_out]


def test_the_smallest_prompt_is_one_line_and_names_no_file() -> None:
    built = build_prefix(PromptInputs(prompts=load_prompts(), mode="none", **FULL))  # type: ignore[arg-type]
    assert (built.text, built.report["files"]) == ("You are a personal assistant running in Ostiary.", [])


def test_the_same_inputs_give_the_same_prompt() -> None:
    assert prefix(**FULL) == prefix(**FULL)


def test_no_placeholder_is_left_in_the_prompt() -> None:
    assert "{" not in prefix(**FULL)


def test_a_missing_file_is_named_to_the_model() -> None:
    assert "[Missing: USER.md.]" in prefix(**FULL)


def test_the_reader_is_told_that_files_cannot_be_changed_only_where_that_is_so() -> None:
    assert "not change them" in prefix(tools=tools("read"))
    assert "not change them" not in prefix(tools=tools("read", "edit"))


def test_the_way_to_learn_the_time_is_told_only_where_there_is_one() -> None:
    assert "session_status" in prefix(time_zone="UTC", tools=tools("session_status"))
    assert "session_status" not in prefix(time_zone="UTC")


def test_a_file_cannot_reach_into_the_template() -> None:
    file = SourceFile(name="AGENTS.md", text="{name} {time_zone} {?clock} {files}")
    assert "{name} {time_zone} {?clock} {files}" in prefix(files=(file,), time_zone="UTC")


def test_the_prompt_carries_the_label_of_what_is_in_it() -> None:
    file = SourceFile(name="USER.md", text="me")
    built = build_prefix(PromptInputs(prompts=load_prompts(), files=(file,)))
    assert (built.label.trust, built.label.private) == (Trust.OWNER, True)


def test_the_default_prompt_of_a_fresh_workspace_is_small() -> None:
    templates = load_templates()
    files = tuple(SourceFile(name=name, text=templates.get(name)) for name in FILES)
    fresh = select(files, is_private=True, is_first_run=True)
    text = prefix(files=fresh, tools=tools("read", "ls", "find", "grep", "session_status"), time_zone="Europe/Vienna")
    assert len(text) <= 2_000


def test_a_prompt_file_that_is_missing_is_named() -> None:
    texts = dict.fromkeys(PROMPT_FILES, "x")
    del texts["safety.md"]
    with pytest.raises(BadInput, match=r"safety\.md is missing"):
        parse_prompts(texts)


def test_a_placeholder_nobody_fills_is_refused() -> None:
    with pytest.raises(BadInput, match=r"safety\.md has unknown placeholders: now"):
        parse_prompts({**dict.fromkeys(PROMPT_FILES, "x"), "safety.md": "It is {now}."})


def test_lines_with_a_condition_stand_only_where_it_holds() -> None:
    assert fill("a\n{?b}b is {b}\n{?c}c\n{d}\ne", {"b": "1"}) == "a\nb is 1\ne"


def test_an_envelope_names_channel_sender_time_zone_and_elapsed_time() -> None:
    wrapped = wrap(
        "hello",
        channel="telegram",
        sender="telegram:42",
        sender_name="Alice",
        at=1_768_713_540.0,
        previous_at=1_768_713_400.0,
        envelope=VIENNA,
    )
    assert wrapped == "[Telegram Alice telegram:42 2026-01-18 06:19 CET +2m] hello"


def test_time_and_elapsed_time_can_be_switched_off() -> None:
    plain = Envelope(zone=UTC, has_timestamp=False, has_elapsed=False)
    assert wrap("hi", channel="irc", sender="irc:x", at=1e9, previous_at=1.0, envelope=plain) == "[Irc irc:x] hi"


@given(st.text(max_size=200))
def test_a_chosen_name_cannot_imitate_an_envelope_or_a_line(name: str) -> None:
    head = wrap("hi", channel="irc", sender="irc:x", sender_name=name, at=1e9, envelope=VIENNA).removesuffix("] hi")
    assert not set("[]\n\r\x00") & set(head[1:])
    assert len(head) < 120


@pytest.mark.parametrize(("seconds", "shown"), [(30, ""), (60, "+1m"), (3600, "+1h"), (47 * 3600, "+47h"), (72 * 3600, "+3d")])
def test_elapsed_time_is_told_in_its_largest_unit(seconds: int, shown: str) -> None:
    envelope = Envelope(zone=UTC, has_timestamp=False)
    assert (
        wrap("", channel="c", sender="s", at=1e9 + seconds, previous_at=1e9, envelope=envelope) == f"[{f'C s {shown}'.strip()}] "
    )


def test_a_turn_without_instructions_adds_nothing_to_the_prompt() -> None:
    assert (turn_note(), turn_note(instructions=" \n")) == ("", "")


def test_instructions_and_dropped_messages_are_told_behind_the_prefix() -> None:
    assert (
        turn_note(instructions="Rhyme.", dropped="2 messages") == "# For this answer\nRhyme.\n\n# Messages left out\n2 messages"
    )
