import pytest
from tests.unit.core.policy.acting import BROWSER, EXECUTE, HOME, LOOK, PROCESS, SEND, WRITE, act, tool

from ostiary.contracts.messages import Address
from ostiary.contracts.policy import Action, Allow, Ask
from ostiary.contracts.tool import Effect, ToolSpec
from ostiary.core.policy.confirm import Confirm, confirm_layer
from ostiary.core.policy.recipients import is_reply

MESSAGE = tool("message", SEND)


def asked(mode: Confirm, action: Action) -> bool:
    layer = confirm_layer(mode)
    assert layer is not None
    return isinstance(layer(action), Ask)


@pytest.mark.parametrize(
    ("spec", "arguments", "danger", "always"),
    [
        (tool("read"), {}, False, False),
        (tool("web_fetch", LOOK), {"url": "https://x"}, False, True),
        (tool("write", WRITE, undoable=True), {}, False, True),
        (tool("post", WRITE), {}, True, True),
        (tool("exec", EXECUTE), {}, True, True),
        (PROCESS, {"action": "poll"}, False, False),
        (PROCESS, {"action": "write"}, True, True),
        (BROWSER, {"action": "open", "url": "https://x"}, False, True),
        (BROWSER, {"action": "screenshot"}, False, False),
        (BROWSER, {"action": "type"}, True, True),
        (MESSAGE, {"text": "hi"}, False, True),
        (MESSAGE, {"to": "telegram:100"}, False, True),
        (MESSAGE, {"to": "telegram:101"}, True, True),
        (tool("mail", SEND), {}, True, True),
        (tool("pay", frozenset({Effect.SPEND})), {}, True, True),
        (tool("key", frozenset({Effect.SECRET})), {}, True, True),
        (tool("mystery", frozenset()), {}, True, True),
        (tool("lookup", frozenset(), is_client=True), {}, False, False),
    ],
)
def test_danger_is_what_cannot_be_taken_back(spec: ToolSpec, arguments: dict[str, object], danger: bool, always: bool) -> None:
    action = act(spec, arguments=arguments, reply_to=HOME)
    assert (asked("danger", action), asked("always", action)) == (danger, always)


@pytest.mark.parametrize(
    ("spec", "arguments", "reason"),
    [
        (tool("read"), {}, "it only looks"),
        (tool("web_fetch", LOOK), {}, "it only looks"),
        (tool("write", WRITE, undoable=True), {}, "what it changes can be taken back"),
        (MESSAGE, {}, "it goes where the answer goes"),
        (tool("lookup", frozenset(), is_client=True), {}, "it runs on the caller's side"),
    ],
)
def test_what_is_not_asked_about_says_why(spec: ToolSpec, arguments: dict[str, object], reason: str) -> None:
    layer = confirm_layer("danger")
    assert layer is not None
    assert layer(act(spec, arguments=arguments)) == Allow(layer="confirm", reason=reason)


def test_never_is_no_layer_at_all() -> None:
    assert confirm_layer("never") is None


@pytest.mark.parametrize(
    ("arguments", "home", "is_reply"),
    [
        ({}, None, True),
        ({"to": ""}, HOME, True),
        ({"to": "telegram:100"}, HOME, True),
        ({"to": "100", "channel": "telegram"}, HOME, True),
        ({"to": "telegram:100", "channel": "telegram"}, HOME, True),
        ({"to": "100"}, HOME, False),
        ({"to": "telegram:100"}, None, False),
        ({"to": "telegram:1000"}, HOME, False),
        ({"to": "irc:100"}, HOME, False),
        ({"to": "100", "channel": "irc"}, HOME, False),
        ({"channel": "irc"}, HOME, False),
        ({"to": ["telegram:100"]}, HOME, False),
        ({"to": "telegram:100", "channel": 7}, HOME, False),
        ({"to": "telegram:100"}, Address(channel="telegram", account="", chat="100", thread="5"), False),
        ({"to": "telegram:100:5"}, Address(channel="telegram", account="", chat="100", thread="5"), True),
    ],
)
def test_what_goes_where_the_answer_goes_needs_no_question(
    arguments: dict[str, object], home: Address | None, is_reply: bool
) -> None:
    assert asked("danger", act(MESSAGE, arguments=arguments, reply_to=home)) is not is_reply


def test_only_the_tool_message_is_believed_about_where_it_sends() -> None:
    assert asked("danger", act(tool("mail", SEND), reply_to=HOME))
    assert asked("danger", act(tool("message", SEND | {Effect.SPEND}), reply_to=HOME))
    assert not asked("danger", act(tool("message", SEND | {Effect.READ}), reply_to=HOME))


def test_whether_something_is_a_reply_is_a_plain_yes_or_no() -> None:
    assert is_reply(act(tool("mail", SEND)), SEND) is False
    assert is_reply(act(MESSAGE, arguments={"to": "irc:x"}), SEND) is False
    assert is_reply(act(MESSAGE), SEND) is True


@pytest.mark.parametrize(
    ("spec", "question"),
    [
        (tool("exec", EXECUTE), "exec runs a command, which cannot be taken back"),
        (tool("pay", SEND | {Effect.SPEND}), "pay spends money and sends something to somebody, which cannot be taken back"),
        (tool("sync", WRITE | LOOK, undoable=True), "sync changes something and reaches the network"),
        (tool("mystery", frozenset()), "mystery does not say what it does, so it may do anything"),
        (
            tool("all", frozenset({Effect.SECRET, Effect.WRITE, Effect.NETWORK})),
            "all uses a secret, changes something and reaches the network, which cannot be taken back",
        ),
    ],
)
def test_the_question_says_what_would_happen(spec: ToolSpec, question: str) -> None:
    layer = confirm_layer("danger")
    assert layer is not None
    assert layer(act(spec)) == Ask(layer="confirm", reason=question)
