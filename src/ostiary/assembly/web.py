"""What the configuration's keys about the web mean to the parts that read them."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from ostiary.assembly.config.secret import CredentialReference, Reference, SecretSource
from ostiary.assembly.config.web import Web, WebFetch, WebLinks, WebSearch
from ostiary.contracts.errors import ConfigInvalid, StoreError, ToolError

if TYPE_CHECKING:
    from ostiary.adapters.egress import EgressRules
    from ostiary.adapters.tools.web import Engines, FetchSettings, LinkSettings, SearchSettings

VARIABLES = {"brave": "BRAVE_API_KEY", "tavily": "TAVILY_API_KEY"}


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


def engines(
    search: WebSearch, reveal: Callable[[SecretSource], str], environ: Mapping[str, str], lent: Callable[[str, str], None]
) -> "Engines":
    """`reveal` gives a secret for one use; it is called for every search, so that a changed key holds at once. `lent` is told
    the name of every key that is lent, and what for."""
    from ostiary.adapters.tools.web import Engines

    def lend(name: str, source: SecretSource | None) -> Callable[[], str]:
        known_as = _name(source) if source is not None else VARIABLES[name]

        def key() -> str:
            try:
                value = reveal(source) if source is not None else environ.get(VARIABLES[name], "")
            except (ConfigInvalid, StoreError) as error:
                raise ToolError(f"The key for {name} cannot be had: {error}.") from error
            if value:
                lent(known_as, f"web_search:{name}")
            return value

        return key

    return Engines(
        provider="" if search.provider == "auto" else search.provider,
        keys={"brave": lend("brave", search.api_key), "tavily": lend("tavily", search.tavily.api_key)},
        searxng_url=search.searxng.base_url,
    )


def _name(source: SecretSource) -> str:
    """What a secret is called where it is kept."""
    match source:
        case CredentialReference():
            return source.name
        case Reference():
            return " ".join(source.names)
        case _:
            return source.path
