"""vault_search, vault_get, vault_status: the documents of the vault as the model uses them in the posture `vault`.

Memory has its own tools, which know who may read which note; these reach the workspace and the collections people made.
"""

from collections.abc import Callable, Mapping

from ostiary.adapters.tools import fields
from ostiary.adapters.tools.files import RESULT_BYTES, clean_path, cut, decode, label_of
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import BadInput, ToolError
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.plugin import PluginHost
from ostiary.contracts.search import Passage, Reach, Search
from ostiary.contracts.store import Documents
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec

WORKSPACE = "_workspace"
_AGENTS = "agents/"
_PRIVATE = Label(trust=Trust.SYSTEM, private=True)
_UNKNOWN = Label(trust=Trust.UNTRUSTED, private=True)
_LONGEST_QUERY = 1_000
_MOST_RESULTS = 20

FolderOf = Callable[[str], str]


def _spec(name: str, description: str, properties: Mapping[str, object], required: tuple[str, ...] = ()) -> ToolSpec:
    parameters = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return ToolSpec(
        schema=ToolSchema(name=name, description=description, parameters=parameters),
        effects=frozenset({Effect.READ}),
        repeatable=True,
        untrusted_output=False,
    )


class _Shelf:
    """Which collections there are for a session: its agent's workspace, and those people made for everybody."""

    def __init__(self, documents: Documents, folder_of: FolderOf, protected: Callable[[str], str]) -> None:
        self.documents = documents
        self.protected = protected
        self._folder_of = folder_of

    async def collections(self) -> tuple[str, ...]:
        found = [use.collection for use in await self.documents.collections()]
        return (WORKSPACE, *(name for name in found if not name.startswith("_")))

    def folder(self, session: SessionKey) -> str:
        return self._folder_of(session.agent)

    async def reaches(self, wanted: str, session: SessionKey) -> tuple[Reach, ...]:
        """Raises ToolError for a collection that is not one of these: others are not even said to exist."""
        known = await self.collections()
        if wanted and wanted not in known:
            raise ToolError(f"There is no collection {wanted[:80]}. There are: {', '.join(known)}.")
        folder = self.folder(session)
        own = Reach(collections=(WORKSPACE,), include=(f"{folder}**",), exclude=() if folder else (f"{_AGENTS}**",))
        made = tuple(name for name in known if name != WORKSPACE and wanted in ("", name))
        return (*((own,) if wanted in ("", WORKSPACE) else ()), *((Reach(collections=made),) if made else ()))


class VaultSearch:
    def __init__(self, search: Search, shelf: _Shelf) -> None:
        limit = {"type": "integer"}
        properties = {"query": {"type": "string"}, "collection": {"type": "string"}, "limit": limit}
        self.spec = _spec("vault_search", "Search the files by words and meaning.", properties, ("query",))
        self._search = search
        self._shelf = shelf

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments, "query", "collection", "limit")
        query = fields.text(arguments, "query").strip()
        limit = fields.whole(arguments, "limit", 6, least=1, most=_MOST_RESULTS)
        if not query or len(query) > _LONGEST_QUERY:
            raise ToolError(f"The query must have 1 to {_LONGEST_QUERY:,} characters.")
        found: list[Passage] = []
        notices: list[str] = []
        for reach in await self._shelf.reaches(fields.text(arguments, "collection", ""), context.session):
            try:
                answer = await self._search.query(query, reach=reach, limit=limit)
            except BadInput as error:
                raise ToolError(str(error), hint=error.hint) from None
            found.extend(each for each in answer.passages if not self._shelf.protected(each.path))
            notices.extend(each for each in answer.notices if each not in notices)
        found = sorted(found, key=lambda each: -each.score)[:limit]
        label = _PRIVATE
        for passage in found:
            label = label.join(passage.label or _UNKNOWN)
        folder = self._shelf.folder(context.session)
        parts = [_shown(each, folder) for each in found] or ["Nothing matches."]
        hits = [{"collection": each.collection, "path": each.path, "start": each.start, "end": each.end} for each in found]
        text = "\n\n".join((*parts, *(f"[{notice}]" for notice in notices)))
        return ToolResult(text=text, details={"hits": hits}, label=label)


class VaultGet:
    def __init__(self, shelf: _Shelf, max_bytes: int) -> None:
        properties = {"collection": {"type": "string"}, "path": {"type": "string"}}
        self.spec = _spec("vault_get", "Read a document of a collection.", properties, ("path",))
        self._shelf = shelf
        self._max_bytes = max_bytes

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments, "collection", "path")
        collection, path = fields.text(arguments, "collection", WORKSPACE), clean_path(fields.text(arguments, "path"))
        known = await self._shelf.collections()
        place = (self._shelf.folder(context.session) if collection == WORKSPACE else "") + path
        is_others = collection == WORKSPACE and not self._shelf.folder(context.session) and path.startswith(_AGENTS)
        reason = self._shelf.protected(path)
        if reason:
            raise ToolError(f"{path[:200]} is protected: {reason}.")
        found = None if collection not in known or is_others else await self._shelf.documents.get(collection, place)
        if found is None:
            raise ToolError(f"There is no document {path[:200] or '.'} in {collection[:80]}. Search for what you need.")
        version, content = found
        text = cut(decode(content, path), self._max_bytes)
        return ToolResult(text=text, details={"path": path, "version": version.version}, label=label_of(version))


class VaultStatus:
    def __init__(self, search: Search, shelf: _Shelf) -> None:
        self.spec = _spec("vault_status", "Collections and the state of the index.", {})
        self._search = search
        self._shelf = shelf

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments)
        known = await self._shelf.collections()
        uses = [use for use in await self._shelf.documents.collections() if use.collection in known]
        status = await self._search.status()
        lines = [f"{use.collection}: {use.documents} documents, {use.bytes:,} bytes" for use in uses]
        lines.append(f"Index: {status.documents} documents, {status.waiting} waiting, vectors by {status.embedder or 'nobody'}.")
        return ToolResult(text="\n".join((*lines, *((status.problem,) if status.problem else ()))), label=_PRIVATE)


def _shown(passage: Passage, folder: str) -> str:
    """The lines stand behind `>`, so that none of them can pass for a result of its own."""
    where = passage.path.removeprefix(folder) if passage.collection == WORKSPACE else f"{passage.collection}/{passage.path}"
    lines = "\n".join(f"> {line}" for line in passage.snippet.split("\n"))
    return f"{' '.join(where.split())}:{passage.start}-{passage.end}\n{lines}"


def register_vault(
    host: PluginHost,
    *,
    documents: Documents,
    search: Search,
    folder_of: FolderOf,
    protected: Callable[[str], str],
    max_bytes: int = RESULT_BYTES,
) -> None:
    shelf = _Shelf(documents, folder_of, protected)
    host.add_tool(VaultSearch(search, shelf))
    host.add_tool(VaultGet(shelf, max_bytes))
    host.add_tool(VaultStatus(search, shelf))
