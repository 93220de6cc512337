"""The web in the configuration: which addresses the assistant may reach, and how it fetches and searches."""

from collections.abc import Mapping
from typing import Literal

from ostiary.assembly.config.secret import SecretSource
from ostiary.assembly.config.section import key, section

PLACE = r"[A-Za-z0-9_*\[][A-Za-z0-9_*.:/\[\]-]{0,299}"
USER_AGENT = "Mozilla/5.0 (compatible; Ostiary)"


@section
class Tavily:
    """Tavily."""

    api_key: SecretSource | None = key(None, "Its key. Absent: TAVILY_API_KEY of the environment.")


@section
class SearXNG:
    """A SearXNG of your own."""

    base_url: str = key("", "Where it is; it must allow the format json.", pattern=r"(https?://\S+)?")


@section
class WebSearch:
    """The tool web_search."""

    enabled: bool = key(True, "Offer it.")
    provider: Literal["auto", "brave", "tavily", "searxng", "duckduckgo"] = key(
        "auto", "Whom to ask. auto: the first that has its key or address; DuckDuckGo needs none."
    )
    api_key: SecretSource | None = key(None, "The key of Brave. Absent: BRAVE_API_KEY of the environment.")
    max_results: int = key(5, "Results, unless the model asks for another number.", minimum=1, maximum=20)
    timeout_seconds: int = key(30, "How long one search may take.", minimum=1, maximum=300)
    cache_ttl_minutes: int = key(15, "How long an answer is kept.", minimum=0, maximum=1440)
    tavily: Tavily = key(factory=Tavily)
    searxng: SearXNG = key(factory=SearXNG)


@section
class WebFetch:
    """The tool web_fetch."""

    enabled: bool = key(True, "Offer it.")
    max_chars: int = key(
        50_000, "Characters of a page in one result, unless the model asks for fewer.", minimum=100, maximum=1_000_000
    )
    max_chars_cap: int = key(50_000, "The most it can ask for.", minimum=100, maximum=1_000_000)
    max_response_bytes: int = key(5_000_000, "A larger page is cut.", minimum=10_000, maximum=50_000_000)
    timeout_seconds: int = key(30, "How long one page may take with all its redirects.", minimum=1, maximum=300)
    cache_ttl_minutes: int = key(15, "How long a page is kept.", minimum=0, maximum=1440)
    max_redirects: int = key(5, "Redirects that are followed.", minimum=0, maximum=5)
    user_agent: str = key(USER_AGENT, "How it introduces itself.", pattern=r"[ -~]{1,200}", advanced=True)


@section
class WebLinks:
    """Links in messages, read before the assistant answers."""

    enabled: bool = key(True, "Read them, for the owner's messages.")
    max_links: int = key(3, "Of one message.", minimum=1, maximum=3)
    timeout_seconds: int = key(10, "For all of them together.", minimum=1, maximum=60)
    max_chars: int = key(4000, "Of each page.", minimum=100, maximum=50_000)


@section
class UrlRules:
    """Hosts such as docs.example.com or *.example.com, addresses and networks, each with :port or without."""

    allow: tuple[str, ...] | None = key(None, "If set, only these; an empty list allows none.", pattern=PLACE)
    deny: tuple[str, ...] = key((), "Never these.", pattern=PLACE)


@section
class Web:
    """What the assistant reaches of the web, by every tool: fetching, browsing, commands in the sandbox."""

    allow_private: tuple[str, ...] = key(
        (),
        "What may be reached although it is not public, such as nas.lan or 192.168.1.20:8080.",
        pattern=PLACE,
    )
    allow: tuple[str, ...] | None = key(None, "If set, only these hosts; an empty list allows none.", pattern=PLACE)
    deny: tuple[str, ...] = key((), "Never these hosts.", pattern=PLACE)
    by_role: Mapping[str, UrlRules] = key(factory=dict, help="Further rules for a role; they can only narrow.", advanced=True)
    search: WebSearch = key(factory=WebSearch)
    fetch: WebFetch = key(factory=WebFetch)
    links: WebLinks = key(factory=WebLinks)
