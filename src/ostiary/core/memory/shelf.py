"""Walking over everything that is remembered, text by text."""

from collections.abc import AsyncIterator

from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Documents, DocumentVersion
from ostiary.core.agent.bootstrap import BOOTSTRAP, PRIVATE, folder_of
from ostiary.core.memory.paths import AGENTS, COLLECTION

PAGE = 500
_LOOKED_INTO = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A living text document of memory. `path` is relative to the agent's folder."""

    path: str
    version: DocumentVersion
    text: str


async def notes(documents: Documents, *, agent: str = "main", under: str = "") -> AsyncIterator[Note]:
    """In path order; what is no text is left out. Raises StoreError."""
    folder = folder_of(agent)
    after = ""
    while True:
        page = await documents.list(COLLECTION, pattern=f"{folder}{under}**", limit=PAGE, after=after)
        for version in page:
            if not folder and version.path.startswith(AGENTS):
                continue
            found = await documents.get(COLLECTION, version.path)
            text = as_text(found[1]) if found is not None else None
            if found is not None and text is not None:
                yield Note(path=version.path.removeprefix(folder), version=found[0], text=text)
        if len(page) < PAGE:
            return
        after = page[-1].path


async def ever_there(documents: Documents) -> dict[tuple[str, str], list[DocumentVersion]]:
    """Every version of every memory document that ever was, also of those deleted or moved since, oldest first; the
    MEMORY.md of old among the bootstrap files as well. Raises StoreError."""
    found: dict[tuple[str, str], list[DocumentVersion]] = {}
    place = 0
    while True:
        page = await documents.changes(place, limit=1000)
        for _, version in page:
            if _is_memory(version):
                found.setdefault((version.collection, version.path), []).append(version)
        if not page:
            return found
        place = page[-1][0]


async def elsewhere(documents: Documents) -> AsyncIterator[tuple[DocumentVersion, str]]:
    """The last content of every text document that is no memory, up to a megabyte each, also of those deleted since. Raises
    StoreError."""
    last: dict[tuple[str, str], DocumentVersion] = {}
    place = 0
    while page := await documents.changes(place, limit=1000):
        place = page[-1][0]
        last.update(
            ((each.collection, each.path), each)
            for _, each in page
            if each.digest and not each.erased and each.size <= _LOOKED_INTO and not _is_memory(each)
        )
    for (collection, path), version in sorted(last.items()):
        found = await documents.get(collection, path, version=version.version)
        text = as_text(found[1]) if found is not None else None
        if text is not None:
            yield version, text


def _is_memory(version: DocumentVersion) -> bool:
    """Also the MEMORY.md of old, among the bootstrap files."""
    is_old = version.collection == BOOTSTRAP and version.path.rpartition("/")[2] == PRIVATE
    return is_old or version.collection == COLLECTION


def as_text(content: bytes) -> str | None:
    """None for what is no text."""
    if b"\x00" in content[:4096]:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None
