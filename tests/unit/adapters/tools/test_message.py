from dataclasses import replace

import pytest
from tests.conformance.tools.tools import context

from ostiary.adapters.tools.message import SPEC, Message, written
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import BadInput, Busy, NotAllowed, StoreUnavailable, ToolError
from ostiary.contracts.messages import Address
from ostiary.contracts.policy import Action
from ostiary.contracts.tool import ToolResult
from ostiary.core.policy.recipients import is_reply, recipient

HOME = Address(channel="telegram", account="work", chat="77")


class Box:
    def __init__(self, error: Exception | None = None) -> None:
        self.sent: list[tuple[Address, str, str]] = []
        self.error = error

    async def send(self, address: Address, text: str, key: str) -> None:
        if self.error is not None:
            raise self.error
        self.sent.append((address, text, key))


async def send(box: Box, home: Address | None = HOME, **arguments: object) -> ToolResult:
    return await Message(box).call({"text": "Hello", **arguments}, replace(context(), reply_to=home))


def judged(arguments: dict[str, object], home: Address) -> Action:
    told = context()
    return Action(
        principal=told.principal,
        session=told.session,
        channel="api",
        tool=SPEC,
        arguments=arguments,
        label=Label(trust=Trust.OWNER),
        reply_to=home,
    )


async def test_it_is_handed_to_the_outbox_under_the_calls_own_key() -> None:
    box = Box()
    result = await send(box, to="slack:C1")
    assert box.sent == [(Address(channel="slack", account="default", chat="C1"), "Hello", "turn_1:1:call_1")]
    assert result.details == {"to": "slack:C1", "characters": 5}


@pytest.mark.parametrize(
    ("arguments", "address"),
    [
        ({"to": "slack:C1:171.5"}, Address(channel="slack", account="default", chat="C1", thread="171.5")),
        ({"to": "C1", "channel": "slack"}, Address(channel="slack", account="default", chat="C1")),
        ({"to": "slack:C1", "channel": "slack"}, Address(channel="slack", account="default", chat="C1")),
        ({"to": "telegram:99"}, Address(channel="telegram", account="work", chat="99")),
        ({"to": "matrix:!r:s.example"}, Address(channel="matrix", account="default", chat="!r:s.example")),
        ({"to": "matrix:!r:s.example:$e1"}, Address(channel="matrix", account="default", chat="!r:s.example", thread="$e1")),
        ({"to": "email:ann@x.example"}, Address(channel="email", account="default", chat="ann@x.example")),
    ],
)
async def test_a_place_is_read_as_it_is_written(arguments: dict[str, object], address: Address) -> None:
    box = Box()
    await send(box, **arguments)
    assert box.sent[0][0] == address


@pytest.mark.parametrize("arguments", [{}, {"to": "telegram:77"}, {"to": "77", "channel": "telegram"}])
async def test_answering_where_one_answers_anyway_is_pointless(arguments: dict[str, object]) -> None:
    box = Box()
    with pytest.raises(ToolError, match="just answer"):
        await send(box, **arguments)
    assert box.sent == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"to": "telegram"},
        {"to": "telegram:"},
        {"to": ":77"},
        {"to": " telegram:78"},
        {"to": "telegram:78 "},
        {"to": "telegram:7\n8"},
        {"to": "telegram:\u202e87"},
        {"to": "Telegram:78"},
        {"to": "telegram::78"},
        {"to": "telegram:" + "9" * 600},
        {"channel": "telegram"},
        {"to": 78},
        {"to": "telegram:78", "text": "  "},
        {"to": "telegram:78", "text": "x" * 20_000},
        {"to": "telegram:78", "text": "a\x00b"},
        {"to": "telegram:78", "text": "\ud800"},
        {"to": "telegram:78", "account": "other"},
    ],
)
async def test_what_is_no_place_or_no_text_is_not_sent(arguments: dict[str, object]) -> None:
    box = Box()
    with pytest.raises(ToolError):
        await send(box, **arguments)
    assert box.sent == []


@pytest.mark.parametrize(
    ("to", "channel"), [("slack:C1", None), ("C1", "slack"), ("slack:C1", "slack"), ("slack:C1:1", None), ("telegram:1", "slack")]
)
async def test_it_goes_where_the_rules_were_told_it_goes(to: str, channel: str | None) -> None:
    box = Box()
    arguments: dict[str, object] = {"to": to} if channel is None else {"to": to, "channel": channel}
    await send(box, **arguments)
    assert written(box.sent[0][0]) == recipient(judged(arguments, HOME))


@pytest.mark.parametrize("home", [HOME, Address(channel="matrix", account="a", chat="!r:s", thread="$t")])
async def test_what_the_rules_take_for_a_reply_is_never_sent_elsewhere(home: Address) -> None:
    box = Box()
    arguments: dict[str, object] = {"to": written(home)}
    assert is_reply(judged(arguments, home), SPEC.effects)
    with pytest.raises(ToolError, match="just answer"):
        await send(box, home, **arguments)


@pytest.mark.parametrize(
    "error", [BadInput("there is no channel slack", hint="Set it up."), NotAllowed("no"), Busy("full"), StoreUnavailable("disk")]
)
async def test_what_was_not_taken_is_said_to_be_not_sent(error: Exception) -> None:
    with pytest.raises(ToolError, match="It was not sent"):
        await send(Box(error), to="slack:C1")
