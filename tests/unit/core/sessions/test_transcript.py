import base64
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.contracts.content import Image, Label, Message, Text, Thinking, ToolCall, ToolMessage, Trust
from ostiary.contracts.errors import BadInput
from ostiary.contracts.events import (
    KINDS,
    ApprovalAnswered,
    ApprovalAsked,
    Branched,
    Compacted,
    Declassified,
    Erased,
    Event,
    Imported,
    ModelAnswered,
    ModelRequested,
    ModelSpent,
    Noted,
    PrefixPinned,
    Recorded,
    Reset,
    SettingChanged,
    Steered,
    ToolIntended,
    ToolResulted,
    Trimmed,
    TurnEnded,
    TurnInput,
    TurnResumed,
    TurnStarted,
    TurnSuspended,
)
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import Address, UserId
from ostiary.contracts.model import ToolSchema, Usage
from ostiary.contracts.store import SessionRecord
from ostiary.core.sessions.plain import to_plain
from ostiary.core.sessions.transcript import Limits, Transcript, imported, read_transcript, write_transcript
from tests.unit.core.routing.inbound import quick
from tests.unit.core.sessions.conversation import OWNER, WEB, call, results, said, user

HERE = Address(channel="telegram", account="default", chat="5", thread="")
RECORD = SessionRecord(key=SessionKey("main", "main"), created_at=1.5, updated_at=2.0, title="Überblick", origin=HERE, last_seq=3)
TRUSTED = Label(trust=Trust.SYSTEM)
PICTURE = Image(digest="ab" * 32, media_type="image/png", label=OWNER)
INPUT = TurnInput(item=3, parts=(Text(text="hi\n\u2028", label=OWNER), PICTURE), at=1.0, sender="telegram:5")

EVERY_KIND: tuple[Event, ...] = (
    TurnStarted(
        inputs=(INPUT,),
        principal=Principal(user=UserId(channel="telegram", stable_id="5"), role="owner"),
        reply_to=HERE,
        context=(user("a"), said("b", call("c")), results("c")),
        client_tools=(ToolSchema(name="t", description="d", parameters={"type": "object", "n": [1, 2.5, None, True]}),),
        directives={"thinking": "high"},
    ),
    Steered(inputs=(INPUT,)),
    ModelRequested(step=1, model="a/b", thinking="off", prefix="p", schemas="s", history="h", messages=1, characters=2),
    ModelSpent(model="a/b", usage=Usage(input=1, output=2, cost=0.25), purpose="summary"),
    ModelAnswered(
        step=1,
        parts=(Thinking(text="hm", replay='{"x":1}'), Text(text="ok", label=WEB), ToolCall(id="c", name="read", arguments="{}")),
        stop="tool_calls",
        usage=Usage(input=1, output=2, cost=0.25),
        model="a/b",
        label=WEB,
    ),
    ToolIntended(call_id="c", name="read", arguments="{}", call_key="k", repeatable=True, layer="profile"),
    ToolResulted(
        call_id="c", name="read", text="t", is_error=False, fate="done", label=WEB, details={"a": {"b": [1]}}, images=(PICTURE,)
    ),
    ApprovalAsked(
        approval="k3f9",
        call_id="c",
        name="read",
        digest="d",
        layers=("confirm", "taint"),
        reason="careful",
        deadline=5.0,
        bound={"cwd": "notes"},
        offers=("git status",),
        label=WEB,
    ),
    TurnSuspended(waiting_for="approval", call_ids=("c",), deadline=5.0),
    ApprovalAnswered(approval="k3f9", call_id="c", answer="allowed", by="telegram:5", grant="g", note="n"),
    Declassified(by="telegram:5", reason="I read it"),
    TurnResumed(reason="yes"),
    TurnEnded(status="completed", reply="ok"),
    SettingChanged(name="model", value="a/b", by="telegram:5"),
    PrefixPinned(digest="d", schemas="s", reason="first", report={"prompt": {"tokens": 1}}),
    Reset(reason="/new"),
    Trimmed(kept_from="turn_1", turns=2, notice="n"),
    Compacted(summary="s", kept_from="turn_1", label=WEB),
    Branched(parent="agent:main:main", at=3, messages=(user("a"), said("b"))),
    Imported(messages=(user("a"),), source="openclaw", notes=("x",)),
    Noted(text="a note", by="api:token", label=WEB),
    Erased(kind="turn.started", digest="d"),
)


def recorded(*events: Event) -> tuple[Recorded, ...]:
    return tuple(Recorded(session=str(RECORD.key), seq=n, turn="turn_1", at=float(n), event=e) for n, e in enumerate(events, 1))


def exported(*events: Event) -> list[str]:
    return list(write_transcript(RECORD, recorded(*events), at=9.0))


def read(lines: Sequence[str], /, label: Label = TRUSTED, **limits: int) -> Transcript:
    return read_transcript(lines, label=label, limits=Limits(**limits))


def test_every_kind_of_event_is_covered_here() -> None:
    assert {type(event) for event in EVERY_KIND} == {*KINDS.values(), Erased}


def test_what_is_written_is_read_back_the_same() -> None:
    found = read(exported(*EVERY_KIND))
    assert found.notes == ()
    assert found.record == RECORD
    assert to_plain(found.events) == to_plain(recorded(*EVERY_KIND))
    assert list(write_transcript(RECORD, found.events, at=9.0)) == exported(*EVERY_KIND)


def test_lines_have_stable_names() -> None:
    header, line = exported(Reset(reason="/new"))
    assert json.loads(header)["type"] == "ostiary.session"
    expected = {
        "type": "event",
        "seq": 1,
        "turn": "turn_1",
        "at": 1.0,
        "kind": "session.reset",
        "version": 1,
        "event": {"reason": "/new"},
    }
    assert json.loads(line) == expected


@quick
@given(st.text(), st.dictionaries(st.text(), st.text() | st.integers() | st.booleans() | st.none(), max_size=3))
def test_any_text_and_details_survive_on_one_line(text: str, details: dict[str, object]) -> None:
    event = ToolResulted(call_id=text, name="n", text=text, is_error=True, fate="done", label=WEB, details=details)
    lines = exported(event)
    assert not any("\n" in line or "\r" in line for line in lines)
    assert to_plain(read(lines).events[0].event) == to_plain(event)


def test_a_file_cannot_raise_its_own_trust() -> None:
    found = read(exported(*EVERY_KIND), label=Label(trust=Trust.UNTRUSTED, sources=("file",)))
    text = json.dumps(to_plain(found.events))
    assert '"trust": "owner"' not in text
    assert '"trust": "untrusted"' in text


def test_a_cut_last_line_is_left_out_and_noted() -> None:
    *whole, last = exported(Reset(reason="a"), Reset(reason="b"))
    found = read([*whole, last[: len(last) // 2]])
    assert [event.seq for event in found.events] == [1]
    assert found.notes == ("left out line 3: it was cut short",)


def test_broken_lines_in_the_middle_are_left_out_and_noted() -> None:
    header, first, second = exported(Reset(reason="a"), Reset(reason="b"))
    found = read([header, first, "not json", "[1]", "", second])
    assert [event.seq for event in found.events] == [1, 2]
    assert found.notes == ("left out line 3: it is not a JSON object", "left out line 4: it is not a JSON object")


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"kind": "turn.invented"}, "kind is unknown"),
        ({"kind": None}, "kind is unknown"),
        ({"version": 99}, "newer version"),
        ({"event": {"reason": 5}}, "reason should be text"),
        ({"event": {}}, "lacks reason"),
        ({"event": None}, "should be an object"),
        ({"seq": 1}, "second time"),
        ({"seq": True}, "whole number"),
        ({"at": 10**400}, "should be a number"),
        ({"turn": None}, "should be text"),
    ],
)
def test_an_event_that_cannot_be_understood_is_left_out_and_noted(change: dict[str, object], note: str) -> None:
    header, first, second = exported(Reset(reason="a"), Reset(reason="b"))
    found = read([header, first, json.dumps({**json.loads(second), **change})])
    assert [event.seq for event in found.events] == [1]
    assert note in found.notes[0]


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [""],
        ["hello"],
        ['{"type":"event"}'],
        ['{"type":"ostiary.session","version":2}'],
        ['{"type":"ostiary.session","version":"x"}'],
        ['{"type":"ostiary.session","version":1}'],
        ['{"type":"ostiary.session","version":1,"record":{"key":{"agent":"../x","scope":"y"},"created_at":0,"updated_at":0}}'],
        ["[" * 200_000],
    ],
)
def test_what_is_no_transcript_of_ours_is_refused(lines: list[str]) -> None:
    with pytest.raises(BadInput):
        read(lines)


@pytest.mark.parametrize("limits", [{"line_characters": 50}, {"characters": 200}, {"lines": 2}])
def test_a_file_that_is_too_large_is_refused_before_it_is_parsed(limits: dict[str, int]) -> None:
    with pytest.raises(BadInput, match="too large"):
        read(exported(Reset(reason="a"), Reset(reason="b")), **limits)


OPENCLAW = [
    {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w"},
    {"type": "session_info", "id": "0", "parentId": None, "name": "Plans"},
    {"type": "model_change", "id": "1", "parentId": "0", "provider": "openai", "modelId": "gpt-x"},
    {"type": "thinking_level_change", "id": "2", "parentId": "1", "thinkingLevel": "high"},
    {"type": "message", "id": "3", "parentId": "2", "message": {"role": "user", "content": "Hello"}},
    {
        "type": "message",
        "id": "4",
        "parentId": "3",
        "message": {
            "role": "assistant",
            "provider": "openai",
            "model": "gpt-x",
            "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"},
                {"type": "text", "text": "Looking"},
                {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"cmd": "ls"}},
            ],
        },
    },
    {
        "type": "message",
        "id": "5",
        "parentId": "4",
        "message": {
            "role": "toolResult",
            "toolCallId": "c1",
            "toolName": "bash",
            "content": [{"type": "text", "text": "a b"}],
            "isError": False,
        },
    },
    {"type": "custom", "id": "6", "parentId": "5", "customType": "x", "data": {}},
    {
        "type": "message",
        "id": "7",
        "parentId": "6",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "Done"}]},
    },
]


def openclaw(*entries: dict[str, object]) -> Transcript:
    return read([json.dumps(entry) for entry in (OPENCLAW[0], *entries)], label=OWNER)


def texts(messages: Sequence[Message]) -> list[str]:
    return [
        " ".join(o.text for o in m.outcomes)
        if isinstance(m, ToolMessage)
        else " ".join(p.text for p in m.parts if isinstance(p, Text))
        for m in messages
    ]


def test_an_openclaw_transcript_is_read() -> None:
    found = openclaw(*OPENCLAW[1:])
    assert [m.role for m in found.messages] == ["user", "assistant", "tool", "assistant"]
    assert texts(found.messages) == ["Hello", "Looking", "a b", "Done"]
    assert found.settings == {"model": "openai/gpt-x", "thinking": "high"}
    assert (found.source, found.title) == ("openclaw", "Plans")
    assert found.notes == ("left out thinking, which cannot be carried over (1×)",)


def test_an_openclaw_tool_result_is_never_the_owners_word() -> None:
    outcome = openclaw(*OPENCLAW[1:]).messages[2].outcomes[0]  # type: ignore[union-attr]
    assert outcome.label.trust is Trust.UNTRUSTED


def test_an_openclaw_transcript_without_links_is_read_in_order() -> None:
    plain_entries = [{k: v for k, v in entry.items() if k not in ("id", "parentId")} for entry in OPENCLAW[1:]]
    assert texts(openclaw(*plain_entries).messages) == ["Hello", "Looking", "a b", "Done"]


def test_only_the_branch_that_was_spoken_last_is_read() -> None:
    other = {"type": "message", "id": "8", "parentId": "3", "message": {"role": "assistant", "content": "Another way"}}
    found = openclaw(*OPENCLAW[1:], other)
    assert texts(found.messages) == ["Hello", "Another way"]
    assert "left out an entry of another branch (4×)" in found.notes


@pytest.mark.parametrize("parent", ["nowhere", "7"])
def test_broken_or_circular_links_lose_nothing(parent: str) -> None:
    entries = [dict(entry) for entry in OPENCLAW[1:]]
    entries[4]["parentId"] = parent
    assert texts(openclaw(*entries).messages) == ["Hello", "Looking", "a b", "Done"]


def test_an_entry_with_a_used_id_is_left_out() -> None:
    again = {**OPENCLAW[4], "message": {"role": "user", "content": "again"}}
    found = openclaw(*OPENCLAW[1:], again)
    assert "again" not in texts(found.messages)
    assert "left out an entry whose id was used before (1×)" in found.notes


def test_after_a_compaction_the_summary_stands_for_what_it_covers() -> None:
    summary = {"type": "compaction", "id": "8", "parentId": "7", "summary": "They said hello.", "firstKeptEntryId": "7"}
    after = {"type": "message", "id": "9", "parentId": "8", "message": {"role": "user", "content": "Next"}}
    found = openclaw(*OPENCLAW[1:], summary, after)
    assert texts(found.messages) == ["Summary of the conversation before: They said hello.", "Done", "Next"]
    assert found.settings["model"] == "openai/gpt-x"


def test_images_become_blobs_and_broken_ones_are_noted() -> None:
    good = {"type": "image", "data": base64.b64encode(b"png").decode(), "mimeType": "image/png"}
    bad = {"type": "image", "data": "%%%", "mimeType": "image/png"}
    script = {"type": "image", "data": good["data"], "mimeType": "text/html"}
    found = openclaw({"type": "message", "message": {"role": "user", "content": [good, bad, script]}})
    assert list(found.blobs.values()) == [b"png"]
    assert found.notes == ("left out an image that is broken or too large (2×)",)


def test_half_a_character_is_replaced() -> None:
    found = openclaw({"type": "message", "message": {"role": "user", "content": "a\ud800b 😀"}})
    assert texts(found.messages) == ["a\ufffdb 😀"]


def test_an_import_is_mended_and_says_so() -> None:
    entries = [entry for entry in OPENCLAW[1:] if entry["id"] != "5"]
    found = openclaw(*entries)
    event = imported(found.messages, source=found.source, notes=found.notes)
    assert [m.role for m in event.messages] == ["user", "assistant", "tool", "assistant"]
    assert any("no recorded result" in note for note in event.notes)


junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from(["", "x", "user", "assistant", "toolResult", "text", "image", "c1", "3"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "role", "content", "text", "id", "parentId", "message", "data", "arguments", "toolCallId"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
junk_entry = st.fixed_dictionaries(
    {"type": st.sampled_from(["message", "compaction", "custom_message", "model_change", "session_info", "branch_summary", "?"])},
    optional={
        "id": junk,
        "parentId": junk,
        "message": junk,
        "content": junk,
        "summary": junk,
        "firstKeptEntryId": junk,
        "name": junk,
    },
)


@quick
@given(st.lists(junk_entry, max_size=8))
def test_no_foreign_file_breaks_the_reader(entries: list[dict[str, object]]) -> None:
    found = openclaw(*entries)
    event = imported(found.messages, source=found.source, notes=found.notes)
    assert [m.role for m in event.messages[:1]] in ([], ["user"])


def test_a_file_on_disk_is_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(exported(*EVERY_KIND)) + "\n", encoding="utf-8")
    with path.open(encoding="utf-8", newline="\n") as lines:
        found = read_transcript(lines, label=TRUSTED)
    assert len(found.events) == len(EVERY_KIND)
