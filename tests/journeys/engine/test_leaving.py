"""How a reply leaves: in blocks while it is being written, marked as an answer, with a typing sign before it."""

from dataclasses import replace

import anyio
import pytest

from ostiary.contracts.channel import Capabilities
from ostiary.contracts.content import AssistantMessage
from ostiary.contracts.engine import Submission
from ostiary.contracts.errors import ModelUnavailable
from ostiary.contracts.events import Delta, TurnEnded
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import ChatKind, UserId
from ostiary.contracts.model import Restarted, TextDelta
from ostiary.contracts.text import Rendered, StyleRange
from ostiary.core.routing.delivery import Manner
from ostiary.core.routing.streaming import INTERRUPTED, StreamRules
from ostiary.core.routing.supervisor import Supervisor
from ostiary.core.routing.typing_signs import TypingRules
from ostiary.kit.channels import MemoryChannel
from ostiary.kit.clock import ManualClock
from ostiary.kit.models import ScriptedModel, call, cut, fail, say
from tests.journeys.engine.conftest import OpenHouse, Probe, pass_time

MAIN = SessionKey("main", "main")
OWNER = Principal(user=UserId(channel="memory", stable_id="owner"), role="owner")
STREAM = {"memory": Manner(stream=StreamRules(enabled=True, minimum=20, maximum=40))}
PARTS = [f"This is paragraph number {number}.\n\n" for number in range(6)]
WHOLE = "".join(PARTS).strip()


async def left_over(engine: Supervisor) -> dict[str, bytes]:
    return dict(await engine.test_store.values("stream"))  # type: ignore[attr-defined]


async def ended(engine: Supervisor) -> TurnEnded:
    events = await engine.test_store.read(MAIN)  # type: ignore[attr-defined]
    return next(each.event for each in reversed(events) if isinstance(each.event, TurnEnded))


def texts(channel: MemoryChannel) -> list[str]:
    return [each.text for each in channel.sent]


async def test_blocks_arrive_in_order_and_together_are_the_reply(house: OpenHouse, channel: MemoryChannel) -> None:
    async with house(model=ScriptedModel([say(*PARTS)]), manners=STREAM) as engine:
        accepted = await channel.say("hi")
        outcome = await engine.outcome(accepted.item or 0)
        await channel.until_sent(6)
        assert outcome.text == WHOLE
        assert await left_over(engine) == {}
    assert texts(channel) == [part.strip() for part in PARTS]
    assert [each.key.split(":", 1)[1] for each in channel.sent] == [f"1:{place}:0" for place in range(6)]


async def test_a_block_is_out_before_the_answer_is_complete(house: OpenHouse, channel: MemoryChannel) -> None:
    rest = anyio.Event()
    step = say(*PARTS[:2]).held(rest).then(say(*PARTS[2:]))
    async with house(model=ScriptedModel([step]), manners=STREAM) as engine:
        accepted = await channel.say("hi")
        await channel.until_sent(1)
        assert len(await left_over(engine)) == 1
        rest.set()
        assert (await engine.outcome(accepted.item or 0)).text == WHOLE
        await channel.until_sent(6)
    assert " ".join(texts(channel)).split() == WHOLE.split()


async def test_a_pause_of_the_model_brings_out_what_is_complete(
    house: OpenHouse, channel: MemoryChannel, clock: ManualClock
) -> None:
    rules = StreamRules(enabled=True, minimum=20, maximum=400, gather=300)
    rest = anyio.Event()
    step = say("A sentence that is complete. And one that is").held(rest).then(say(" not."))
    async with house(model=ScriptedModel([step]), manners={"memory": Manner(stream=rules)}):
        await channel.say("hi")
        await pass_time(clock, lambda: len(channel.sent) == 1)
        rest.set()
        await channel.until_sent(2)
    assert " ".join(texts(channel)) == "A sentence that is complete. And one that is not."


async def test_stopping_sends_what_was_shown_and_nothing_twice(house: OpenHouse, channel: MemoryChannel) -> None:
    never = anyio.Event()
    step = say(*PARTS[:3], "Half a").held(never)
    async with house(model=ScriptedModel([step, say("ok")]), manners=STREAM) as engine:
        await channel.say("hi")
        await channel.until_sent(3)
        await engine.stop(MAIN, by=OWNER, reason="stopped")
        await channel.until_sent(4)
        assert (await ended(engine)).partial == "".join(PARTS[:3]) + "Half a"
        assert await left_over(engine) == {}
    assert texts(channel) == [*(part.strip() for part in PARTS[:3]), "Half a"]


async def crash_after(house: OpenHouse, channel: MemoryChannel, blocks: int) -> None:
    """A life that ends when `blocks` of them are out and the model is still writing."""
    never = anyio.Event()
    step = say(*PARTS[: blocks + 1]).held(never)
    async with house(model=ScriptedModel([step]), manners=STREAM, drain_seconds=0):
        await channel.say("hi")
        await channel.until_sent(blocks)


@pytest.mark.parametrize("blocks", [1, 2, 4])
async def test_after_a_crash_the_answer_goes_on_behind_what_was_sent(
    house: OpenHouse, channel: MemoryChannel, blocks: int
) -> None:
    await crash_after(house, channel, blocks)
    async with house(model=ScriptedModel([say(*PARTS)]), manners=STREAM) as engine:
        await channel.until_sent(6)
        assert await left_over(engine) == {}
    assert texts(channel) == [part.strip() for part in PARTS]
    assert len({each.key for each in channel.sent}) == 6


async def test_an_answer_that_goes_another_way_after_a_crash_says_so(house: OpenHouse, channel: MemoryChannel) -> None:
    await crash_after(house, channel, 2)
    already = len(channel.sent)
    async with house(model=ScriptedModel([say("Something else entirely.")]), manners=STREAM):
        await channel.until_sent(already + 1)
    assert texts(channel)[already:] == [f"{INTERRUPTED}\n\nSomething else entirely."]


async def test_what_was_sent_counts_even_if_streaming_was_switched_off_meanwhile(
    house: OpenHouse, channel: MemoryChannel
) -> None:
    await crash_after(house, channel, 2)
    async with house(model=ScriptedModel([say(*PARTS)])) as engine:
        await engine.outcome(1)
        await anyio.wait_all_tasks_blocked()
    assert " ".join(texts(channel)).split() == WHOLE.split()


async def test_stopping_a_turn_that_a_crash_cut_keeps_what_people_have_read(house: OpenHouse, channel: MemoryChannel) -> None:
    await crash_after(house, channel, 2)
    already = texts(channel)
    never = anyio.Event()
    model = ScriptedModel([say("").after(never)])
    async with house(model=model, manners=STREAM) as engine:
        with anyio.fail_after(5):
            while not model.requests:
                await anyio.lowlevel.checkpoint()
        await engine.stop(MAIN, by=OWNER, reason="stopped")
        assert (await ended(engine)).partial.split() == " ".join(already).split()
        assert await left_over(engine) == {}
    assert texts(channel) == already


async def test_another_attempt_goes_on_behind_what_the_first_one_sent(house: OpenHouse, channel: MemoryChannel) -> None:
    again = (*(TextDelta(part) for part in PARTS[:3]), Restarted(model="kit/b", reason="cut"), *say(*PARTS).events)
    async with house(model=ScriptedModel([replace(say(*PARTS), events=again)]), manners=STREAM):
        await channel.say("hi")
        await channel.until_sent(6)
    assert texts(channel) == [part.strip() for part in PARTS]


@pytest.mark.parametrize("step", [cut(*PARTS[:3]), fail(ModelUnavailable("away"), *PARTS[:3])], ids=["cut", "away"])
async def test_an_answer_that_breaks_off_is_said_to_be_interrupted(
    house: OpenHouse, channel: MemoryChannel, step: object
) -> None:
    async with house(model=ScriptedModel([step]), manners=STREAM) as engine:  # type: ignore[list-item]
        accepted = await channel.say("hi")
        await engine.outcome(accepted.item or 0)
        await anyio.wait_all_tasks_blocked()
        assert await left_over(engine) == {}
    assert texts(channel)[-1].startswith(INTERRUPTED)


async def test_words_before_a_tool_call_are_not_cut_in_the_middle(house: OpenHouse, channel: MemoryChannel) -> None:
    before = say(*PARTS[:2], "I look.").then(call("probe", {"n": 1}))
    async with house(model=ScriptedModel([before, say("Found it.")]), tools=[Probe()], manners=STREAM) as engine:
        accepted = await channel.say("hi")
        assert (await engine.outcome(accepted.item or 0)).text == "Found it."
        await channel.until_sent(4)
        assert await left_over(engine) == {}
    assert texts(channel) == [PARTS[0].strip(), PARTS[1].strip(), "I look.", "Found it."]


async def test_a_session_that_may_not_send_sends_no_blocks(house: OpenHouse, clock: ManualClock) -> None:
    fetching = MemoryChannel(capabilities=Capabilities(pushes=False))
    async with house(model=ScriptedModel([say(*PARTS)]), manners=STREAM, channels={"memory": fetching}) as engine:
        accepted = await fetching.say("hi")
        assert (await engine.outcome(accepted.item or 0)).text == WHOLE
    assert (fetching.attempts, fetching.typing) == ([], [])


async def test_a_block_that_cannot_be_stored_is_not_sent_until_it_is(
    house: OpenHouse, channel: MemoryChannel, clock: ManualClock
) -> None:
    from ostiary.contracts.errors import StoreUnavailable
    from ostiary.contracts.store import SetValue

    async with house(model=ScriptedModel([say(*PARTS), say(*PARTS)]), manners=STREAM) as engine:
        store = engine.test_store  # type: ignore[attr-defined]
        real, failures = store.commit, [StoreUnavailable("the disk is full")]

        async def flaky(writes: list[object], **rest: object) -> object:
            if failures and sum(isinstance(write, SetValue) for write in writes):
                raise failures.pop()
            return await real(writes, **rest)

        store.commit = flaky
        await channel.say("hi")
        await pass_time(clock, lambda: len(channel.sent) == 6)
    assert failures == []
    assert texts(channel) == [part.strip() for part in PARTS]


async def test_the_typing_sign_is_shown_at_once_and_again_until_the_reply(
    house: OpenHouse, channel: MemoryChannel, clock: ManualClock
) -> None:
    go = anyio.Event()
    async with house(model=ScriptedModel([say("done").after(go)])):
        await channel.say("hi")
        await channel.until_typing(1)
        await clock.advance(6)
        await channel.until_typing(2)
        go.set()
        await channel.until_sent(1)
        await clock.advance(60)
    assert [each.chat for each in channel.typing] == ["owner", "owner"]


async def test_in_a_group_the_sign_comes_with_the_first_words(house: OpenHouse, channel: MemoryChannel) -> None:
    first, rest = anyio.Event(), anyio.Event()
    step = say("Well").after(first).held(rest).then(say(", yes."))
    async with house(model=ScriptedModel([step])):
        message = replace(channel.message("hm", chat="team"), chat_kind=ChatKind.GROUP, mentions_us=False)
        await channel.say("hm", message=message)
        await anyio.wait_all_tasks_blocked()
        assert channel.typing == []
        first.set()
        await channel.until_typing(1)
        rest.set()
        await channel.until_sent(1)


async def test_a_channel_may_never_show_that_it_types(house: OpenHouse, channel: MemoryChannel) -> None:
    manners = {"memory": Manner(typing=TypingRules(mode="never"))}
    async with house(model=ScriptedModel([say("done")]), manners=manners):
        await channel.say("hi")
        await channel.until_sent(1)
    assert channel.typing == []


@pytest.mark.parametrize(
    ("mode", "answer", "target"),
    [
        ("off", ("hello",), ""),
        (
            "off",
            (
                "[[reply_to",
                "_current]] hello",
            ),
            "in-1",
        ),
        ("off", ("[[reply_to:77]] hello",), "77"),
        ("first", ("hello",), "in-1"),
        ("all", ("[[reply_to: 77 ]]\n\nhello",), "77"),
    ],
)
async def test_a_reply_names_the_message_it_answers(
    house: OpenHouse, channel: MemoryChannel, mode: str, answer: tuple[str, ...], target: str
) -> None:
    manners = {"memory": Manner(reply_to=mode)}  # type: ignore[arg-type]
    async with house(model=ScriptedModel([say(*answer)]), manners=manners) as engine, engine.watcher(str(MAIN)) as watcher:
        accepted = await channel.say("hi")
        outcome = await engine.outcome(accepted.item or 0)
        await channel.until_sent(1)
        shown = "".join(each.text for each in watcher.take_ready() if isinstance(each, Delta))
    assert [(each.text, each.reply_to) for each in channel.sent] == [("hello", target)]
    assert (outcome.text, shown) == ("hello", "hello")


async def test_a_streamed_reply_is_marked_once_or_everywhere(house: OpenHouse, channel: MemoryChannel) -> None:
    stream = STREAM["memory"].stream
    tagged = ScriptedModel([say("[[reply_to_current]] ", *PARTS[:2]), say("[[reply_to_current]] ", *PARTS[:2])])
    manner = {"memory": Manner(stream=stream, prefix="Bot: ")}
    async with house(model=tagged, manners=manner):
        await channel.say("hi")
        await channel.until_sent(2)
        await anyio.wait_all_tasks_blocked()
    assert [each.reply_to for each in channel.sent] == ["in-1", ""]
    assert [each.text[:5] for each in channel.sent] == ["Bot: ", "This "]
    async with house(model=tagged, manners={"memory": Manner(stream=stream, reply_to="all")}):
        await channel.say("hi")
        await channel.until_sent(4)
    assert [each.reply_to for each in channel.sent[2:]] == ["in-2", "in-2"]


async def test_a_reply_after_a_restart_still_knows_what_it_answers(house: OpenHouse, channel: MemoryChannel) -> None:
    asked, never = anyio.Event(), anyio.Event()
    manners = {"memory": Manner(reply_to="first")}

    def hang(request: object) -> object:
        asked.set()
        return say("lost").after(never)

    async with house(model=ScriptedModel([hang]), manners=manners, drain_seconds=0):
        await channel.say("hi")
        await asked.wait()
    async with house(model=ScriptedModel([say("found")]), manners=manners):
        await channel.until_sent(1)
    assert [(each.text, each.reply_to) for each in channel.sent] == [("found", "in-1")]


async def test_tags_are_no_part_of_what_the_model_remembers_to_have_shown(house: OpenHouse, channel: MemoryChannel) -> None:
    model = ScriptedModel([say("[[reply_to_current]] hello"), say("again")])
    async with house(model=model):
        await channel.say("hi")
        await channel.until_sent(1)
        await channel.say("and?")
        await channel.until_sent(2)
    said = model.requests[1].messages[1]
    assert isinstance(said, AssistantMessage)
    assert said.parts[0].text == "[[reply_to_current]] hello"  # type: ignore[union-attr]


async def test_rows_are_stored_as_the_channel_writes_them(house: OpenHouse, channel: MemoryChannel) -> None:
    def render(name: str, text: str) -> list[Rendered]:
        return [Rendered(word.upper(), (StyleRange(0, 1, "BOLD"),)) for word in text.split()]

    from ostiary.contracts.errors import ChannelUnavailable

    channel.errors = [ChannelUnavailable("away", retry_after=1000)]
    async with house(model=ScriptedModel([say("one two")]), render=render, drain_seconds=0) as engine:
        accepted = await channel.say("hi")
        await engine.outcome(accepted.item or 0)
    async with house(model=ScriptedModel([])):
        await channel.until_sent(2)
    assert [(each.text, each.ranges) for each in channel.sent] == [
        ("ONE", (StyleRange(0, 1, "BOLD"),)),
        ("TWO", (StyleRange(0, 1, "BOLD"),)),
    ]


@pytest.mark.parametrize("seconds", ["0.05", "5e-2"])
async def test_a_turn_may_be_given_less_time(house: OpenHouse, channel: MemoryChannel, seconds: str) -> None:
    never = anyio.Event()
    async with house(model=ScriptedModel([say("x").held(never)])) as engine:
        submission = Submission(message=channel.message("hi"), principal=OWNER, session=MAIN, directives={"timeout": seconds})
        accepted = await engine.submit(submission)
        with anyio.fail_after(5):
            outcome = await engine.outcome(accepted.item or 0)
        assert (outcome.status, outcome.reason) == ("timeout", "the turn took longer than 0.05 s")


async def test_a_graceful_stop_lets_a_send_in_flight_finish(house: OpenHouse, clock: ManualClock) -> None:
    begun, go = anyio.Event(), anyio.Event()

    class Slow(MemoryChannel):
        async def send(self, message: object) -> object:  # type: ignore[override]
            begun.set()
            await go.wait()
            return await super().send(message)  # type: ignore[arg-type]

    channel = Slow(capabilities=Capabilities(idempotent_send=False))

    async def live() -> None:
        async with house(model=ScriptedModel([say("bye")]), channels={"memory": channel}):
            await channel.say("hi")
            await begun.wait()

    async with anyio.create_task_group() as group:
        group.start_soon(live)
        await begun.wait()
        await anyio.wait_all_tasks_blocked()
        go.set()
    after = MemoryChannel(capabilities=Capabilities(idempotent_send=False))
    async with house(model=ScriptedModel([]), channels={"memory": after}):
        await anyio.wait_all_tasks_blocked()
    assert ([each.text for each in channel.sent], after.attempts) == (["bye"], [])
