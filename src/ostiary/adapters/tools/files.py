"""What the file tools share: an agent's documents under relative paths, their labels, and the cap on results."""

import re
import unicodedata
from collections.abc import Awaitable, Callable

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import ToolError
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.pictures import picture_type_of
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Documents, DocumentVersion
from ostiary.contracts.tool import ToolContext

BOOTSTRAP = "_bootstrap"
WORKSPACE = "_workspace"
MOUNT = "/workspace"
"""Where commands find the workspace, and so how they write its paths."""
RESULT_BYTES = 8192
MAX_WRITTEN = 5_000_000
_MAX_PATH = 1024
_MAX_NAME = 255
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# They make a name read otherwise than it is written.
_DISGUISE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_GLOB = re.compile(r"([*?\[])")
_MEMORY = "memory.md"
_UNKNOWN = Label(trust=Trust.UNTRUSTED, private=True)
_PRIVATE = Label(trust=Trust.SYSTEM, private=True)

Settled = Callable[[SessionKey], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A living document; `path` is relative to the agent's workspace."""

    path: str
    version: DocumentVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a file is going to be written. `version` is its newest one (0: never was there), `content` None if it is not there
    now; `place` is its path within the collection of the workspace."""

    path: str
    place: str
    version: int
    content: bytes | None
    label: Label | None


def unprotected(path: str) -> str:
    """No path is protected until somebody who knows says why."""
    return ""


def nowhere(session: SessionKey) -> bool:
    """No session is private until somebody who knows says so."""
    return False


async def at_once(session: SessionKey) -> None:
    """No command changes files here."""


class Files:
    """The workspace of the calling agent, its bootstrap files at the top. Where both hold a path, bootstrap wins: the
    owner's own words cannot be covered up. `folder_of` tells where an agent's documents lie within a collection.

    Where `is_private` does not say yes to a session (a group may be listening) MEMORY.md does not exist. `protected` gives
    the reason why a path may not be written, empty if it may. `settled` returns when the documents hold what the session's
    commands have done so far."""

    __slots__ = ("_documents", "_folder_of", "_is_private", "_protected", "_settled")

    def __init__(
        self,
        documents: Documents,
        folder_of: Callable[[str], str],
        is_private: Callable[[SessionKey], bool] = nowhere,
        protected: Callable[[str], str] = unprotected,
        settled: Settled = at_once,
    ) -> None:
        self._documents = documents
        self._folder_of = folder_of
        self._is_private = is_private
        self._protected = protected
        self._settled = settled

    async def all(self, context: ToolContext) -> list[File]:
        """In path order. Raises StoreError, ToolError."""
        await self._settled(context.session)
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
        await self._settled(context.session)
        folder = self._folder_of(context.session.agent)
        found = await self._documents.get(BOOTSTRAP, folder + path)
        return found if found is not None else await self._documents.get(WORKSPACE, folder + path)

    async def target(self, path: str, context: ToolContext) -> Target:
        """Raises ToolError for a path that may not or cannot be written."""
        if not path:
            raise ToolError("The path is empty.")
        if _DISGUISE.search(path):
            raise ToolError("The path contains invisible characters.")
        reason = self._protected(path)
        if reason or self._hides(path, context):
            raise ToolError(f"{path} is protected: {reason or 'it belongs to private conversations'}.")
        place = self._folder_of(context.session.agent) + path
        if len(place.encode()) > _MAX_PATH:
            raise ToolError(f"The path is longer than {_MAX_PATH} bytes.")
        await self._settled(context.session)
        taken = {version.path.casefold() for version in await self._documents.list(BOOTSTRAP)}
        if place.casefold() in taken:
            raise ToolError(f"{path} is one of the owner's own files: only the owner changes it.")
        found = await self._documents.get(WORKSPACE, place)
        if found is not None:
            return Target(path=path, place=place, version=found[0].version, content=found[1], label=label_of(found[0]))
        await self._check_room(path, place)
        history = await self._documents.history(WORKSPACE, place)
        return Target(path=path, place=place, version=history[-1].version if history else 0, content=None, label=None)

    async def _check_room(self, path: str, place: str) -> None:
        """A new file may not be where a folder is, nor inside of a file: such documents could not lie in a directory."""
        if await self._documents.list(WORKSPACE, pattern=_GLOB.sub(r"[\1]", place) + "/**"):
            raise ToolError(f"{path} is a folder.")
        start = len(place) - len(path)
        for end in (number for number, sign in enumerate(place) if sign == "/" and number > start):
            if await self._documents.get(WORKSPACE, place[:end]) is not None:
                raise ToolError(f"{place[start:end]} is a file, not a folder.")

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
    text = "" if text == MOUNT else text.removeprefix(f"{MOUNT}/")
    if text.startswith(("/", "~")) or "\\" in text or text[1:2] == ":":
        raise ToolError("Paths are relative to the workspace, with forward slashes: for example notes/plan.md.")
    if not text.isascii():
        # Documents have one spelling.
        text = unicodedata.normalize("NFC", text)
    steps = [step for step in text.split("/") if step not in ("", ".")]
    if ".." in steps:
        raise ToolError("The path leaves the workspace: '..' is not allowed.")
    if any(len(step.encode()) > _MAX_NAME for step in steps):
        raise ToolError(f"A name in the path is longer than {_MAX_NAME} bytes.")
    return "/".join(steps)


def label_of(*versions: DocumentVersion) -> Label:
    """Documents are private, and a document of unknown origin is untrusted."""
    label = _PRIVATE
    for version in versions:
        label = label.join(version.label or _UNKNOWN)
    return label


def decode(content: bytes, path: str) -> str:
    """Raises ToolError for what is not text."""
    if picture_type_of(content):
        raise ToolError(f"{path} is a picture ({len(content):,} bytes); image looks at it.")
    if b"\x00" in content[:4096] and not content.startswith(_WIDE):
        raise ToolError(f"{path} is not text ({len(content):,} bytes); exec can examine it.")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ToolError(f"{path} is not UTF-8 text ({len(content):,} bytes); exec can convert it (iconv).") from None


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
