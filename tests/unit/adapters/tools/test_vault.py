from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ostiary.adapters.search import Embedded, open_search
from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.adapters.tools.vault import register_vault
from ostiary.assembly.builtin import Host
from ostiary.assembly.machine import SystemClock
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import ToolError
from ostiary.contracts.identity import Principal, SessionKey, UserId
from ostiary.contracts.store import Put
from ostiary.contracts.tool import ToolContext, ToolResult
from ostiary.core.agent.bootstrap import folder_of

KEY = b"k" * 32
OWN = Label(trust=Trust.OWNER, sources=("owner",))
OWNER = Principal(user=UserId(channel="memory", stable_id="owner"), role="owner")


class Desk:
    def __init__(self, host: Host, store: SqliteStore) -> None:
        self.tools = host.tools
        self.store = store

    async def put(self, collection: str, path: str, text: str, label: Label = OWN) -> None:
        put = Put(collection=collection, path=path, content=text.encode(), at=1.0, author="owner", label=label)
        await self.store.commit([put])

    async def call(self, tool: str, agent: str = "main", **arguments: object) -> ToolResult:
        context = ToolContext(principal=OWNER, session=SessionKey(agent, "main"), turn="t", call_key="k")
        return await self.tools[tool].call(arguments, context)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    clock = SystemClock()
    async with (
        open_store(tmp_path / "store.db", KEY, clock=clock) as store,
        open_search(tmp_path / "search.db", KEY, store=store, embedder=Embedded(clock=clock), clock=clock) as search,
    ):
        host = Host()

        def protected(path: str) -> str:
            return "it holds secrets" if path.endswith(".env") else ""

        register_vault(host, documents=store.documents, search=search, folder_of=folder_of, protected=protected)
        made = Desk(host, store)
        await made.put("_workspace", "plans/roof.md", "The roof is repaired in April by Osman.\n")
        await made.put("_workspace", "agents/clerk/secret.md", "The clerk's roof estimate.\n")
        await made.put("_memory", "MEMORY.md", "The roof leaks; told in confidence.\n")
        await made.put("recipes", "soup.md", "Leek soup with potatoes, on the roof terrace.\n")
        await made.put("_workspace", "prod.env", "ROOF_KEY=1\n")
        yield made


async def test_files_and_peoples_collections_are_found_and_nothing_else(desk: Desk) -> None:
    found = await desk.call("vault_search", query="roof", limit=20)
    assert "plans/roof.md:1-1\n> The roof is repaired" in found.text
    assert "recipes/soup.md" in found.text
    assert all(word not in found.text for word in ("confidence", "clerk", "ROOF_KEY"))
    assert found.label is not None
    assert found.label.private


async def test_an_agent_finds_its_own_files_alone(desk: Desk) -> None:
    found = await desk.call("vault_search", agent="clerk", query="roof", collection="_workspace")
    assert "secret.md" in found.text
    assert "Osman" not in found.text


async def test_untrusted_documents_come_back_untrusted(desk: Desk) -> None:
    await desk.put("recipes", "web.md", "Gazpacho from a web page.", Label(trust=Trust.UNTRUSTED, sources=("web",)))
    found = await desk.call("vault_search", query="gazpacho", collection="recipes", limit=1)
    assert found.label is not None
    assert found.label.trust is Trust.UNTRUSTED


@pytest.mark.parametrize(
    ("collection", "path"),
    [
        ("_memory", "MEMORY.md"),
        ("_workspace", "agents/clerk/secret.md"),
        ("_workspace", "prod.env"),
        ("_workspace", "nowhere.md"),
        ("_bootstrap", "SOUL.md"),
    ],
)
async def test_what_is_not_for_it_cannot_be_read(desk: Desk, collection: str, path: str) -> None:
    with pytest.raises(ToolError, match=r"There is no document|is protected"):
        await desk.call("vault_get", collection=collection, path=path)


async def test_a_document_is_read(desk: Desk) -> None:
    assert (await desk.call("vault_get", collection="recipes", path="soup.md")).text.startswith("Leek soup")
    assert "Osman" in (await desk.call("vault_get", path="plans/roof.md")).text


async def test_a_collection_nobody_has_is_told_with_those_there_are(desk: Desk) -> None:
    with pytest.raises(ToolError, match=r"There are: _workspace, recipes"):
        await desk.call("vault_search", query="roof", collection="_memory")


async def test_the_status_tells_of_no_private_collection(desk: Desk) -> None:
    told = (await desk.call("vault_status")).text
    assert "recipes: 1 documents" in told
    assert "_memory" not in told
