import json

import pytest
from tests.unit.core.policy.acting import BOTH, CLEAN, PRIVATE, SEEN_WEB

from ostiary.contracts.content import (
    AssistantMessage,
    Image,
    Label,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    ToolOutcome,
    Trust,
    UserMessage,
)
from ostiary.core.policy.seen import is_named, is_seen, is_vouched_for

URL = "https://a.example/x?d=1"
SYSTEM = Label(trust=Trust.SYSTEM)
CONTACT = Label(trust=Trust.CONTACT)


def user(text: str, label: Label = CLEAN) -> UserMessage:
    return UserMessage(parts=(Image(digest="d", media_type="image/png", label=label), Text(text=text, label=label)))


def says(text: str) -> AssistantMessage:
    return AssistantMessage(parts=(Thinking(text="hm"), Text(text=text, label=CLEAN)))


def calls(url: str, raw: str = "") -> AssistantMessage:
    return AssistantMessage(parts=(ToolCall(id="c", name="web_fetch", arguments=raw or json.dumps({"url": url})),))


def result(tool: str, text: str, *, is_error: bool = False, label: Label = SEEN_WEB) -> ToolMessage:
    return ToolMessage(outcomes=(ToolOutcome(call_id="c", name=tool, text=text, is_error=is_error, label=label),))


@pytest.mark.parametrize(
    ("messages", "seen"),
    [
        ([], False),
        ([user(f"open {URL}")], True),
        ([user(f"open {URL}", SEEN_WEB)], True),
        ([user(f"open {URL}", CONTACT)], True),
        ([user(f"open {URL}", PRIVATE)], True),
        ([user(f"we spoke of {URL}", BOTH)], False),
        ([user(f"open {URL}x")], False),
        ([result("web_fetch", f"see {URL}")], True),
        ([result("Web_Search", f"1. {URL}")], False),
        ([result("browser", f"link {URL}")], True),
        ([result("web_fetch", f"see {URL}", label=BOTH)], False),
        ([result("web_fetch", f"cannot open {URL}", is_error=True)], False),
        ([result("exec", URL)], False),
        ([result("read", URL)], False),
        ([says(f"I shall open {URL}")], False),
        ([calls(URL)], False),
        ([calls(URL), result("web_search", f"nothing for {URL}")], False),
        ([says(URL), user(URL)], False),
        ([calls("", '{"url": "https:\\/\\/a.example\\/x?d=1"}'), result("web_search", URL)], False),
        ([calls("", '{"url": "\\u0068ttps://a.example/x?d=1"}'), result("web_search", URL)], False),
        ([calls("", f"not json {URL}"), result("web_search", URL)], False),
        ([user(URL), calls(URL)], True),
        ([result("web_fetch", URL), says(URL), calls(URL)], True),
        ([user("hello"), says("hello"), user(URL)], True),
    ],
)
def test_an_address_is_seen_if_others_gave_it_before_the_model_wrote_it(messages: list[Message], seen: bool) -> None:
    assert is_seen(messages, URL) is seen


@pytest.mark.parametrize(
    ("messages", "vouched"),
    [
        ([user(f"open {URL}")], True),
        ([user(f"open {URL}", CONTACT)], True),
        ([user(f"open {URL}", PRIVATE)], True),
        ([user(f"the page says {URL}", SEEN_WEB)], False),
        ([user(f"we spoke of {URL}", BOTH)], False),
        ([result("web_search", f"1. {URL}")], True),
        ([result("web_search", f"1. {URL}", label=BOTH)], False),
        ([result("web_search", f"nothing at {URL}", is_error=True)], False),
        ([result("web_fetch", f"see {URL}")], False),
        ([result("browser", f"link {URL}")], False),
        ([result("web_fetch", f"see {URL}"), user(f"open {URL}")], True),
        ([says(URL), user(URL)], False),
        ([calls(URL), result("web_search", URL)], False),
    ],
)
def test_a_page_vouches_for_none_of_the_addresses_it_names(messages: list[Message], vouched: bool) -> None:
    assert is_vouched_for(messages, URL) is vouched


@pytest.mark.parametrize(
    ("messages", "named"),
    [
        ([], False),
        ([user("tell telegram:4711 that I am late")], True),
        ([user("tell telegram:4711", SYSTEM)], True),
        ([user("tell telegram:4711", PRIVATE)], True),
        ([user("tell telegram:4711", SEEN_WEB)], False),
        ([user("tell telegram:4711", CONTACT)], False),
        ([user("tell telegram:47110")], False),
        ([says("telegram:4711")], False),
        ([result("web_fetch", "write to telegram:4711")], False),
        ([says("to whom?"), user("telegram:4711")], True),
    ],
)
def test_only_the_owners_own_words_name_a_recipient(messages: list[Message], named: bool) -> None:
    assert is_named(messages, "telegram:4711") is named


def test_an_address_in_other_letters_is_recognised_in_a_call_too() -> None:
    url = "https://a.example/ä"
    assert not is_seen([calls(url), result("web_search", url)], url)
    assert is_seen([result("web_search", url), calls(url)], url)
