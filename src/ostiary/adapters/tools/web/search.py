"""web_search: addresses and snippets for a question."""

from collections.abc import Callable, Mapping

from ostiary.adapters.egress import AgentProfile
from ostiary.adapters.tools import fields
from ostiary.adapters.tools.files import RESULT_BYTES
from ostiary.adapters.tools.web.cache import Recent
from ostiary.adapters.tools.web.fetch import ProfileOf
from ostiary.adapters.tools.web.hits import Hit, Provider
from ostiary.adapters.tools.web.page import web_label
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import EgressRefused, ToolError
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.records import dataclass
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec

_LONGEST_QUERY = 400
_MOST = 20

SPEC = ToolSpec(
    schema=ToolSchema(
        name="web_search",
        description="Search the web.",
        parameters={
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "count": {"type": "integer"},
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    ),
    effects=frozenset({Effect.READ, Effect.NETWORK}),
    repeatable=True,
    untrusted_output=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    max_results: int = 5
    seconds: float = 30.0
    cache_seconds: float = 900.0


class WebSearch:
    """Results that lead where this role may not go are left out, so that nobody is sent against a wall."""

    spec = SPEC

    def __init__(
        self,
        provider: Callable[[], Provider],
        profile_of: ProfileOf,
        clock: Clock,
        settings: SearchSettings,
        *,
        max_bytes: int = RESULT_BYTES,
    ) -> None:
        self._provider = provider
        self._profile_of = profile_of
        self._settings = settings
        self._max_bytes = max_bytes
        self._recent: Recent[tuple[Hit, ...]] = Recent(clock, seconds=settings.cache_seconds, size=1024 * 1024)

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments, "query", "count")
        query = " ".join(fields.text(arguments, "query").split())
        if not query or len(query) > _LONGEST_QUERY:
            raise ToolError(f"query must have from 1 to {_LONGEST_QUERY} characters.")
        if any("\ud800" <= character <= "\udfff" for character in query):
            raise ToolError("query holds half a character (a lone surrogate).")
        count = fields.whole(arguments, "count", self._settings.max_results, least=1, most=_MOST)
        provider = self._provider()
        key = (provider.name, query, str(count))
        found = self._recent.get(key)
        is_recent = found is not None
        if found is None:
            found = await provider.search(query, count, self._settings.seconds)
            self._recent.keep(key, found, sum(len(each.title) + len(each.url) + len(each.snippet) for each in found))
        reachable = _reachable(found, self._profile_of(context.principal.role))
        return ToolResult(
            text=shown(reachable, self._max_bytes),
            details={
                "query": query,
                "provider": provider.name,
                "results": [{"title": each.title, "url": each.url} for each in reachable],
                "left_out": len(found) - len(reachable),
                "cached": is_recent,
            },
            label=web_label(provider.host),
        )


def _reachable(found: tuple[Hit, ...], profile: AgentProfile) -> tuple[Hit, ...]:
    kept = []
    for each in found:
        try:
            url = str(profile.check(each.url))
        except EgressRefused:
            continue
        kept.append(Hit(title=each.title, url=url, snippet=each.snippet))
    return tuple(kept)


def shown(found: tuple[Hit, ...], max_bytes: int) -> str:
    if not found:
        return "[no results]"
    entries: list[str] = []
    size = 0
    for number, each in enumerate(found, 1):
        entry = f"{number}. {each.title}\n{each.url}\n{each.snippet}".rstrip()
        size += len(entry.encode("utf-8", "replace")) + 2
        if entries and size > max_bytes - 60:
            entries.append(f"[{len(found) - number + 1} more left out for their length]")
            break
        entries.append(entry)
    return "\n\n".join(entries)
