"""web_fetch and web_search, and the reading of links in messages."""

from ostiary.adapters.egress import Egress
from ostiary.adapters.tools.files import RESULT_BYTES
from ostiary.adapters.tools.web.fetch import FetchSettings, ProfileOf, WebFetch
from ostiary.adapters.tools.web.links import LinkReader, LinkSettings
from ostiary.adapters.tools.web.providers import Engines, choose
from ostiary.adapters.tools.web.reading import Reader, missing_libraries
from ostiary.adapters.tools.web.search import SearchSettings, WebSearch
from ostiary.contracts.clock import Clock
from ostiary.contracts.plugin import PluginHost

__all__ = [
    "Engines",
    "FetchSettings",
    "LinkReader",
    "LinkSettings",
    "ProfileOf",
    "Reader",
    "SearchSettings",
    "missing_libraries",
    "register_web",
]


def register_web(
    host: PluginHost,
    *,
    egress: Egress,
    profile_of: ProfileOf,
    clock: Clock,
    reader: Reader,
    fetch: FetchSettings | None,
    search: SearchSettings | None,
    engines: Engines,
    max_bytes: int = RESULT_BYTES,
) -> None:
    """web_fetch and web_search; settings that are None leave the tool out."""
    if fetch is not None:
        host.add_tool(WebFetch(profile_of, reader, clock, fetch, max_bytes=max_bytes))
    if search is not None:
        host.add_tool(WebSearch(lambda: choose(engines, egress), profile_of, clock, search, max_bytes=max_bytes))
