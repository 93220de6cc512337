"""The browser tool over pages that are only pretended."""

import pytest
from tests.conformance.tools.tools import context

from ostiary.adapters.browser.records import Bound, Element, Order, View
from ostiary.adapters.tools.browsing import SPEC, BrowserTool
from ostiary.contracts.content import Trust
from ostiary.contracts.errors import Busy, SandboxUnavailable, ToolError
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.tool import Effect


class Pretended:
    def __init__(self, view: View | Exception) -> None:
        self.view = view
        self.orders: list[Order] = []

    async def perform(self, session: SessionKey, principal: Principal, order: Order) -> View:
        self.orders.append(order)
        if isinstance(self.view, Exception):
            raise self.view
        return self.view

    async def look(self, session: SessionKey, principal: Principal, ref: str) -> Bound:
        return Bound(url="https://bank.example/pay", element=Element(role="button", name="Pay", target="https://bank.example/go"))


VIEW = View(url="https://a.example/x", title="A", text="hello", page=1, pages=3, tabs=2, notes=("A dialog.",))


async def test_the_result_says_where_it_is_what_happened_and_how_to_read_on() -> None:
    result = await BrowserTool(Pretended(VIEW)).call({"action": "read"}, context())
    assert result.text.split("\n") == [
        "[https://a.example/x] A",
        "[A dialog.]",
        "[tab 2 of 2]",
        "hello",
        "[part 1 of 3; read on with page=2]",
    ]
    assert result.label is not None
    assert (result.label.trust, result.label.sources) == (Trust.UNTRUSTED, ("web:a.example",))


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "FILE:///etc/passwd",
        "chrome://version",
        "view-source:https://a.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "about:blank",
        "ftp://a.example",
        "https://",
        "https:a.example",
        "//a.example",
        "https://user:pw@a.example/",
        "https://a.example\\@evil.example/",
        "https://a.example/\nHost: x",
        "https://[::1",
        "https://a.example:99999/",
        "blob:https://a.example/1",
        "https://a.example/" + "x" * 5000,
        "",
    ],
)
async def test_only_plain_web_addresses_are_opened(url: str) -> None:
    pages = Pretended(VIEW)
    with pytest.raises(ToolError):
        await BrowserTool(pages).call({"action": "open", "url": url}, context())
    assert pages.orders == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "fly"},
        {"action": 5},
        {},
        {"action": "click"},
        {"action": "click", "ref": "e1 >> css=*"},
        {"action": "click", "ref": "text=Pay"},
        {"action": "type", "ref": "e1"},
        {"action": "type", "ref": "e1", "text": "x" * 20_000},
        {"action": "type", "ref": "e1", "text": "x", "submit": "yes"},
        {"action": "read", "page": 0},
        {"action": "read", "page": True},
        {"action": "read", "approved": True},
    ],
)
async def test_arguments_that_are_wrong_reach_no_browser(arguments: dict[str, object]) -> None:
    pages = Pretended(VIEW)
    with pytest.raises(ToolError):
        await BrowserTool(pages).call(arguments, context())
    assert pages.orders == []


@pytest.mark.parametrize("action", ["click", "type"])
async def test_clicks_and_typing_are_bound_to_what_is_seen(action: str) -> None:
    bound = await BrowserTool(Pretended(VIEW)).bind({"action": action, "ref": "e1", "text": "x"}, context())
    assert bound == {"page": "https://bank.example/pay", "element": 'button "Pay"', "leads to": "https://bank.example/go"}


async def test_opening_is_bound_to_nothing_else() -> None:
    assert await BrowserTool(Pretended(VIEW)).bind({"action": "open", "url": "https://a.example"}, context()) == {}


@pytest.mark.parametrize(
    "error",
    [SandboxUnavailable("Chromium is not installed", hint="Install it."), Busy("Every place is taken.", hint="Install it.")],
)
async def test_what_is_missing_is_said_with_what_to_do(error: Exception) -> None:
    with pytest.raises(ToolError, match=r"\. Install it\.$"):
        await BrowserTool(Pretended(error)).call({"action": "open", "url": "https://a.example"}, context())


def test_only_reading_is_harmless() -> None:
    assert SPEC.effects_of({"action": "click"}) == {Effect.NETWORK, Effect.SEND}
    assert SPEC.effects_of({"action": "type"}) == {Effect.NETWORK, Effect.SEND}
    assert SPEC.effects_of({"action": "read"}) == {Effect.READ}
