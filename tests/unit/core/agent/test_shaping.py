import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ostiary.core.agent.shaping import StreamFilter, repeats, shape, shape_reply

PIECES = st.sampled_from(
    [
        "NO_REPLY",
        "NO_",
        "NO",
        "N",
        "_REPLY",
        "<think>",
        "</think>",
        "<THINKING a='b'>",
        "</thinking>",
        "<final>",
        "</final>",
        "<",
        "<th",
        ">",
        "/",
        "```",
        "~~~",
        "`",
        "\n",
        " ",
        "\t",
        "word",
        "Hello there",
        "**",
        '"',
        ".",
        "\x1b",
        "\r\n",
        "\u202e",
        "é",
        "日本",
        "😀",
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=6), max_size=14).map("".join)


def streamed(text: str, cuts: list[int]) -> tuple[list[str], bool, str]:
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    kept = StreamFilter()
    shown = [kept.feed(text[start:end]) for start, end in itertools.pairwise(places)]
    return [*shown, kept.finish()], kept.silent, kept.thinking


@given(TEXTS, st.lists(st.integers(min_value=0, max_value=200), max_size=20))
@example("<think>a</think>\nhi NO_REPLY", list(range(40)))
def test_however_a_stream_is_cut_up_the_result_is_that_of_the_whole(text: str, cuts: list[int]) -> None:
    pieces, silent, thinking = streamed(text, cuts)
    whole, whole_silent, whole_thinking = streamed(text, [])
    assert ("".join(pieces), silent, thinking) == ("".join(whole), whole_silent, whole_thinking)


@given(TEXTS)
def test_fed_one_character_at_a_time_the_result_is_that_of_the_whole(text: str) -> None:
    pieces, silent, thinking = streamed(text, list(range(len(text))))
    whole, whole_silent, whole_thinking = streamed(text, [])
    assert ("".join(pieces), silent, thinking) == ("".join(whole), whole_silent, whole_thinking)


@given(
    st.text(alphabet="abc d\n.,é"),
    st.sampled_from(["<think>plan</think>", "<thinking>\nplan\n</thinking>\n", "<Think>x</think>"]),
)
def test_text_without_signs_passes_unchanged_and_thinking_in_front_of_it_vanishes(text: str, thinking: str) -> None:
    assert (shape(text).text, shape(thinking + text).text) == (text.strip(), text.strip())


@pytest.mark.parametrize(
    "text",
    [
        "NO_REPLY",
        "  NO_REPLY\n",
        "NO_REPLY.",
        "**NO_REPLY**",
        "`NO_REPLY`",
        '"NO_REPLY"',
        "NO_REPLY\n\nNothing to say here.",
        "All is well. NO_REPLY",
        "All is well.\nNO_REPLY\n",
        "<think>nothing to do</think>\nNO_REPLY",
        "<final>NO_REPLY</final>",
        "NO_REPLY NO_REPLY",
        "NO_REP",
    ],
)
def test_the_silent_token_alone_in_front_or_at_the_end_means_silence(text: str) -> None:
    assert (shape(text).text, shape(text).silent) == ("", True)


@pytest.mark.parametrize(
    "text",
    [
        "NO",
        "N",
        "No reply",
        "no_reply",
        "NO_REPLYING",
        "XNO_REPLY",
        "The token NO_REPLY means silence here",
        "Not now",
        "ANNO",
        "a N",
    ],
)
def test_words_that_only_resemble_the_token_are_text(text: str) -> None:
    assert (shape(text).text, shape(text).silent) == (text, False)


def test_nothing_is_shown_while_the_text_may_still_become_the_token() -> None:
    kept = StreamFilter()
    assert [kept.feed(piece) for piece in ("N", "O", "_RE", "PLY", "\n")] == [""] * 5


def test_what_was_held_back_appears_as_soon_as_it_is_plain_text() -> None:
    kept = StreamFilter()
    assert [kept.feed(piece) for piece in ("N", "O", "t", " now", " ")] == ["", "", "NOt", " now", ""]


def test_a_tag_is_not_shown_by_halves() -> None:
    kept = StreamFilter()
    assert [kept.feed(piece) for piece in ("<th", "ink", ">secret</thi", "nk>", "answer")] == ["", "", "", "", "answer"]


def test_a_smaller_sign_that_begins_no_tag_is_shown() -> None:
    assert shape("<b>bold</b> and 1 < 2\n<thorn> too").text == "<b>bold</b> and 1 < 2\n<thorn> too"


def test_thinking_is_kept_apart() -> None:
    shaped = shape("<think>one</think>Answer.\n<think>two</think>More.")
    assert (shaped.text, shaped.thinking) == ("Answer.\nMore.", "onetwo")


def test_thinking_that_was_never_closed_is_not_shown() -> None:
    assert shape("<think>round and round").text == ""


def test_a_model_whose_template_opened_the_tag_is_understood() -> None:
    shaped = shape("plan</think>\n\nanswer", starts_thinking=True)
    assert (shaped.text, shaped.thinking) == ("answer", "plan")


def test_final_tags_are_removed_and_their_text_kept() -> None:
    assert shape("<think>x</think>\n<final>Hey there!</final>").text == "Hey there!"


@pytest.mark.parametrize(
    "text",
    [
        "Write `<think>` before it.",
        "The tag <think> opens it, </think> closes it.",
        "```html\n<think>\n</think>\n<final>\n```",
        "~~~\n<think>\n~~~",
    ],
)
def test_an_answer_may_speak_about_tags(text: str) -> None:
    assert shape(text).text == text


def test_stray_control_characters_are_removed_and_lines_and_tabs_stay() -> None:
    assert shape("a\x00b\x1b[31mc\r\n\td\u202ee\x9bf\ud800").text == "ab[31mc\n\tdef"


@given(TEXTS)
def test_what_is_shown_can_always_be_encoded_and_has_no_control_characters(text: str) -> None:
    shown = shape(text).text
    assert all(character in "\n\t" or ord(character) >= 32 for character in shown.encode().decode())


def test_a_long_run_of_white_space_or_signs_costs_no_more_than_its_length() -> None:
    kept = StreamFilter()
    shown = [kept.feed(piece) for piece in ["x", *["    "] * 50_000, *["<"] * 50_000, *["NO_REPLY "] * 20_000, "end"]]
    assert len("".join(shown) + kept.finish()) == 1 + 200_000 + 50_000 + 180_000 + 3


def test_a_reply_already_sent_by_a_tool_is_not_repeated() -> None:
    assert shape_reply("  Dinner is at 8!  ", sent=["dinner is at 8"]) == ""


def test_a_reply_that_repeats_a_piece_of_what_was_sent_is_dropped() -> None:
    assert repeats("The table is booked", ["Hello! **The table is booked** for eight."])


def test_a_reply_that_says_more_than_was_sent_stays() -> None:
    assert shape_reply("Sent. Also: it rains.", sent=["it rains"]) == "Sent. Also: it rains."


def test_a_short_answer_inside_a_sent_text_is_no_repetition() -> None:
    assert shape_reply("Yes", sent=["Yes, the table is booked"]) == "Yes"


def test_a_failed_tool_with_nothing_else_to_say_becomes_a_short_error_reply() -> None:
    assert shape_reply("", failed_tool="read: There is no file\nplan.md.") == "The tool read failed: There is no file plan.md."


def test_an_error_reply_is_short_whatever_the_tool_said() -> None:
    assert len(shape_reply("", failed_tool="read: " + "x" * 10_000)) < 350


@pytest.mark.parametrize(("text", "sent"), [("NO_REPLY", ()), ("Could not read it.", ()), ("", ("I told you",))])
def test_a_failed_tool_is_not_mentioned_when_there_is_something_else_or_silence_was_chosen(
    text: str, sent: tuple[str, ...]
) -> None:
    assert "The tool" not in shape_reply(text, failed_tool="read: gone", sent=sent)
