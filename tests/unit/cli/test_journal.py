import json

import pytest

from ostiary.cli.journal import as_data, as_lines
from ostiary.cli.logs import newest, shown
from ostiary.cli.output import safe, table
from ostiary.contracts.content import Text, ToolCall
from ostiary.contracts.events import KINDS, Erased, ModelAnswered, Recorded, ToolIntended
from ostiary.contracts.model import Usage
from tests.unit.gateway.fakes import OWNER_LABEL


def test_an_answer_is_told_with_its_words_and_its_cost() -> None:
    parts = (Text(text="Let me\x1b[31m look.", label=OWNER_LABEL), ToolCall(id="1", name="ls", arguments="{}"))
    event = ModelAnswered(step=1, parts=parts, stop="tool_calls", usage=Usage(input=5, output=2, cost=0.25), model="a/b")
    lines = as_lines(Recorded(session="s", seq=3, turn="turn_1", at=0.0, event=event))
    assert "a/b answered step 1 (tool_calls; 5 in, 2 out, $0.2500)" in lines
    assert "│ Let me[31m look." in lines
    assert "│ [call] ls {}" in lines


def test_every_kind_of_event_has_words() -> None:
    from ostiary.cli.journal import _TELL

    assert set(_TELL) == {*KINDS.values(), Erased}


def test_programs_get_the_whole_event() -> None:
    event = ToolIntended(call_id="1", name="ls", arguments="{}", call_key="k", repeatable=True, layer="tools")
    data = json.loads(json.dumps(as_data(Recorded(session="s", seq=1, turn="t", at=1.5, event=event))))
    assert (data["kind"], data["event"]["name"]) == ("tool.intended", "ls")


@pytest.mark.parametrize("text", ["\x1b]0;owned\x07", "\x9b31m", "a\x08b", "\r"])
def test_text_of_others_cannot_steer_the_terminal(text: str) -> None:
    assert not set(safe(text)) & {"\x1b", "\x07", "\x9b", "\x08", "\r"}


def test_tables_line_up() -> None:
    assert table([("a", "bb"), ("ccc", "d")], ("X", "Y")) == "X    Y\na    bb\nccc  d"


def test_log_lines_are_told_in_words_and_others_as_they_are(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "ostiary.log"
    entry = {"at": "2026-01-01T00:00:00", "level": "info", "logger": "ostiary.intake", "message": "hello"}
    path.write_text("old\n" + json.dumps(entry) + "\nnot json\n")
    assert [shown(line) for line in newest(path, 2)] == ["2026-01-01T00:00:00  info    intake: hello", "not json"]
