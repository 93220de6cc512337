"""The web in the configuration: which addresses the assistant may reach, and how it fetches and searches.

`egress_rules`, `fetch_settings` and their like say what the keys mean to the parts that read them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from ostiary.assembly.config.secret import SecretSource
from ostiary.assembly.config.section import key, section

if TYPE_CHECKING:
    from ostiary.adapters.egress import EgressRules
    from ostiary.adapters.tools.web import Engines, FetchSettings, LinkSettings, SearchSettings

PLACE = r"[A-Za-z0-9_*\[][A-Za-z0-9_*.:/\[\]-]{0,299}"
USER_AGENT = "Mozilla/5.0 (compatible; Ostiary)"
VARIABLES = {"brave": "BRAVE_API_KEY", "tavily": "TAVILY_API_KEY"}


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


def egress_rules(web: Web, role: str, *, control_hosts: Iterable[str] = (), control_ports: Iterable[int] = ()) -> "EgressRules":
    """What holds for a role. `control_hosts` and `control_ports` are the gateway's own."""
    from ostiary.adapters.egress import EgressRules, is_own

    of_role = web.by_role.get(role)
    return EgressRules(
        allow_private=web.allow_private,
        blocked=(*web.deny, *(of_role.deny if of_role else ())),
        allowed=web.allow,
        allowed_too=of_role.allow if of_role else None,
        control_hosts=tuple(control_hosts),
        control_ports=frozenset(control_ports),
        is_own=is_own,
    )


def fetch_settings(fetch: WebFetch) -> "FetchSettings | None":
    """None if it is switched off."""
    from ostiary.adapters.tools.web import FetchSettings

    if not fetch.enabled:
        return None
    return FetchSettings(
        max_chars=fetch.max_chars,
        max_chars_cap=fetch.max_chars_cap,
        max_response_bytes=fetch.max_response_bytes,
        seconds=float(fetch.timeout_seconds),
        cache_seconds=fetch.cache_ttl_minutes * 60.0,
        redirects=fetch.max_redirects,
        user_agent=fetch.user_agent,
    )


def search_settings(search: WebSearch) -> "SearchSettings | None":
    """None if it is switched off."""
    from ostiary.adapters.tools.web import SearchSettings

    if not search.enabled:
        return None
    return SearchSettings(
        max_results=search.max_results, seconds=float(search.timeout_seconds), cache_seconds=search.cache_ttl_minutes * 60.0
    )


def link_settings(links: WebLinks) -> "LinkSettings | None":
    """None if it is switched off."""
    from ostiary.adapters.tools.web import LinkSettings

    if not links.enabled:
        return None
    return LinkSettings(max_links=links.max_links, seconds=float(links.timeout_seconds), max_chars=links.max_chars)


def engines(search: WebSearch, reveal: Callable[[SecretSource], str], environ: Mapping[str, str]) -> "Engines":
    """`reveal` gives a secret for one use; it is called for every search, so that a changed key holds at once."""
    from ostiary.adapters.tools.web import Engines

    def lend(name: str, source: SecretSource | None) -> Callable[[], str]:
        return lambda: reveal(source) if source is not None else environ.get(VARIABLES[name], "")

    return Engines(
        provider="" if search.provider == "auto" else search.provider,
        keys={"brave": lend("brave", search.api_key), "tavily": lend("tavily", search.tavily.api_key)},
        searxng_url=search.searxng.base_url,
    )
