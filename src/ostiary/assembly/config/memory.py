"""Memory in the configuration."""

from typing import Literal

from ostiary.assembly.config.secret import SecretSource
from ostiary.assembly.config.section import key, section


@section
class MemoryBatch:
    """How texts are sent to a remote embedder while indexing."""

    size: int = key(64, "Texts in one request.", minimum=1, maximum=2048)
    concurrency: int = key(2, "Requests at the same time.", minimum=1, maximum=16)


@section
class MemorySearch:
    """How memory is searched."""

    limit: int = key(6, "Results of one search.", minimum=1, maximum=20)
    groups: bool = key(False, "Search memory in groups, too, where others read along. Private notes stay out even then.")
    sessions: bool = key(False, "Let the assistant search the owner's past conversations.")
    embedder: Literal["embedded", "openai", "gemini", "voyage", "ollama", "none"] = key(
        "embedded", "What finds by meaning. embedded stays on this machine; none finds by words alone."
    )
    model: str = key("", "The remote embedder's model. Empty: its usual one.")
    base_url: str = key("", "Where the remote embedder is. Empty: its usual address.")
    api_key: SecretSource | None = key(None, "Its key. Absent: the provider's own.")
    fallback: Literal["embedded", "none"] = key("embedded", "What takes over while the remote embedder fails.")
    dimensions: int = key(0, "Length of the vectors. 0: the model's own.", minimum=0, maximum=8192)
    batch: MemoryBatch = key(factory=MemoryBatch)
    expansion: Literal["off", "auto", "on"] = key(
        "off", "Let a model word the question as an answer before searching; auto where it costs nothing."
    )


@section
class ExtraFolder:
    """A folder of notes on disk that is kept in memory as it is: Markdown, text and PDF."""

    path: str = key(help="The folder.", placeholder="~/notes")
    as_: str = key(
        name="as",
        help="Where its files appear in memory.",
        pattern=r"(?!(?:agents|memory)(?:/|$))[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+)*",
    )
    trust: Literal["owner", "untrusted"] = key(
        "owner", "Whose word the files are. untrusted for anything that others write or that was downloaded."
    )


@section
class Memory:
    """What the assistant remembers."""

    enabled: bool = key(True, "Offer memory_search, memory_get and memory_write.")
    citations: Literal["auto", "on", "off"] = key("auto", "Show where an answer was found. auto: not in groups.")
    search: MemorySearch = key(factory=MemorySearch)
    extra_folders: tuple[ExtraFolder, ...] = key((), "Folders of notes that are indexed, too.")
    session_summary: bool = key(True, "Sum up a conversation in the daily note when /new or /reset ends it.")
