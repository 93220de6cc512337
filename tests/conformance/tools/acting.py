"""The tools that reach out of the house, with a fake at each of their ports, and each tool's arguments that are good."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import anyio
from aiohttp import web
from tests.conformance.tools.documents import MemoryDocuments
from tests.conformance.tools.tools import LIMIT, Host, folder_of, large_workspace, still_tools
from tests.unit.adapters.egress.sites import LOCAL, serving

from ostiary.adapters.browser.records import Bound, Element, Order, View
from ostiary.adapters.egress import Egress
from ostiary.adapters.tools.browsing import register_browser
from ostiary.adapters.tools.diffs import unified
from ostiary.adapters.tools.files import Files
from ostiary.adapters.tools.image import register_image
from ostiary.adapters.tools.message import register_message
from ostiary.adapters.tools.sessions import register_sessions
from ostiary.adapters.tools.shell import ExecRules, Processes, register_shell
from ostiary.adapters.tools.web import Engines, FetchSettings, Reader, SearchSettings, register_web
from ostiary.adapters.workspace import DocumentWorkspace
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.events import Noted, Recorded
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import Address
from ostiary.contracts.sandbox import Command, Exit, Process, SandboxProfile
from ostiary.contracts.store import SessionRecord
from ostiary.contracts.tool import Tool, ToolContext
from ostiary.kit.clock import CountingIds, ManualClock
from ostiary.kit.sandbox import RecordingSandbox

DOCUMENTS = large_workspace()
GOOD: Mapping[str, dict[str, object]] = {
    "read": {"path": "big.md"},
    "ls": {"path": "many"},
    "find": {"glob": "*.md"},
    "grep": {"pattern": "e"},
    "write": {"path": "new/file.md", "content": "hello\n"},
    "edit": {"path": "many/file-with-a-long-name-1.md", "old": "entry", "new": "row"},
    "apply_patch": {"patch": "*** Begin Patch\n*** Update File: many/file-with-a-long-name-1.md\n-entry 1\n+x\n*** End Patch"},
    "session_status": {},
    "exec": {"command": "make all"},
    "process": {"action": "list"},
    "web_fetch": {"url": "http://127.0.0.1:{port}/page"},
    "web_search": {"query": "wolves"},
    "browser": {"action": "open", "url": "https://a.example/x"},
    "message": {"text": "Good morning", "to": "slack:C1"},
    "sessions_list": {},
    "sessions_history": {"session": "agent:main:telegram:5"},
    "image": {"path": "cat.png"},
}
_SHELL = ("exec", "process")
_WEB = ("web_fetch", "web_search")


class AtOnce:
    """A recording sandbox whose commands print more than may be told and are over at once."""

    name = "recording"

    def __init__(self) -> None:
        self._recording = RecordingSandbox()

    async def probe(self) -> None:
        await self._recording.probe()

    async def run(self, command: Command, profile: SandboxProfile, *, on_output: object = None) -> Exit:
        return await self._recording.run(command, profile)

    def start(self, command: Command, profile: SandboxProfile) -> AbstractAsyncContextManager[Process]:
        return self._start(command, profile)

    @asynccontextmanager
    async def _start(self, command: Command, profile: SandboxProfile) -> AsyncIterator[Process]:
        async with self._recording.start(command, profile) as process:
            self._recording.processes[-1].finish(Exit(code=0, output=b"row after row\n" * 2000, seconds=0.5))
            yield process


class Pages:
    """A browser with one page."""

    async def perform(self, session: SessionKey, principal: Principal, order: Order) -> View:
        return View(url="https://a.example/x", title="A", text="hello")

    async def look(self, session: SessionKey, principal: Principal, ref: str) -> Bound:
        return Bound(url="https://a.example/x", element=Element(role="button", name="Go"))


class Box:
    """An outbox that takes everything."""

    async def send(self, address: Address, text: str, key: str) -> None:
        """Taken."""


class Journals:
    """Two conversations, in each of which much was said."""

    keys = (SessionKey("main", "main"), SessionKey("main", "telegram:5"))

    async def sessions(self, *, limit: int = 200, prefix: str = "", include_ephemeral: bool = False) -> tuple[SessionRecord, ...]:
        return tuple(self._record(key) for key in self.keys)

    async def session(self, key: SessionKey) -> SessionRecord | None:
        return self._record(key) if key in self.keys else None

    async def read(self, session: SessionKey, *, after: int = 0, turn: str = "", limit: int = 0) -> tuple[Recorded, ...]:
        label = Label(trust=Trust.OWNER)
        event = Noted(text="much " * 400, by="me", label=label)
        return tuple(Recorded(session=str(session), seq=seq, turn="t", at=1.0, event=event) for seq in range(1, 50))

    def _record(self, key: SessionKey) -> SessionRecord:
        return SessionRecord(key=key, created_at=0, updated_at=ManualClock().now(), title="A title", last_seq=49)


async def describe(content: bytes, media_type: str, question: str) -> str:
    return "A cat. " * 5000


async def fetch(url: str, most: int, context: ToolContext) -> bytes:
    return b"\xff\xd8\xff\xe0" + b"0" * 20


def quiet_tools() -> dict[str, Tool]:
    """Every tool that can be made without an event loop."""
    host = Host()
    host.tools.update(still_tools(DOCUMENTS))
    register_browser(host, pages=Pages())  # type: ignore[arg-type]
    register_message(host, outbox=Box())  # type: ignore[arg-type]
    register_sessions(host, journals=Journals(), clock=ManualClock(), max_bytes=LIMIT)  # type: ignore[arg-type]
    files = Files(DOCUMENTS, folder_of)
    register_image(host, files=files, describe=describe, fetch=fetch, max_bytes=LIMIT)  # type: ignore[arg-type]
    return host.tools


@asynccontextmanager
async def one_tool(name: str, folder: Path) -> AsyncIterator[tuple[Tool, dict[str, object]]]:
    """The tool and its good arguments; what it needs runs until the context is left."""
    with anyio.fail_after(30):
        if name in _SHELL:
            async with _shell(folder) as tools:
                yield tools[name], GOOD[name]
        elif name in _WEB:
            async with _web() as (tools, port):
                yield tools[name], {key: str(value).replace("{port}", str(port)) for key, value in GOOD[name].items()}
        else:
            yield quiet_tools()[name], GOOD[name]


@asynccontextmanager
async def _shell(folder: Path) -> AsyncIterator[dict[str, Tool]]:
    documents = MemoryDocuments().put("_workspace", "a.md", "one\n", label=Label(trust=Trust.OWNER))
    workspace = DocumentWorkspace(
        documents,
        folder / "workspaces",
        folder_of=folder_of,
        diff=lambda before, after, path, limit: unified(before, after, path, limit=limit),
    )
    processes = Processes(workspace, clock=ManualClock(), ids=CountingIds())
    host, sandbox, rules = Host(), AtOnce(), ExecRules(access="rw", result_bytes=LIMIT)
    register_shell(
        host,  # type: ignore[arg-type]
        processes=processes,
        sandbox=lambda session: sandbox,
        rules=lambda session: rules,
        documents=documents,
        folder_of=folder_of,
        clock=ManualClock(),
    )
    async with processes.running():
        yield host.tools


@asynccontextmanager
async def _web() -> AsyncIterator[tuple[dict[str, Tool], int]]:
    async def site(request: web.Request) -> web.Response:
        if request.path == "/search":
            found = {"title": "Wolves " * 50, "url": "https://wolf.example/x", "content": "They hunt. " * 500}
            return web.json_response({"results": [found] * 20})
        return web.Response(text="All about wolves.\n" * 2000)

    async with serving(site) as port, Egress() as egress:
        host = Host()
        register_web(
            host,  # type: ignore[arg-type]
            egress=egress,
            profile_of=lambda role: egress.agent(LOCAL),
            clock=ManualClock(),
            reader=Reader(),
            fetch=FetchSettings(),
            search=SearchSettings(),
            engines=Engines(provider="searxng", keys={}, searxng_url=f"http://127.0.0.1:{port}"),
            max_bytes=LIMIT,
        )
        yield host.tools, port
