"""web_search: each provider is asked as it wants to be asked, and its answer is data."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from tests.conformance.tools.tools import context
from tests.unit.adapters.egress.sites import serving

from ostiary.adapters.egress import Egress, EgressRules
from ostiary.adapters.tools.web.duckduckgo import target_of
from ostiary.adapters.tools.web.providers import Engines, choose
from ostiary.adapters.tools.web.search import SearchSettings, WebSearch
from ostiary.contracts.content import Trust
from ostiary.contracts.errors import ToolError
from ostiary.kit.clock import ManualClock

KEY = "BSA-secret-0123456789"
DUCK = """<html><body><div class="result results_links result--ad"><h2><a class="result__a" href="https://ads.example/">Buy</a></h2>
<a class="result__snippet" href="#">ad</a></div>
<div class="result results_links web-result"><h2 class="result__title"><a rel="nofollow" class="result__a"
 href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fwolves.example%2Fa%3Fb%3D1&amp;rut=xyz">All about <b>wolves</b> &amp; dens</a></h2>
<a class="result__snippet" href="x">They <b>hunt</b> at<br>night.</a></div>
<div class="result"><a class="result__a" href="https://second.example/">Second</a></div></body></html>"""
RIDDLE = '<html><body><div class="anomaly-modal__title">Select all ducks</div></body></html>'


async def strict(request: web.Request) -> web.Response:
    """Every provider at once, as strict about what it receives as the original."""
    if request.path == "/res/v1/web/search":
        right = request.method == "GET" and set(request.query) == {"q", "count"} and 1 <= int(request.query["count"]) <= 20
        if request.headers.get("X-Subscription-Token") != KEY:
            return web.json_response(
                {"error": {"detail": f"bad token {request.headers.get('X-Subscription-Token')}"}}, status=401
            )
        found = {"title": "A <strong>wolf</strong>", "url": "https://wolf.example/x", "description": "It &amp; its <b>pack</b>"}
        inside = {"title": "router", "url": "http://192.168.0.1/", "description": "steal"}
        results = [found, inside, {"url": 5}, "nonsense", {"title": "js", "url": "javascript:alert(1)"}]
        return web.json_response({"web": {"results": results}}) if right else web.Response(status=422)
    if request.path == "/search" and request.method == "POST":
        body = await request.json()
        right = set(body) == {"query", "max_results", "search_depth"} and request.content_type == "application/json"
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return web.json_response({"detail": "Unauthorized"}, status=401)
        results = [{"title": "T", "url": "https://t.example/", "content": body["query"], "score": 1}]
        return web.json_response({"results": results}) if right else web.Response(status=400)
    if request.path == "/sx/search":
        right = request.query.get("format") == "json" and "q" in request.query
        results = [{"title": "S", "url": "https://s.example/", "content": request.query["q"]}] * 30
        return web.json_response({"results": results}) if right else web.Response(status=403)
    if request.path == "/html/":
        form = await request.post()
        return web.Response(text=RIDDLE if form["q"] == "riddle" else DUCK, content_type="text/html")
    return web.Response(status=404)


@asynccontextmanager
async def engines(handler: Any = strict, **chosen: Any) -> AsyncIterator[WebSearch]:
    async with serving(handler) as port, Egress() as egress:
        base = f"http://127.0.0.1:{port}"
        made = Engines(**{"keys": {}, "brave_url": base, "tavily_url": base, "duckduckgo_url": base, **chosen})
        made = made if made.provider != "searxng" else Engines(provider="searxng", keys={}, searxng_url=f"{base}/sx")
        yield WebSearch(lambda: choose(made, egress), lambda role: egress.agent(EgressRules()), ManualClock(), SearchSettings())


def lent(key: str = KEY) -> dict[str, Any]:
    return {"brave": lambda: key, "tavily": lambda: key}


async def test_brave_is_asked_with_its_key_and_its_answer_is_cleaned() -> None:
    async with engines(provider="brave", keys=lent()) as tool:
        result = await tool.call({"query": "wolf & pack?", "count": 7}, context())
    assert result.text == "1. A wolf\nhttps://wolf.example/x\nIt & its pack"
    assert result.details["left_out"] == 2
    assert result.label is not None
    assert (result.label.trust, result.label.sources) == (Trust.UNTRUSTED, ("web:127.0.0.1",))


async def test_tavily_and_searxng_are_asked_as_they_want() -> None:
    async with engines(provider="tavily", keys=lent()) as tool:
        assert (await tool.call({"query": "grüße & x"}, context())).text == "1. T\nhttps://t.example/\ngrüße & x"
    async with engines(provider="searxng") as tool:
        result = await tool.call({"query": "a b&c=d"}, context())
        assert result.text.count("https://s.example/") == 5
        assert "a b&c=d" in result.text


async def test_duckduckgo_needs_no_key_and_its_advertisements_are_left_out() -> None:
    async with engines() as tool:
        result = await tool.call({"query": "wolves"}, context())
        wolves = "1. All about wolves & dens\nhttps://wolves.example/a?b=1\nThey hunt atnight."
        assert result.text == f"{wolves}\n\n2. Second\nhttps://second.example/"
        assert result.details["provider"] == "DuckDuckGo"
        with pytest.raises(ToolError, match="person"):
            await tool.call({"query": "riddle"}, context())


@pytest.mark.parametrize(
    ("keys", "searxng_url", "name"),
    [
        ({"brave": lambda: "k", "tavily": lambda: "k"}, "http://s.example", "Brave"),
        ({"brave": lambda: "", "tavily": lambda: "k"}, "http://s.example", "Tavily"),
        ({"brave": lambda: ""}, "http://s.example", "SearXNG"),
        ({}, "", "DuckDuckGo"),
    ],
)
async def test_the_first_that_has_what_it_needs_is_asked(keys: dict[str, Any], searxng_url: str, name: str) -> None:
    async with Egress() as egress:
        assert choose(Engines(keys=keys, searxng_url=searxng_url), egress).name == name


@pytest.mark.parametrize("provider", ["brave", "tavily"])
async def test_a_wrong_or_missing_key_is_told_without_showing_it(provider: str) -> None:
    async with engines(provider=provider, keys=lent("wrong-key-987654321")) as tool:
        with pytest.raises(ToolError, match="401") as caught:
            await tool.call({"query": "x"}, context())
        assert "wrong-key" not in str(caught.value)
    async with engines(provider=provider) as tool:
        with pytest.raises(ToolError, match="needs a key"):
            await tool.call({"query": "x"}, context())


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (429, "{}", r"asks to wait 7 s before the next search \(429\)"),
        (422, '{"error": {"code": "SUBSCRIPTION_TOKEN_INVALID"}}', r"does not accept the request \(422\)\. Check the key"),
        (422, '{"error": {"code": "VALIDATION"}}', "make it shorter"),
        (432, "{}", "used up"),
        (202, "<html>", "wants to see a person"),
        (500, "{}", "answered 500"),
        (302, "{}", "redirect"),
        (200, "<html>", "no list of results"),
        (200, "[1]", "no list of results"),
        (200, "[" * 100_000, "no list of results"),
    ],
)
async def test_a_provider_that_answers_nonsense_is_told(status: int, body: str, sentence: str) -> None:
    async def odd(request: web.Request) -> web.Response:
        return web.Response(status=status, text=body, headers={"Location": "http://127.0.0.1/", "Retry-After": "7"})

    async with engines(odd, provider="brave", keys=lent()) as tool:
        with pytest.raises(ToolError, match=sentence) as caught:
            await tool.call({"query": "x"}, context())
    assert KEY not in str(caught.value)


async def test_an_answer_of_another_shape_is_no_result() -> None:
    async def odd(request: web.Request) -> web.Response:
        return web.Response(text='{"web": 5}')

    async with engines(odd, provider="brave", keys=lent()) as tool:
        assert (await tool.call({"query": "x"}, context())).text == "[no results]"


async def test_the_same_question_is_asked_once() -> None:
    asked: list[str] = []

    async def count(request: web.Request) -> web.Response:
        asked.append(request.path_qs)
        return web.Response(text=json.dumps({"web": {"results": []}}))

    async with engines(count, provider="brave", keys=lent()) as tool:
        for _ in range(2):
            assert (await tool.call({"query": "x"}, context())).text == "[no results]"
    assert len(asked) == 1


@pytest.mark.parametrize(
    "arguments", [{}, {"query": ""}, {"query": "x" * 500}, {"query": "x", "count": 50}, {"query": "x", "k": 1}]
)
async def test_wrong_arguments_are_told(arguments: dict[str, object]) -> None:
    async with engines() as tool:
        with pytest.raises(ToolError):
            await tool.call(arguments, context())


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2F", "https://a.example/"),
        ("https://duckduckgo.com/y.js?ad=1", ""),
        ("https://a.example/", "https://a.example/"),
        ("javascript:x", ""),
        ("http://[", ""),
    ],
)
def test_a_result_leads_where_it_says(link: str, target: str) -> None:
    assert target_of(link) == target
