"""The owner's files that are part of the prompt: who the assistant is and how it works.

They are documents of the collection `_bootstrap`, which the agent has no way to write. MEMORY.md alone is memory: it lies in
`_memory`, and is shown only as far as the owner or the house vouches for it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Documents, DocumentVersion, Put, Tombstone

BOOTSTRAP = "_bootstrap"
WORKSPACE = "_workspace"
MEMORY = "_memory"

FILES = ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", "BOOTSTRAP.md", "MEMORY.md")
FOR_SUBAGENTS = frozenset({"AGENTS.md", "TOOLS.md"})
FIRST_RUN = "BOOTSTRAP.md"
PRIVATE = "MEMORY.md"
# Files that need not exist: their absence is reported to people and not mentioned to the model.
OPTIONAL = frozenset({"HEARTBEAT.md", FIRST_RUN, PRIVATE})
TEMPLATES = tuple(name for name in FILES if name != PRIVATE)

PER_FILE = 20_000
IN_ALL = 24_000
_HEAD = 0.78
_LEAST = 200

_SHIPPED = Label(trust=Trust.SYSTEM, sources=("ostiary:template",))
_UNLABELLED = Label(trust=Trust.OWNER, private=True)
_VOUCHED = (Trust.SYSTEM, Trust.OWNER)
_LOOKED_BACK = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A bootstrap file as it is stored; `text` is None where there is none."""

    name: str
    text: str | None = None
    label: Label = _UNLABELLED


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """What became of one file, in characters."""

    name: str
    raw: int
    injected: int
    truncated: bool
    missing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """`text` is ready for the prompt; `label` joins those of the files that are in it, None if none is."""

    text: str
    missing: tuple[str, ...]
    entries: tuple[FileEntry, ...]
    label: Label | None


def folder_of(agent: str) -> str:
    """Where an agent's documents lie within a collection: the main agent's at the top, others each in a folder."""
    return "" if agent == "main" else f"agents/{agent}/"


async def read_files(documents: Documents, agent: str = "main") -> tuple[SourceFile, ...]:
    """All bootstrap files of an agent. Raises StoreError."""
    found = []
    for name in FILES:
        path = folder_of(agent) + name
        stored = await _vouched_memory(documents, path) if name == PRIVATE else await documents.get(BOOTSTRAP, path)
        if stored is None:
            found.append(SourceFile(name=name))
            continue
        version, content = stored
        text = content.decode("utf-8", "replace").replace("\x00", "")
        label = version.label or _UNLABELLED
        # Whoever wrote it down, and however: what is remembered is private.
        found.append(SourceFile(name=name, text=text, label=replace(label, private=True) if name == PRIVATE else label))
    return tuple(found)


async def _vouched_memory(documents: Documents, path: str) -> tuple[DocumentVersion, bytes] | None:
    """The newest version that the owner or the house vouches for; if there is none, the newest, which will be withheld."""
    newest = await documents.get(MEMORY, path)
    if newest is None or _is_vouched(newest[0]):
        return newest
    for version in (await documents.history(MEMORY, path))[-_LOOKED_BACK:][::-1]:
        if not version.digest:
            # It was deleted: what was before that does not come back.
            break
        if not version.erased and _is_vouched(version):
            return await documents.get(MEMORY, path, version=version.version) or newest
    return newest


def _is_vouched(version: DocumentVersion) -> bool:
    return (version.label or _UNLABELLED).trust in _VOUCHED


async def memory_moves(documents: Documents, *, at: float, author: str = "setup") -> list[Put | Tombstone]:
    """What brings MEMORY.md files that still lie among the bootstrap files to where memory lies; nothing if none does.

    Text that is in memory already stays in front. Raises StoreError."""
    writes: list[Put | Tombstone] = []
    for old in await documents.list(BOOTSTRAP, pattern=f"**/{PRIVATE}"):
        found = await documents.get(BOOTSTRAP, old.path)
        if found is None:
            continue
        version, content = found
        label = version.label or _UNLABELLED
        there = await documents.get(MEMORY, old.path)
        if there is not None:
            content = there[1].rstrip(b"\n") + b"\n\n" + content
            label = label.join(there[0].label or _UNLABELLED)
        expected = there[0].version if there is not None else 0
        writes.append(
            Put(
                collection=MEMORY,
                path=old.path,
                content=content,
                at=at,
                author=version.author,
                turn=version.turn,
                label=label,
                expect_version=expected,
            )
        )
        writes.append(Tombstone(collection=BOOTSTRAP, path=old.path, at=at, author=author, expect_version=version.version))
    return writes


def select(
    files: Sequence[SourceFile], *, is_private: bool, is_subagent: bool = False, is_first_run: bool = False
) -> tuple[SourceFile, ...]:
    """The files this session may see: MEMORY.md only in private sessions, BOOTSTRAP.md only on the first run, a
    sub-agent AGENTS.md and TOOLS.md only."""
    chosen = []
    for file in files:
        if is_subagent and file.name not in FOR_SUBAGENTS:
            continue
        if (file.name == PRIVATE and not is_private) or (file.name == FIRST_RUN and not is_first_run):
            continue
        chosen.append(file)
    return tuple(chosen)


def inject(files: Sequence[SourceFile], *, per_file: int = PER_FILE, in_all: int = IN_ALL) -> Injected:
    """Put the files together within both caps. Blank files are left out, comments do not count as text, and a file
    that is not the owner's own word (a label below OWNER) is withheld."""
    parts: list[str] = []
    entries: list[FileEntry] = []
    missing: list[str] = []
    label: Label | None = None
    room = in_all
    for file in files:
        if file.text is None:
            entries.append(FileEntry(name=file.name, raw=0, injected=0, truncated=False, missing=True))
            if file.name not in OPTIONAL:
                missing.append(file.name)
            continue
        text = without_comments(file.text).strip()
        if file.label.trust not in _VOUCHED:
            text = f"[{file.name} is withheld: it was not written by the owner.]" if text else ""
        elif text:
            label = file.label if label is None else label.join(file.label)
        limit = min(per_file, room)
        shown = keep_ends(text, limit, file.name)
        room -= len(shown)
        entries.append(
            FileEntry(name=file.name, raw=len(file.text), injected=len(shown), truncated=len(text) > limit, missing=False)
        )
        if shown:
            parts.append(f"## {file.name}\n{shown}")
    return Injected(text="\n\n".join(parts), missing=tuple(missing), entries=tuple(entries), label=label)


def keep_ends(text: str, limit: int, name: str) -> str:
    """At most `limit` characters: the head and the tail, and between them a line that says what was left out."""
    if len(text) <= limit:
        return text
    marker = f"\n[… {len(text):,} characters in all, the middle left out: read {name} for it …]\n"
    if limit < _LEAST + len(marker):
        short = f"[{name} left out: no room.]"
        return short if len(short) <= limit else ""
    room = limit - len(marker)
    head = int(room * _HEAD)
    return text[:head] + marker + text[len(text) - (room - head) :]


def without_comments(text: str) -> str:
    """The text without `<!-- … -->`; a comment that never ends is text."""
    kept: list[str] = []
    place = 0
    while (start := text.find("<!--", place)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        kept.append(text[place:start])
        place = end + 3
    kept.append(text[place:])
    return "".join(kept)


def setup_writes(
    existing: Collection[str], templates: Mapping[str, str], *, at: float, agent: str = "main", author: str = "setup"
) -> list[Put]:
    """What fills a workspace: a template for each file that is missing from `existing` (file names); nothing that is
    there is touched. BOOTSTRAP.md comes only with a brand-new workspace, so once deleted it stays away."""
    wanted = [name for name in TEMPLATES if name in templates and name not in existing]
    if existing:
        wanted = [name for name in wanted if name != FIRST_RUN]
    return [
        Put(
            collection=BOOTSTRAP,
            path=folder_of(agent) + name,
            content=templates[name].encode(),
            at=at,
            author=author,
            label=_SHIPPED,
        )
        for name in wanted
    ]
