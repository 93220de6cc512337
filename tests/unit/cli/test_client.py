from pathlib import Path

import pytest

from ostiary.cli.client import Gateway, find_gateway
from ostiary.contracts.engine import Submission
from ostiary.contracts.errors import BadInput, NotAllowed, OstiaryError
from tests.unit.cli.fakes import running_gateway
from tests.unit.gateway.fakes import FakeEngine

HI = {"model": "ostiary", "messages": [{"role": "user", "content": "hi"}]}


def found(home: Path) -> Gateway:
    gateway = find_gateway(home)
    assert gateway is not None
    return gateway


def test_a_running_gateway_is_found_and_answers(tmp_path: Path) -> None:
    with running_gateway(tmp_path):
        answer = found(tmp_path).ask(HI, {})
    assert answer["choices"][0]["message"]["content"] == "hello"


def test_nothing_is_found_where_nothing_runs(tmp_path: Path) -> None:
    assert find_gateway(tmp_path) is None


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"url": 1}', '{"url": "http://127.0.0.1:1", "pid": 999999999, "token": "t"}']
)
def test_a_stale_or_broken_announcement_counts_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "gateway.json").write_text(content)
    assert find_gateway(tmp_path) is None


def test_the_stream_comes_in_pieces_and_ends_with_the_facts(tmp_path: Path) -> None:
    def restart(engine: FakeEngine, submission: Submission, item: int) -> None:
        engine.start(submission, item)
        engine.delta(submission, "one")
        engine.delta(submission, "two", attempt=2)
        engine.end(submission, item, text="two")

    with running_gateway(tmp_path, FakeEngine(restart)):
        pieces = list(found(tmp_path).stream(HI, {}))
    assert [(piece.kind, piece.text) for piece in pieces[:3]] == [("text", "one"), ("restart", ""), ("text", "two")]
    assert [piece.kind for piece in pieces[3:]] == ["end", "usage"]
    assert pieces[3].fields["model"] == "fake/echo"


def test_a_failed_turn_is_an_error_with_its_own_sentence(tmp_path: Path) -> None:
    def fail(engine: FakeEngine, submission: Submission, item: int) -> None:
        engine.start(submission, item)
        engine.delta(submission, "so far")
        engine.end(submission, item, status="failed", reason="The model is gone.")

    with running_gateway(tmp_path, FakeEngine(fail)), pytest.raises(OstiaryError, match="The model is gone"):
        list(found(tmp_path).stream(HI, {}))


def test_a_bad_request_is_the_callers_fault(tmp_path: Path) -> None:
    with running_gateway(tmp_path), pytest.raises(BadInput, match="messages"):
        found(tmp_path).ask({"messages": []}, {})


def test_a_wrong_token_is_not_allowed(tmp_path: Path) -> None:
    with running_gateway(tmp_path):
        stranger = Gateway(found(tmp_path).url, "wrong")
        with pytest.raises(NotAllowed):
            stranger.get("/v1/models")


def test_a_gateway_that_went_away_says_what_to_do(tmp_path: Path) -> None:
    with running_gateway(tmp_path):
        gateway = found(tmp_path)
    with pytest.raises(OstiaryError, match="went away") as error:
        gateway.get("/v1/models")
    assert "ostiary up" in error.value.hint
