"""The newest version of every document that commands may meet, followed by what changed instead of listed again."""

from collections.abc import Mapping

import anyio

from ostiary.contracts.store import Documents, DocumentVersion

_PAGE = 1000


class Mirror:
    """Versions by path, tombstones included (their digest is empty), of some collections. `generation` grows with every
    change that was taken in."""

    def __init__(self, documents: Documents, collections: tuple[str, ...]) -> None:
        self._documents = documents
        self._newest: dict[str, dict[str, DocumentVersion]] = {name: {} for name in collections}
        self._after = 0
        self._is_filled = False
        self._lock = anyio.Lock()
        self.generation = 0

    def of(self, collection: str) -> Mapping[str, DocumentVersion]:
        return self._newest[collection]

    async def refresh(self) -> None:
        """Everything that was committed before is here afterwards. Raises StoreError."""
        async with self._lock:
            if not self._is_filled:
                # The place first: what is committed while we list is then met twice rather than never.
                self._after = await _last_place(self._documents)
                for collection in self._newest:
                    for version in await self._documents.list(collection):
                        self._take(version)
                self._is_filled = True
            while page := await self._documents.changes(self._after, limit=_PAGE):
                for place, version in page:
                    self._take(version)
                    self._after = place
                if len(page) < _PAGE:
                    return

    def _take(self, version: DocumentVersion) -> None:
        held = self._newest.get(version.collection)
        if held is None:
            return
        known = held.get(version.path)
        if known is None or known.version < version.version:
            held[version.path] = version
            self.generation += 1


async def _last_place(documents: Documents) -> int:
    """The place of the newest change, found by halving: the store names places but not their end."""
    low, high = 0, 1024
    while page := await documents.changes(high, limit=1):
        low, high = page[0][0], high * 4
    while low < high:
        middle = (low + high) // 2
        page = await documents.changes(middle, limit=1)
        if page:
            low = page[0][0]
        else:
            high = middle
    return low
