"""What the file tools share: an agent's documents under relative paths, their labels, and the cap on results."""

import re
from collections.abc import Callable

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import ToolError
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Documents, DocumentVersion
from ostiary.contracts.tool import ToolContext

BOOTSTRAP = "_bootstrap"
WORKSPACE = "_workspace"
RESULT_BYTES = 8192
_MAX_PATH = 1024
_MAX_NAME = 255
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_MEMORY = "memory.md"
_UNKNOWN = Label(trust=Trust.UNTRUSTED, private=True)
_PRIVATE = Label(trust=Trust.SYSTEM, private=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A living document; `path` is relative to the agent's workspace."""

    path: str
    version: DocumentVersion


def nowhere(session: SessionKey) -> bool:
    """No session is private until somebody who knows says so."""
    return False


class Files:
    """The workspace of the calling agent, its bootstrap files at the top. Where both hold a path, bootstrap wins: the
    owner's own words cannot be covered up. `folder_of` tells where an agent's documents lie within a collection.

    Where `is_private` does not say yes to a session (a group may be listening) MEMORY.md does not exist."""

    __slots__ = ("_documents", "_folder_of", "_is_private")

    def __init__(
        self, documents: Documents, folder_of: Callable[[str], str], is_private: Callable[[SessionKey], bool] = nowhere
    ) -> None:
        self._documents = documents
        self._folder_of = folder_of
        self._is_private = is_private

    async def all(self, context: ToolContext) -> list[File]:
        """In path order. Raises StoreError."""
        folder = self._folder_of(context.session.agent)
        found: dict[str, File] = {}
        for collection in (WORKSPACE, BOOTSTRAP):
            for version in await self._documents.list(collection, pattern=f"{folder}**"):
                # A name with a line break would forge lines of a listing.
                path = _CONTROL.sub("\ufffd", version.path.removeprefix(folder))
                if not self._hides(path, context):
                    found[path] = File(path=path, version=version)
        return [found[path] for path in sorted(found)]

    async def get(self, path: str, context: ToolContext) -> tuple[DocumentVersion, bytes] | None:
        if self._hides(path, context):
            return None
        folder = self._folder_of(context.session.agent)
        found = await self._documents.get(BOOTSTRAP, folder + path)
        return found if found is not None else await self._documents.get(WORKSPACE, folder + path)

    def _hides(self, path: str, context: ToolContext) -> bool:
        return path.casefold() == _MEMORY and not self._is_private(context.session)

    async def content(self, file: File) -> bytes:
        """Empty if the document went away meanwhile."""
        found = await self._documents.get(file.version.collection, file.version.path)
        return b"" if found is None else found[1]


def clean_path(text: str) -> str:
    """A relative path without `.` steps; empty for the top. Raises ToolError for anything that points elsewhere."""
    if len(text) > _MAX_PATH:
        raise ToolError(f"The path is {len(text)} characters long; at most {_MAX_PATH} are possible.")
    if _CONTROL.search(text):
        raise ToolError("The path contains control characters.")
    if text.startswith(("/", "~")) or "\\" in text or text[1:2] == ":":
        raise ToolError("Paths are relative to the workspace, with forward slashes: for example notes/plan.md.")
    steps = [step for step in text.split("/") if step not in ("", ".")]
    if ".." in steps:
        raise ToolError("The path leaves the workspace: '..' is not allowed.")
    if any(len(step) > _MAX_NAME for step in steps):
        raise ToolError(f"A name in the path is longer than {_MAX_NAME} characters.")
    return "/".join(steps)


def label_of(*versions: DocumentVersion) -> Label:
    """Documents are private, and a document of unknown origin is untrusted."""
    label = _PRIVATE
    for version in versions:
        label = label.join(version.label or _UNKNOWN)
    return label


def decode(content: bytes, path: str) -> str:
    """Raises ToolError for what is not text."""
    if b"\x00" in content[:4096]:
        raise ToolError(f"{path} is not text ({len(content):,} bytes).")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ToolError(f"{path} is not UTF-8 text ({len(content):,} bytes).") from None


def lines_of(text: str) -> list[str]:
    """Lines as editors count them; a line break at the end begins no line."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def fitting(lines: list[str], room: int) -> int:
    """How many of the lines, each with its line break, fit into `room` bytes."""
    for count, line in enumerate(lines):
        room -= len(line.encode("utf-8", "replace")) + 1
        if room < 0:
            return count
    return len(lines)


def cut(text: str, room: int) -> str:
    """The beginning of the text that fits into `room` bytes."""
    return text.encode("utf-8", "replace")[: max(0, room)].decode("utf-8", "ignore")
