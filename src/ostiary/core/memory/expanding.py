"""Asking memory with an imagined answer: notes are worded like answers, not like questions."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio

from ostiary.contracts.errors import OstiaryError
from ostiary.contracts.search import Found, IndexStatus, Reach, Search

SECONDS = 6.0
LONGEST = 400
ASKING = (
    "Write one short sentence that could stand in somebody's notes and would answer the question. Invent the details. "
    "No introduction."
)


class Expanding:
    """A `Search`. `is_wanted` says whether `imagine` is asked at all; where it fails or is slow, the question stands alone
    and the answer says so. What was imagined only widens the question: it is never shown and never kept."""

    def __init__(self, search: Search, imagine: Callable[[str], Awaitable[str]], is_wanted: Callable[[], bool]) -> None:
        self._search = search
        self._imagine = imagine
        self._is_wanted = is_wanted

    async def query(self, text: str, *, reach: Reach, limit: int = 6) -> Found:
        if not self._is_wanted():
            return await self._search.query(text, reach=reach, limit=limit)
        try:
            with anyio.fail_after(SECONDS):
                imagined = " ".join((await self._imagine(text)).split())[:LONGEST]
        except (OstiaryError, TimeoutError) as error:
            found = await self._search.query(text, reach=reach, limit=limit)
            reason = str(error) or "it took too long"
            return replace(found, notices=(*found.notices, f"The question was not widened by a model: {reason}."))
        return await self._search.query(f"{text}\n{imagined}", reach=reach, limit=limit)

    async def status(self) -> IndexStatus:
        return await self._search.status()

    async def forget(self, collection: str, path: str) -> None:
        await self._search.forget(collection, path)
