"""Old tool results are shortened in what is sent to a provider whose cache has run out; the journal keeps every word."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.engines import Tool, engine
from tests.unit.core.routing.inbound import quick

from ostiary.contracts.content import AssistantMessage, Image, Message, Text, ToolCall, ToolMessage, ToolOutcome, UserMessage
from ostiary.contracts.events import ToolResulted
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.model import ModelFacts, ModelRef, ModelRequest
from ostiary.contracts.tool import ToolResult
from ostiary.core.agent.pruning import PruningRules, has_cache, pruned, sent_messages, shortened
from ostiary.core.agent.run import RunRules
from ostiary.core.agent.tool_results import ToolLimits
from ostiary.core.sessions.session import SYSTEM_LABEL, Session
from ostiary.kit.house import OneModel
from ostiary.kit.models import ScriptedModel, Step, call, say

ON = PruningRules(enabled=True)
CLAUDE = ModelFacts(ref=ModelRef("anthropic", "claude"), context_window=10_000)


def asked(text: str) -> UserMessage:
    return UserMessage(parts=(Text(text=text, label=SYSTEM_LABEL),))


def exchange(number: int, size: int, *, name: str = "read", images: int = 0) -> list[Message]:
    picture = Image(digest="d", media_type="image/png", label=SYSTEM_LABEL)
    result = ToolOutcome(
        call_id=f"c{number}",
        name=name,
        text=f"<{number}>" + "x" * size + f"</{number}>",
        is_error=False,
        label=SYSTEM_LABEL,
        images=(picture,) * images,
    )
    wish = AssistantMessage(parts=(ToolCall(id=f"c{number}", name=name, arguments="{}"),))
    said = AssistantMessage(parts=(Text(text="done", label=SYSTEM_LABEL),))
    return [asked(f"do {number}"), wish, ToolMessage(outcomes=(result,)), said]


def talk(*sizes: int, name: str = "read", images: int = 0) -> list[Message]:
    return [message for number, size in enumerate(sizes) for message in exchange(number, size, name=name, images=images)]


def results(messages: Sequence[Message]) -> list[str]:
    return [outcome.text for message in messages if isinstance(message, ToolMessage) for outcome in message.outcomes]


def sent(messages: Sequence[Message], rules: PruningRules = ON, window: int = 40_000) -> list[str]:
    changed = pruned(messages, rules, window)
    return results([changed.get(place, message) for place, message in enumerate(messages)])


def test_long_old_results_keep_head_and_tail_and_say_how_long_they_were() -> None:
    first, second, last = sent(talk(9000, 3000, 9000))
    assert first.startswith("<0>" + "x" * 1497 + "\n...\n" + "x" * 1496 + "</0>")
    assert "9007 characters" in first
    assert len(second) == 3007
    assert len(last) == 9007


def test_below_the_soft_share_of_the_window_nothing_changes() -> None:
    assert pruned(talk(9000, 100, 100), ON, 40_000) == {}


def test_beyond_the_hard_share_the_oldest_are_cleared_until_it_fits() -> None:
    texts = sent(talk(*[3900] * 20), window=100_000)
    cleared = [text == ON.placeholder for text in texts]
    assert cleared == sorted(cleared, reverse=True)
    assert 0 < sum(cleared) < 18
    assert sum(map(len, texts)) < 51_000


def test_little_is_never_cleared_and_clearing_can_be_off() -> None:
    assert ON.placeholder not in sent(talk(*[3900] * 6), window=20_000)
    assert ON.placeholder not in sent(talk(*[3900] * 20), replace(ON, clears=False), window=50_000)


def test_results_behind_the_last_answers_stay_and_without_enough_answers_everything_does() -> None:
    texts = sent(talk(9000, 9000), replace(ON, keep_assistants=1))
    assert [len(text) < 9000 for text in texts] == [True, True]
    texts = sent(talk(9000, 9000), replace(ON, keep_assistants=2))
    assert [len(text) < 9000 for text in texts] == [True, False]
    assert pruned(talk(9000), ON, 1000) == {}


def test_results_with_pictures_are_never_touched() -> None:
    messages = talk(*[30_000] * 4, images=1)
    assert sent(messages) == results(messages)


@pytest.mark.parametrize(
    ("allow", "deny", "is_pruned"),
    [
        ((), (), True),
        (("read",), (), True),
        (("EXEC", "Re*"), (), True),
        (("exec",), (), False),
        ((), ("*EA*",), False),
        (("read",), ("read",), False),
    ],
)
def test_tools_are_allowed_and_denied_by_name(allow: tuple[str, ...], deny: tuple[str, ...], is_pruned: bool) -> None:
    first, *_ = sent(talk(20_000, 10, 10), replace(ON, allow=allow, deny=deny))
    assert (len(first) < 20_000) is is_pruned


@quick
@given(sizes=st.lists(st.integers(0, 9000), max_size=12), window=st.integers(1, 200_000), keep=st.integers(0, 5))
def test_only_results_change_and_never_grow_beyond_their_note(sizes: list[int], window: int, keep: int) -> None:
    messages = talk(*sizes)
    changed = pruned(messages, replace(ON, keep_assistants=keep, clear_from=1000), window)
    assert all(isinstance(messages[place], ToolMessage) for place in changed)
    before, after = results(messages), sent(messages, replace(ON, keep_assistants=keep, clear_from=1000), window)
    assert all(len(one) <= len(other) for one, other in zip(after, before, strict=True))


@pytest.mark.parametrize(
    ("ref", "caches"),
    [("anthropic/claude", True), ("openrouter/anthropic/claude", True), ("openai/gpt", False), ("ollama/anthropic-like", False)],
)
def test_only_anthropics_models_have_such_a_cache(ref: str, caches: bool) -> None:
    assert has_cache(ModelRef.parse(ref)) is caches


def test_what_was_sent_shortened_stays_so_until_the_cache_runs_out_again() -> None:
    session = Session(SessionKey("main", "main"))
    session.messages = talk(9000, 9000, 9000)
    session.answered_at = 1000.0
    assert sent_messages(session, ON, CLAUDE, 1299.0) is session.messages
    first = results(sent_messages(session, ON, CLAUDE, 1301.0))
    session.answered_at = 1302.0
    session.messages += exchange(3, 9000)
    again = results(sent_messages(session, ON, CLAUDE, 1310.0))
    later = results(sent_messages(session, ON, CLAUDE, 2000.0))
    assert [len(text) < 9000 for text in first] == [True, True, False]
    assert again[:3] == first
    assert [len(text) < 9000 for text in later] == [True, True, True, False]
    assert results(session.messages)[0].startswith("<0>" + "x" * 9000)


@quick
@given(sizes=st.lists(st.integers(0, 9000), max_size=8), excess=st.integers(-10, 50_000))
def test_shortening_tells_what_is_still_lacking(sizes: list[int], excess: int) -> None:
    messages = talk(*sizes)
    made, lacking = shortened(messages, excess)
    saved = sum(map(len, results(messages))) - sum(map(len, results(made)))
    assert lacking == max(0, excess - saved)
    assert [message.role for message in made] == [message.role for message in messages]


async def test_the_journal_keeps_what_a_request_left_out(tmp_path: Path) -> None:
    async def much(arguments: object) -> ToolResult:
        return ToolResult(text="y" * 9000)

    def answer(request: ModelRequest) -> Step:
        return say("done") if request.messages[-1].role == "tool" else call("probe")

    model = ScriptedModel(answer)
    catalogue = OneModel(replace(CLAUDE, context_window=20_000))
    parts: dict[str, Any] = {"catalogue": catalogue, "run": RunRules(pruning=ON), "limits": ToolLimits(result_chars=20_000)}
    async with engine(tmp_path, model, tools=[Tool(act=much)], **parts) as house:
        for number in range(1, 4):
            await house.channel.say("go")
            await house.channel.until_sent(number)
            await house.settle(lambda: not house.lanes.running)
        await house.clock.advance(301)
        await house.channel.say("go")
        await house.channel.until_sent(4)
        kept: list[ToolResulted] = await house.events(ToolResulted)
    assert [len(text) for text in results(model.requests[4].messages)] == [9000, 9000]
    assert len(results(model.requests[6].messages)[0]) < 9000
    assert results(model.requests[7].messages)[0] == results(model.requests[6].messages)[0]
    assert {len(each.text) for each in kept} == {9000}
