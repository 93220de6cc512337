"""What people are told when a turn is over."""

import pytest

from ostiary.contracts.events import TurnStarted
from ostiary.contracts.identity import Principal
from ostiary.contracts.messages import Address, UserId
from ostiary.contracts.model import Usage
from ostiary.core.agent.reply import closing_reply, usage_footer
from ostiary.core.sessions.session import Turn


def turn(*texts: str, failed_tool: str = "") -> Turn:
    user = UserId(channel="memory", stable_id="owner")
    started = TurnStarted(inputs=(), principal=Principal(user=user), reply_to=Address(channel="m", account="a", chat="c"))
    return Turn(id="t", started=started, started_at=0.0, items=[], texts=list(texts), failed_tool=failed_tool)


def test_the_last_text_is_the_answer() -> None:
    assert closing_reply(turn("let me look", "here it is"), "completed", "") == "here it is"


def test_a_failure_is_one_sentence_and_what_to_do() -> None:
    said = closing_reply(turn(), "failed", "the server is away.", hint="Try again.")
    assert said == "I could not answer. The server is away. Try again."


def test_what_was_shown_is_not_taken_back_when_a_turn_is_cut() -> None:
    assert closing_reply(turn(), "aborted", "stopped", partial="half") == "half"
    assert closing_reply(turn(), "aborted", "stopped") == ""
    assert closing_reply(turn(), "timeout", "it took too long", partial="half") == "half\n\nI stopped: it took too long."


def test_notices_come_with_an_answer_and_never_alone() -> None:
    assert closing_reply(turn("hi"), "completed", "", notices=("(trimmed)",)) == "(trimmed)\n\nhi"
    assert closing_reply(turn("NO_REPLY"), "completed", "", notices=("(trimmed)",)) == ""


@pytest.mark.parametrize(
    ("setting", "cost", "footer"),
    [
        ("", 1.0, ""),
        ("off", 1.0, ""),
        ("tokens", 1.0, "\n\n_1,203 tokens in, 4 out_"),
        ("cost", 0.5, "\n\n_$0.5000_"),
        ("cost", None, "\n\n_cost unknown_"),
        ("full", 0.5, "\n\n_1,203 tokens in, 4 out, $0.5000_"),
        ("full", None, "\n\n_1,203 tokens in, 4 out_"),
    ],
)
def test_the_footer_shows_what_was_asked_for(setting: str, cost: float | None, footer: str) -> None:
    assert usage_footer(setting, Usage(input=1000, cache_read=200, cache_write=3, output=4, cost=cost)) == footer
