"""Memory: what is remembered, where it came from, what waits for the owner, and forgetting."""

from typing import Annotated, Literal

from msgspec import Meta

from ostiary.gateway.protocol.shape import Effect, Params, Payload
from ostiary.gateway.protocol.vault import Hits as Hits

Agent = Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9_-]{0,63}$")]
Area = Literal["long", "daily", "shared", "private", "me"]
Place = Literal["long", "daily", "shared", "private", "users", "unconfirmed", "notes"]
Text = Annotated[str, Meta(min_length=1, max_length=4000)]


class ListMemory(Params):
    """Entries of one place, or of one file. `after` is the `after` of the answer before."""

    agent: Agent = "main"
    place: Place = "long"
    path: Annotated[str, Meta(max_length=1024)] = ""
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    after: Annotated[str, Meta(max_length=1100)] = ""


class MemoryFile(Payload):
    path: str
    place: Place
    version: int
    size: int
    at: float
    trust: str


class MemoryEntry(Payload):
    """Lines `start` to `end` of a file, and the version that brought them: who wrote them, when, in which turn, on whose word.

    `id` is there for what waits to be confirmed; `area` is where that wants to go."""

    path: str
    start: int
    end: int
    text: str
    place: Place
    version: int
    at: float
    author: str
    trust: str
    sources: list[str]
    turn: str
    session: str
    id: str = ""
    area: str = ""


class MemoryList(Payload):
    """`files` are all there are (at most 2,000), told with the first page only. `waiting` is how many entries wait."""

    files: list[MemoryFile]
    entries: list[MemoryEntry]
    waiting: int
    after: str


class SearchMemory(Params):
    text: Annotated[str, Meta(min_length=1, max_length=2000)]
    agent: Agent = "main"
    limit: Annotated[int, Meta(ge=1, le=20)] = 10


class WriteMemory(Effect):
    """Without `area` it is kept for long."""

    text: Text
    area: Area | None = None
    title: Annotated[str, Meta(max_length=120)] = ""
    agent: Agent = "main"


class MemoryKept(Payload):
    """`known`: it was there already, and nothing was written."""

    outcome: Literal["kept", "known", "reworded", "unconfirmed"]
    path: str
    line: int


class WhyMemory(Params):
    """A place such as `MEMORY.md#L12`, or words of the text."""

    target: Annotated[str, Meta(min_length=3, max_length=4000)]
    agent: Agent = "main"


class MemoryOrigin(Payload):
    """`words` is what was said in the turn that wrote it."""

    entry: MemoryEntry
    words: str


class MemoryOrigins(Payload):
    origins: list[MemoryOrigin]


class PreviewForget(Params):
    """Whatever holds the text, case and punctuation aside."""

    text: Text


class ForgetMemory(Effect):
    """`digest` is the preview's. If something else would be erased by now, it is CONFLICT."""

    text: Text
    digest: Annotated[str, Meta(min_length=1, max_length=64)]


class ForgetLine(Payload):
    collection: str
    path: str
    line: int
    text: str


class ForgetPreview(Payload):
    """What would be erased: entries of notes, and how many versions, events of conversations and summaries with them.

    `left` says what holds the text and stays, and why."""

    digest: str
    entries: list[ForgetLine]
    versions: int
    turns: int
    events: int
    summaries: int
    sessions: list[str]
    left: list[str]


class MemoryForgotten(Payload):
    """What was erased. It never holds the text itself."""

    places: list[str]
    versions: int
    turns: int
    events: int
    summaries: int
    sessions: list[str]
    notices: list[str]


class ConfirmMemory(Effect):
    """`reject` takes them out instead. `area` is where they go, else where they wanted to go."""

    ids: Annotated[list[Annotated[str, Meta(min_length=1, max_length=64)]], Meta(min_length=1, max_length=100)]
    area: Area | None = None
    reject: bool = False
    agent: Agent = "main"


class SettledEntry(Payload):
    id: str
    path: str
    line: int


class MemorySettled(Payload):
    settled: list[SettledEntry]


class MemoryStatus(Payload):
    """`waiting` documents have changed and are not indexed yet; `rebuilding` is 0..1 while a new index is made, else null.

    `embedder` is empty where text is found by words alone."""

    files: int
    bytes: int
    documents: int
    chunks: int
    waiting: int
    embedder: str
    rebuilding: float | None
    unconfirmed: int
