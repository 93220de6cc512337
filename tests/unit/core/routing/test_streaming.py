"""Block streaming: sizes, fences, pauses, and what a crash leaves behind."""

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostiary.contracts.errors import StoreUnavailable
from ostiary.core.routing.chunks import open_fence
from ostiary.core.routing.streaming import (
    CHANNEL_RULES,
    INTERRUPTED,
    Block,
    BlockStream,
    HumanDelay,
    Progress,
    StreamRules,
    human_delay,
    streamed,
)
from ostiary.kit.clock import ManualClock

ON = StreamRules(enabled=True, minimum=40, maximum=80)
_PIECES = ("word ", "A sentence. ", "\n", "\n\n", "```7\n", "code = 1\n", "```\n", "- item\n", "👨\u200d👩\u200d👧", "x" * 25)
_TEXTS = st.lists(st.sampled_from(_PIECES), max_size=80).map("".join)


def run(stream: BlockStream, text: str, *, step: int = 7) -> list[Block]:
    return [block for at in range(0, len(text), step) for block in stream.feed(text[at : at + step], 0.0)]


def test_off_by_default_everything_waits_for_the_end() -> None:
    stream = BlockStream(StreamRules())
    assert run(stream, "word " * 1000) == []
    assert stream.finish("the reply") == [Block(place=0, text="the reply")]


def test_message_end_waits_for_the_end() -> None:
    stream = BlockStream(StreamRules(enabled=True, break_at="message_end"))
    assert run(stream, "word " * 1000) == []


def test_the_defaults_are_those_of_the_channels() -> None:
    assert (StreamRules().minimum, StreamRules().maximum, StreamRules().break_at) == (800, 1200, "text_end")
    assert {name: (rules.gather, rules.idle) for name, rules in CHANNEL_RULES.items()} == {
        "signal": (1500, 1.0),
        "slack": (1500, 1.0),
        "discord": (1500, 1.0),
        "irc": (300, 1.0),
    }
    assert not any(rules.enabled for rules in CHANNEL_RULES.values())


def test_a_block_ends_with_a_paragraph_if_one_ends_in_time() -> None:
    blocks = run(BlockStream(ON), f"{'a' * 50}\n\n{'b' * 20}")
    assert blocks == [Block(place=0, text="a" * 50)]


def test_without_a_paragraph_it_ends_with_a_sentence_at_the_maximum() -> None:
    blocks = run(BlockStream(ON), "One sentence here. " * 6)
    assert blocks[0].text == "One sentence here. One sentence here. One sentence here. One sentence here."


def test_a_block_never_ends_inside_a_fence() -> None:
    text = f"{'a' * 30}\n\n```py\nx = 1\n\ny = 2\n\nz = 3\n```\n\nend of it all, which is long enough to be a block by itself"
    blocks = run(BlockStream(ON), text)
    assert [open_fence(block.text) for block in blocks] == [None] * len(blocks)
    assert any("x = 1\n\ny = 2\n\nz = 3\n```" in block.text for block in blocks)


def test_a_fence_longer_than_a_block_is_closed_and_opened_again() -> None:
    text = "```py\n" + "\n".join(f"line_{n} = {n}" for n in range(30)) + "\n```"
    stream = BlockStream(ON)
    blocks = [*run(stream, text), *stream.finish(text)]
    assert len(blocks) > 3
    assert all(block.text.startswith("```py\n") and block.text.endswith("\n```") for block in blocks)
    assert sum(block.text.count("line_") for block in blocks) == 30


def test_gathering_waits_for_more_until_nothing_comes() -> None:
    stream = BlockStream(StreamRules(enabled=True, minimum=40, maximum=80, gather=200, idle=1.0))
    assert stream.feed("One sentence here. " * 4, 10.0) == []
    assert stream.tick(10.9) == []
    [block] = stream.tick(11.0)
    assert block.text == "One sentence here. One sentence here. One sentence here. One sentence here."
    assert stream.tick(99.0) == []


def test_a_pause_sends_no_crumbs() -> None:
    stream = BlockStream(StreamRules(enabled=True, gather=1500))
    stream.feed("Let me look.", 0.0)
    assert stream.tick(60.0) == []


def test_blocks_are_no_longer_than_the_channel_takes() -> None:
    blocks = run(BlockStream(StreamRules(enabled=True), limit=100), "word " * 400)
    assert max(len(block.text) for block in blocks) <= 100


def test_what_is_left_comes_at_the_end() -> None:
    stream = BlockStream(ON)
    text = f"{'a' * 50}\n\nthe rest"
    assert [block.text for block in (*run(stream, text), *stream.finish(f"{text}\n\n_3 tokens_"))] == [
        "a" * 50,
        "the rest\n\n_3 tokens_",
    ]


def test_nothing_is_left_when_everything_was_sent() -> None:
    stream = BlockStream(ON)
    run(stream, f"{'a' * 50}\n\n{'b' * 9}")
    assert stream.finish("a" * 50) == []
    assert stream.finish("") == []


def test_what_is_put_before_the_reply_comes_with_the_rest() -> None:
    stream = BlockStream(ON)
    run(stream, f"{'a' * 50}\n\nrest")
    assert stream.finish(f"(A notice.)\n\n{'a' * 50}\n\nrest") == [Block(place=1, text="(A notice.)\n\nrest")]


def test_a_resumed_stream_says_nothing_twice() -> None:
    text = "".join(f"Paragraph number {n} has some words in it.\n\n" for n in range(10))
    whole = run(BlockStream(ON), text)
    first = BlockStream(ON)
    begun = run(first, text[:150])
    second = BlockStream(ON, progress=Progress.unpack(first.progress.packed()))
    assert [*begun, *run(second, text)] == whole


def test_another_attempt_that_says_the_same_goes_on() -> None:
    text = "".join(f"Paragraph number {n} has some words in it.\n\n" for n in range(10))
    stream = BlockStream(ON)
    begun = run(stream, text[:130])
    stream.restart()
    assert [*begun, *run(stream, text)] == run(BlockStream(ON), text)


def test_another_attempt_with_other_words_ends_marked_interrupted() -> None:
    stream = BlockStream(ON)
    run(stream, f"{'a' * 50}\n\nmore")
    stream.restart()
    assert run(stream, "b" * 500) == []
    assert stream.finish("b" * 500) == [Block(place=1, text=f"{INTERRUPTED}\n\n{'b' * 500}")]


def test_keys_name_turn_step_and_block() -> None:
    assert Block(place=3, text="x").key("turn_1", 2) == "turn_1:2:3"


@settings(max_examples=200)
@given(_TEXTS, st.integers(1, 40), st.integers(20, 200), st.booleans())
def test_all_words_leave_once_and_in_order(text: str, step: int, minimum: int, gathers: bool) -> None:
    rules = StreamRules(enabled=True, minimum=minimum, maximum=minimum + 60, gather=300 if gathers else 0)
    stream = BlockStream(rules)
    blocks = [*run(stream, text, step=step), *stream.tick(99.0), *stream.finish(text)]

    def letters(each: str) -> str:
        return "".join(char for char in each if char.isalpha())

    assert "".join(letters(block.text) for block in blocks) == letters(text)
    assert [block.place for block in blocks] == list(range(len(blocks)))
    assert all(open_fence(block.text) is None for block in blocks[:-1])


@settings(max_examples=100)
@given(_TEXTS, st.data())
def test_a_crash_between_two_blocks_loses_none(text: str, data: st.DataObject) -> None:
    whole = run(BlockStream(ON), text, step=500)
    kept = data.draw(st.integers(0, len(whole)))
    last = whole[kept - 1].progress if kept else Progress()
    assert run(BlockStream(ON, progress=last), text, step=500) == whole[kept:]


@settings(max_examples=100)
@given(_TEXTS, st.integers(0, 600))
def test_a_crash_at_any_point_repeats_no_block(text: str, at: int) -> None:
    first = BlockStream(ON)
    begun = run(first, text[:at])
    second = BlockStream(ON, progress=Progress.unpack(first.progress.packed()))
    rest = [*run(second, text), *second.finish(text)]
    places = [block.place for block in (*begun, *rest)]
    assert places == list(range(len(places)))
    assert not any(INTERRUPTED in block.text for block in rest)


async def test_blocks_are_committed_in_order_also_those_of_a_pause() -> None:
    clock = ManualClock()
    committed: list[int] = []
    stream = BlockStream(StreamRules(enabled=True, minimum=40, maximum=80, gather=150, idle=1.0))

    async def commit(block: Block) -> None:
        await anyio.lowlevel.checkpoint()
        committed.append(block.place)

    with anyio.fail_after(5):
        async with streamed(stream, clock, 1.0, commit) as feed:
            await feed("One sentence here. " * 4)
            assert committed == []
            await anyio.wait_all_tasks_blocked()
            await clock.advance(1.0)
            assert committed == [0]
            await feed("Another sentence is here. " * 12)
    assert committed == [0, *range(1, stream.progress.blocks)]


async def test_a_block_that_cannot_be_committed_ends_the_stream_with_that_error() -> None:
    clock = ManualClock()
    stream = BlockStream(StreamRules(enabled=True, minimum=40, maximum=80, gather=150, idle=1.0))

    async def commit(block: Block) -> None:
        raise StoreUnavailable("disk full")

    async def turn() -> None:
        async with streamed(stream, clock, 1.0, commit) as feed:
            await feed("One sentence here. " * 4)
            await anyio.wait_all_tasks_blocked()
            await clock.advance(1.0)
            await anyio.sleep_forever()

    with anyio.fail_after(5), pytest.raises(StoreUnavailable):
        await turn()


async def test_what_the_model_raises_comes_out_unchanged() -> None:
    async def commit(block: Block) -> None:
        raise AssertionError("nothing to commit")

    with anyio.fail_after(5), pytest.raises(LookupError):
        async with streamed(BlockStream(ON), ManualClock(), 1.0, commit):
            raise LookupError("model")


@given(st.floats(0, 1), st.integers(1, 9))
def test_a_natural_pause_takes_800_to_2500_ms(chance: float, place: int) -> None:
    assert 0.8 <= human_delay(HumanDelay(mode="natural", shortest=1, longest=2), place, chance) <= 2.5


def test_no_pause_before_the_first_block_nor_when_off() -> None:
    assert human_delay(HumanDelay(mode="natural"), 0, 0.5) == 0.0
    assert human_delay(HumanDelay(), 4, 0.5) == 0.0
    assert human_delay(HumanDelay(mode="custom", shortest=300, longest=100), 1, 1.0) == 0.3
