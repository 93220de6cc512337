from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.contracts.messages import Attachment, Quoted
from ostiary.core.routing import desk as desk_module
from ostiary.core.routing.commands import Command, CommandCall, CommandReply
from ostiary.core.routing.desk import DeskRules
from ostiary.core.routing.directives import mentions_in, without
from ostiary.core.routing.intake import Handled
from tests.unit.core.routing.house import MAIN, OWN, House
from tests.unit.core.routing.inbound import direct, group, quick

PICTURE = Attachment(name="a.png", media_type="image/png", digest="0" * 64, size=1)


@pytest.mark.parametrize(
    "text", ["hello", "/frobnicate now", "/usr/bin/env is a path", "/", "see https://x.org/status", "a/status"]
)
async def test_ordinary_text_and_unknown_slash_words_go_on_untouched(text: str) -> None:
    assert await House().hears(text) == Handled(text=text)


async def test_a_command_is_answered_without_the_model() -> None:
    assert "claude-opus-5" in await House().says("/status")


async def test_a_strangers_command_is_ignored_in_silence() -> None:
    house = House()
    assert await house.hears("/context", owner=False) == Handled(reply="")
    assert await house.hears("/new", owner=False, session=MAIN) == Handled(reply="")
    assert house.controls.asked == []


async def test_a_stranger_may_begin_anew_in_a_private_conversation_of_their_own() -> None:
    house = House()
    await house.says("/new", owner=False, session=OWN)
    assert house.controls.asked == ["reset /new"]


@pytest.mark.parametrize("text", ["/think high", "/think high hello", "hello /model sonnet", "hey /status", "/queue collect"])
async def test_a_strangers_directives_and_shortcuts_are_plain_text(text: str) -> None:
    house = House()
    assert await house.hears(text, owner=False) == Handled(text=text)
    assert house.controls.asked == []


async def test_directives_alone_are_kept_for_the_session() -> None:
    house = House()
    reply = await house.says("/think high /verbose on")
    assert house.controls.settings == {"thinking": "high", "verbose": "on"}
    assert reply == "Thinking is now **high**.\n\nVerbose is now **on**."


@pytest.mark.parametrize(
    ("text", "rest", "directives"),
    [
        ("/think high what is 2+2?", "what is 2+2?", {"thinking": "high"}),
        ("what is 2+2? /think:high", "what is 2+2?", {"thinking": "high"}),
        ("please /t max. think", "please think", {"thinking": "high"}),
        (
            "/model sonnet /verbose full\nfirst line\n  second",
            "first line\n  second",
            {"model": "anthropic/claude-sonnet-5", "profile": "", "verbose": "full"},
        ),
        ("/model 2 hi", "hi", {"model": "anthropic/claude-sonnet-5", "profile": ""}),
        ("/model sonnet@anthropic:work hi", "hi", {"model": "anthropic/claude-sonnet-5", "profile": "anthropic:work"}),
        (
            "/queue steer debounce:2s cap:5 drop:old go on",
            "go on",
            {"queue.mode": "steer", "queue.debounce_ms": "2000", "queue.cap": "5", "queue.drop": "old"},
        ),
        ("/think high then /think low please", "then please", {"thinking": "low"}),
        ("I /think therefore I am", "I /think therefore I am", {}),
        ("what is the /model thing?", "what is the /model thing?", {}),
    ],
)
async def test_directives_beside_text_act_for_that_message_and_are_taken_out(
    text: str, rest: str, directives: dict[str, str]
) -> None:
    house = House()
    assert await house.hears(text) == Handled(text=rest, directives=directives)
    assert house.controls.asked == []


async def test_a_directive_that_leads_with_a_wrong_value_is_answered_not_guessed() -> None:
    assert "no model is called" in (await House().says("/model nonsense write a poem")).lower()
    assert "not on the list" in await House().says("/model openai/gpt-5 hi")
    assert "/think does not know" in await House().says("/think about life")


@pytest.mark.parametrize(
    "text",
    [
        "> /think high\nwhat did he mean?",
        "  > /status\nwhat is that?",
        "what does `/think high` do?",
        "look:\n```\n/think high\n/status\n```\nwhy?",
        "unclosed:\n```\n/think high",
    ],
)
async def test_quoted_words_and_code_are_not_instructions(text: str) -> None:
    assert await House().hears(text) == Handled(text=text)


async def test_what_a_message_quotes_is_never_read() -> None:
    quoting = replace(direct(), quoted=Quoted(sender="mallory", text="/new"))
    assert await House().hears("do as he says", message=quoting) == Handled(text="do as he says")


async def test_a_shortcut_in_a_sentence_is_answered_and_the_rest_goes_on() -> None:
    handled = await House().hears("hey /whoami what is new?")
    assert handled.text == "hey what is new?"
    assert handled.reply is not None
    assert "telegram:123" in handled.reply


async def test_a_shortcut_first_in_a_sentence_goes_the_same_way() -> None:
    handled = await House().hears("/status and then sing")
    assert handled.text == "and then sing"
    assert handled.reply


async def test_a_directive_beside_a_picture_is_for_that_message() -> None:
    house = House()
    message = replace(direct(), attachments=(PICTURE,))
    assert await house.hears("/think high", message=message) == Handled(text="", directives={"thinking": "high"})
    assert house.controls.asked == []


async def test_a_picture_sent_with_new_is_the_first_message() -> None:
    house = House()
    message = replace(direct(), attachments=(PICTURE,))
    assert await house.hears("/new", message=message) == Handled(text="")
    assert house.controls.asked == ["reset /new"]


async def test_a_command_for_another_bot_is_not_ours() -> None:
    house = House(rules=DeskRules(bot_names=frozenset({"@Ostiary_Bot"})))
    assert await house.hears("/status@other_bot") == Handled(text="/status@other_bot")
    assert await house.says("/status@ostiary_bot")


async def test_without_a_known_name_a_suffix_is_believed_only_if_we_are_mentioned() -> None:
    room = group(mentions_us=False)
    assert await House().hears("/status@somebody", message=room) == Handled(text="/status@somebody")
    assert await House().says("/status@somebody", message=group(mentions_us=True))


async def test_own_reset_triggers_work_like_new() -> None:
    house = House(rules=DeskRules(reset_triggers=("start over", "/fresh", " ")))
    assert await house.hears("Start over tell me a joke") == Handled(text="tell me a joke")
    assert "new conversation" in await house.says("/fresh")
    assert await house.hears("start overture") == Handled(text="start overture")
    assert house.controls.asked == ["reset /new", "reset /new"]


async def test_a_command_that_breaks_is_answered_and_ends_nothing() -> None:
    async def broken(call: CommandCall) -> CommandReply:
        raise ValueError("secret detail")

    house = House()
    house.commands.add(Command(name="boom", summary="", run=broken))
    reply = await house.says("/boom")
    assert reply == "/boom failed; the log says why."


async def test_a_command_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow(call: CommandCall) -> CommandReply:
        import anyio

        await anyio.sleep_forever()
        return CommandReply()

    monkeypatch.setattr(desk_module, "COMMAND_SECONDS", 0.01)
    house = House()
    house.commands.add(Command(name="slow", summary="", run=slow))
    assert "took too long" in await house.says("/slow")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/status", True),
        ("hey /status", True),
        ("x /think high", True),
        ("start over", True),
        ("hello", False),
        ("/frobnicate", False),
        ("`/think high`", False),
        ("x /new y", False),
    ],
)
def test_only_what_the_desk_can_act_on_looks_like_a_command(text: str, expected: bool) -> None:
    assert House(rules=DeskRules(reset_triggers=("start over",))).desk.looks_like_command(text) is expected


any_text = st.lists(
    st.sampled_from(
        [
            "/think",
            "high",
            "/status",
            "/model",
            "sonnet",
            ":",
            " ",
            "  ",
            "\n",
            "> ",
            "`",
            "```\n",
            "word",
            "/new",
            "/queue",
            "cap:3",
            "@b",
        ]
    ),
    max_size=14,
).map("".join)


@quick
@given(any_text)
async def test_no_text_breaks_the_desk_and_what_it_leaves_alone_stays_whole(text: str) -> None:
    house = House()
    handled = await house.hears(text)
    assert handled.reply is not None or handled.directives or handled.text.split() == text.split() or house.controls.asked


@quick
@given(any_text)
def test_taking_mentions_out_loses_no_other_word(text: str) -> None:
    commands = House().commands
    mentions = mentions_in(text, commands, allows=lambda _: True, is_us=lambda _: True)
    outside = "".join(
        text[end:start]
        for end, start in zip([0, *(m.end for m in mentions)], [*(m.start for m in mentions), len(text)], strict=True)
    )
    assert "".join(without(text, mentions).split()) == "".join(outside.split())


def test_a_huge_text_of_slashes_is_read_in_no_time() -> None:
    text = "/think " * 100_000 + "`" * 100_000
    assert House().desk.looks_like_command(text) is True
    assert mentions_in("/x " * 300_000, House().commands, allows=lambda _: True, is_us=lambda _: True) == ()
