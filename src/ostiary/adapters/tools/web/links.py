"""Links in a person's message, read before the turn begins."""

import anyio

from ostiary.adapters.egress import FetchLimits
from ostiary.adapters.tools.web.fetch import ProfileOf, shown
from ostiary.adapters.tools.web.page import load_page, web_label
from ostiary.adapters.tools.web.reading import Reader
from ostiary.contracts.content import Text
from ostiary.contracts.errors import EgressRefused, ToolError
from ostiary.contracts.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSettings:
    """`seconds` is for all links together, `max_chars` for each."""

    max_links: int = 3
    seconds: float = 10.0
    max_chars: int = 4000
    max_response_bytes: int = 1_000_000
    user_agent: str = "Mozilla/5.0 (compatible; Ostiary)"


class LinkReader:
    """Never raises for what a link does: one that cannot be read is told in a word, so that nobody invents what it says."""

    def __init__(self, profile_of: ProfileOf, reader: Reader, settings: LinkSettings) -> None:
        self._profile_of = profile_of
        self._reader = reader
        self._settings = settings

    async def read(self, urls: tuple[str, ...], role: str) -> tuple[Text, ...]:
        """In the order of `urls`, at most `max_links`, within `seconds` in all; every text is untrusted and names its hosts."""
        urls = urls[: self._settings.max_links]
        texts: dict[str, Text] = {}

        async def one(url: str) -> None:
            texts[url] = await self._one(url, role)

        with anyio.move_on_after(self._settings.seconds):
            async with anyio.create_task_group() as group:
                for url in urls:
                    group.start_soon(one, url)
        return tuple(texts.get(url) or _unread(url, "It took too long.") for url in urls)

    async def _one(self, url: str, role: str) -> Text:
        settings = self._settings
        limits = FetchLimits(total_seconds=settings.seconds, response_bytes=settings.max_response_bytes, cuts=True)
        try:
            profile = self._profile_of(role)
            parsed = profile.check(url)
            page = await load_page(profile, self._reader, str(parsed), limits=limits, user_agent=settings.user_agent)
        except (EgressRefused, ToolError) as error:
            return _unread(url, str(error))
        body = shown(page, 0, settings.max_chars, 4 * settings.max_chars)
        return Text(text=f"[link in the message: {url[:300]}]\n{body}", label=page.label)


def _unread(url: str, reason: str) -> Text:
    host = url.partition("://")[2].partition("/")[0][:100]
    return Text(text=f"[link in the message that could not be read: {url[:300]} {reason}]", label=web_label(host))
