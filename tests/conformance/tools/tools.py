"""Every tool that ships, standing on documents and a clock held in memory."""

from datetime import UTC

from tests.conformance.tools.documents import MemoryDocuments

from ostiary.adapters.tools import register_files, register_status
from ostiary.adapters.tools.writing import register_writing
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.engine import SessionView
from ostiary.contracts.identity import EXTERNAL, OWNER, Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.contracts.model import Usage
from ostiary.contracts.tool import Tool, ToolContext
from ostiary.kit.clock import ManualClock

SESSION = SessionKey("main", "main")
LIMIT = 8192


def context(role: str = OWNER, session: SessionKey = SESSION) -> ToolContext:
    principal = Principal(user=UserId(channel="api", stable_id="me"), role=role)
    return ToolContext(principal=principal, session=session, turn="turn_1", call_key="turn_1:1:call_1")


STRANGER = context(EXTERNAL, SessionKey("main", "telegram:5"))


class Host:
    """Only the part of the plugin door that tools come in by."""

    def __init__(self) -> None:
        self.tools: dict[str, Tool] = {}

    def add_tool(self, tool: Tool) -> None:
        self.tools[tool.spec.name] = tool


async def view(session: SessionKey) -> SessionView:
    return SessionView(
        key=session,
        settings={},
        usage=Usage(input=1200, output=300, cache_read=5000, cost=0.0123),
        turns=4,
        messages=9,
        model="openai/gpt-x",
        running_turn="turn_1",
        waiting_for="",
        queued=0,
        created_at=1.0,
        updated_at=2.0,
        context_tokens=5100,
        context_report={},
    )


def folder_of(agent: str) -> str:
    return "" if agent == "main" else f"agents/{agent}/"


def large_workspace() -> MemoryDocuments:
    """More than any one result may hold, in every direction: files, names, lines, one endless line."""
    documents = MemoryDocuments().put("_bootstrap", "AGENTS.md", "Work well.\n")
    documents.put("_workspace", "big.md", "".join(f"line {number} é日本😀\n" for number in range(5000)))
    documents.put("_workspace", "wide.md", "w" * 100_000)
    documents.put("_workspace", "image.png", b"\x89PNG\x00\x00")
    documents.put("_workspace", "cat.png", b"\x89PNG\r\n\x1a\n" + b"0" * 20)
    own = Label(trust=Trust.OWNER)
    for number in range(600):
        documents.put("_workspace", f"many/file-with-a-long-name-{number}.md", f"entry {number}\n", label=own)
    return documents


def still_tools(documents: MemoryDocuments) -> dict[str, Tool]:
    """Those that need nothing that runs."""
    host = Host()
    register_files(host, documents=documents, folder_of=folder_of, max_bytes=LIMIT)  # type: ignore[arg-type]
    register_writing(host, documents=documents, folder_of=folder_of, clock=ManualClock())  # type: ignore[arg-type]
    register_status(host, clock=ManualClock(), zone=UTC, view=view)  # type: ignore[arg-type]
    return host.tools
