"""web_fetch: a page of the web as text."""

from collections.abc import Callable, Mapping

from ostiary.adapters.egress import AgentProfile, FetchLimits
from ostiary.adapters.tools import fields
from ostiary.adapters.tools.files import RESULT_BYTES
from ostiary.adapters.tools.web.cache import Recent
from ostiary.adapters.tools.web.page import Page, load_page
from ostiary.adapters.tools.web.reading import Reader
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import EgressRefused, ToolError
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.records import dataclass
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec

ProfileOf = Callable[[str], AgentProfile]
"""The way out for a role, by the newest rules."""

_MOST = 10_000_000
_MARKER_ROOM = 160

SPEC = ToolSpec(
    schema=ToolSchema(
        name="web_fetch",
        description="Read a web page, PDF or image.",
        parameters={
            "type": "object",
            "properties": {
                "url": {"type": "string"},
                "max_chars": {"type": "integer"},
                "offset": {"type": "integer", "description": "first character"},
            },
            "required": ["url"],
            "additionalProperties": False,
        },
    ),
    effects=frozenset({Effect.READ, Effect.NETWORK}),
    repeatable=True,
    untrusted_output=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings:
    """`max_chars` is the default and the most of `max_chars_cap` is what a call may ask for."""

    max_chars: int = 50_000
    max_chars_cap: int = 50_000
    max_response_bytes: int = 5_000_000
    seconds: float = 30.0
    cache_seconds: float = 900.0
    redirects: int = 5
    user_agent: str = "Mozilla/5.0 (compatible; Ostiary)"

    @property
    def limits(self) -> FetchLimits:
        return FetchLimits(
            total_seconds=self.seconds, response_bytes=self.max_response_bytes, cuts=True, redirects=self.redirects
        )


class WebFetch:
    """Pages are kept for some minutes, so reading on costs nothing. What is refused now is not given from there either."""

    spec = SPEC

    def __init__(
        self, profile_of: ProfileOf, reader: Reader, clock: Clock, settings: FetchSettings, *, max_bytes: int = RESULT_BYTES
    ) -> None:
        self._profile_of = profile_of
        self._reader = reader
        self._settings = settings
        self._max_bytes = max_bytes
        self._recent: Recent[Page] = Recent(clock, seconds=settings.cache_seconds)

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments, "url", "max_chars", "offset")
        settings = self._settings
        most = fields.whole(arguments, "max_chars", settings.max_chars, least=100, most=_MOST)
        offset = fields.whole(arguments, "offset", 0, least=0, most=_MOST)
        role = context.principal.role
        profile = self._profile_of(role)
        try:
            url = str(profile.check(fields.text(arguments, "url")))
        except EgressRefused as error:
            raise ToolError(f"Refused: {error}") from None
        page = self._recent.get((role, url))
        is_recent = page is not None
        if page is None:
            page = await load_page(profile, self._reader, url, limits=settings.limits, user_agent=settings.user_agent)
            self._recent.keep((role, url), page, len(page.text) + page.size * bool(page.blobs))
        return ToolResult(
            text=shown(page, offset, min(most, settings.max_chars_cap), self._max_bytes),
            details=_details(page, url, is_recent),
            images=page.images,
            label=page.label,
            blobs=page.blobs,
        )


def shown(page: Page, offset: int, max_chars: int, max_bytes: int) -> str:
    """Title, address and text, never more than `max_bytes`; the last line tells what is left out and how to get it."""
    head = f"{page.title[:200]}\n{page.url[:500]}\n\n".lstrip("\n")
    if page.images:
        return f"{head}[an image of {page.size:,} bytes]"
    if not page.text:
        return f"{head}[no readable text; the page may need a browser]"
    if offset >= len(page.text):
        raise ToolError(f"The page has {len(page.text):,} characters; there is none at {offset}.")
    room = max(max_bytes - len(head.encode()) - _MARKER_ROOM, 200)
    part = page.text[offset : offset + max_chars]
    if len(part.encode("utf-8", "replace")) > room:
        part = part.encode("utf-8", "replace")[:room].decode("utf-8", "ignore")
    if offset + len(part) < len(page.text):
        part = _to_a_line(part)
    end = offset + len(part)
    marks = []
    if offset or end < len(page.text):
        marks.append(f"characters {offset}-{end} of {len(page.text)}")
    if end < len(page.text):
        marks.append(f"read on with offset={end}")
    if page.is_cut:
        marks.append("the page itself was cut for its size")
    return f"{head}{part}\n[{'; '.join(marks)}]" if marks else f"{head}{part}"


def _to_a_line(part: str) -> str:
    """Cut at the end of a line, if there is one near the end."""
    at = part.rfind("\n") + 1
    return part[:at] if 4 * at > 3 * len(part) else part


def _details(page: Page, url: str, is_recent: bool) -> Mapping[str, object]:
    return {
        "url": url,
        "final_url": page.url,
        "status": page.status,
        "kind": page.kind,
        "title": page.title,
        "bytes": page.size,
        "chars": len(page.text),
        "redirects": list(page.redirects),
        "truncated": page.is_cut,
        "cached": is_recent,
    }
