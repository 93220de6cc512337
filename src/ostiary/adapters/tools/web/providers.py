"""The search engines: Brave, Tavily and SearXNG by their APIs, DuckDuckGo by its page for browsers without scripts."""

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote_plus, urlencode

from ostiary.adapters.egress import ConfiguredOrigin, Egress, EgressFailed, Limits
from ostiary.adapters.tools.web.hits import Hit, Provider, hits, refused, riddle
from ostiary.contracts.errors import EgressRefused, ToolError
from ostiary.contracts.records import dataclass

Key = Callable[[], str]
"""A key for this very use, empty if there is none."""

_LARGEST = 4 * 1024 * 1024
_LONGEST_PAGE = 500_000
_BRAVE_MOST = 20
_TAVILY_MOST = 20


class Brave:
    name = "Brave"

    def __init__(self, origin: ConfiguredOrigin, key: Key) -> None:
        self._origin = origin
        self._key = key
        self.host = origin.origin.host

    async def search(self, query: str, count: int, seconds: float) -> tuple[Hit, ...]:
        path = f"/res/v1/web/search?q={quote_plus(query)}&count={min(count, _BRAVE_MOST)}"
        secret = {"X-Subscription-Token": _needed(self._key, self.name)}
        ask = _Asking(self.name, "Check the key of tools.web.search.", seconds)
        found = await ask.json(self._origin, "GET", path, headers={"Accept": "application/json"}, secret_headers=secret)
        web = found.get("web")
        return hits(web.get("results") if isinstance(web, Mapping) else (), "title", "url", "description", count)


class Tavily:
    name = "Tavily"

    def __init__(self, origin: ConfiguredOrigin, key: Key) -> None:
        self._origin = origin
        self._key = key
        self.host = origin.origin.host

    async def search(self, query: str, count: int, seconds: float) -> tuple[Hit, ...]:
        body = json.dumps({"query": query, "max_results": min(count, _TAVILY_MOST), "search_depth": "basic"}).encode()
        secret = {"Authorization": f"Bearer {_needed(self._key, self.name)}"}
        ask = _Asking(self.name, "Check the key of tools.web.search.tavily.", seconds)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        found = await ask.json(self._origin, "POST", "/search", body, headers=headers, secret_headers=secret)
        return hits(found.get("results"), "title", "url", "content", count)


class SearXNG:
    name = "SearXNG"

    def __init__(self, origin: ConfiguredOrigin) -> None:
        self._origin = origin
        self.host = origin.origin.host

    async def search(self, query: str, count: int, seconds: float) -> tuple[Hit, ...]:
        ask = _Asking(self.name, "Its settings must list json among search.formats.", seconds)
        path = f"/search?q={quote_plus(query)}&format=json"
        found = await ask.json(self._origin, "GET", path, headers={"Accept": "application/json"})
        return hits(found.get("results"), "title", "url", "content", count)


class DuckDuckGo:
    """Needs no key. Made for people: it may ask for one when it is asked often."""

    name = "DuckDuckGo"

    def __init__(self, origin: ConfiguredOrigin, user_agent: str) -> None:
        self._origin = origin
        self._user_agent = user_agent
        self.host = origin.origin.host

    async def search(self, query: str, count: int, seconds: float) -> tuple[Hit, ...]:
        # The parser of pages is imported by the first search, not by the start of the process.
        from ostiary.adapters.tools.web.duckduckgo import AskedForAPerson, results_in

        ask = _Asking(self.name, "Set up another provider in tools.web.search.", seconds)
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "User-Agent": self._user_agent,
            "Accept": "text/html",
            "Accept-Language": "en",
        }
        page = await ask.body(self._origin, "POST", "/html/", urlencode({"q": query}).encode(), headers=headers)
        try:
            return results_in(page[:_LONGEST_PAGE].decode("utf-8", "replace"))[:count]
        except AskedForAPerson:
            raise riddle(self.name) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Engines:
    """What may be asked. `provider` empty: the first of those that have what they need. `keys` are by provider."""

    provider: str = ""
    keys: Mapping[str, Key]
    searxng_url: str = ""
    user_agent: str = "Mozilla/5.0 (compatible; Ostiary)"
    brave_url: str = "https://api.search.brave.com"
    tavily_url: str = "https://api.tavily.com"
    duckduckgo_url: str = "https://html.duckduckgo.com"


def choose(engines: Engines, egress: Egress) -> Provider:
    """Raises ToolError if the chosen one lacks something."""
    name = engines.provider or _first(engines)
    try:
        match name:
            case "brave":
                return Brave(egress.configured(engines.brave_url), engines.keys.get("brave", _none))
            case "tavily":
                return Tavily(egress.configured(engines.tavily_url), engines.keys.get("tavily", _none))
            case "searxng" if engines.searxng_url:
                return SearXNG(egress.configured(engines.searxng_url))
            case "searxng":
                raise ToolError("SearXNG needs tools.web.search.searxng.baseUrl in the configuration.")
            case "duckduckgo":
                return DuckDuckGo(egress.configured(engines.duckduckgo_url), engines.user_agent)
    except EgressRefused as error:
        raise ToolError(str(error)) from None
    raise ToolError(f"{name[:40]!r} is not a search provider (brave, tavily, searxng, duckduckgo).")


def _first(engines: Engines) -> str:
    for name in ("brave", "tavily"):
        if engines.keys.get(name, _none)():
            return name
    return "searxng" if engines.searxng_url else "duckduckgo"


def _none() -> str:
    return ""


def _needed(key: Key, name: str) -> str:
    value = key()
    if not value:
        raise ToolError(f"{name} needs a key, and none is set up; the owner can store one.")
    return value


class _Asking:
    """One question to a provider, with the errors people read."""

    def __init__(self, name: str, hint: str, seconds: float) -> None:
        self._name = name
        self._hint = hint
        self._limits = Limits(connect_seconds=min(10.0, seconds), idle_seconds=seconds, total_seconds=seconds)

    async def json(
        self, origin: ConfiguredOrigin, method: str, path: str, body: bytes = b"", **headers: Any
    ) -> Mapping[str, Any]:
        content = await self.body(origin, method, path, body, **headers)
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ToolError(f"{self._name} sent something that is no list of results.")
        return found

    async def body(self, origin: ConfiguredOrigin, method: str, path: str, body: bytes = b"", **headers: Any) -> bytes:
        try:
            limits = self._limits
            exchange = (
                origin.get(path, limits=limits, **headers)
                if method == "GET"
                else origin.post(path, body, limits=limits, **headers)
            )
            async with exchange as response:
                if response.status != 200:
                    said, wait = await response.error_text(), response.headers.get("retry-after", "")
                    raise refused(self._name, response.status, hint=self._hint, said=said, wait=wait)
                return await response.body(at_most=_LARGEST)
        except EgressRefused as error:
            raise ToolError(f"{self._name} could not be asked: {error}") from None
        except EgressFailed as error:
            raise ToolError(f"{self._name} could not be asked: {error}") from None
