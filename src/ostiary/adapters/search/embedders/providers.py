"""How each provider of vectors is asked, and how its answer reads."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from ostiary.contracts.records import dataclass
from ostiary.contracts.search import EmbedKind

Provider = Literal["openai", "gemini", "voyage", "ollama"]

# Some models were trained with words in front that say what a text is for. Servers do not add them.
_PREFIXES: Mapping[str, Mapping[EmbedKind, str]] = {
    "nomic-embed-text": {"query": "search_query: ", "passage": "search_document: "},
    "embeddinggemma": {"query": "task: search result | query: ", "passage": "title: none | text: "},
    "gemini-embedding-2": {"query": "task: search result | query: ", "passage": "title: none | text: "},
    "mxbai-embed-large": {"query": "Represent this sentence for searching relevant passages: ", "passage": ""},
}
_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
    "gemini-embedding-001": 3072,
    "gemini-embedding-2": 3072,
    "voyage-3": 1024,
    "voyage-3-lite": 512,
    "voyage-3-large": 1024,
    "voyage-3.5": 1024,
    "voyage-3.5-lite": 1024,
    "voyage-4": 1024,
    "voyage-4-lite": 1024,
    "voyage-4-large": 1024,
    "voyage-code-3": 1024,
    "nomic-embed-text": 768,
    "embeddinggemma": 768,
    "mxbai-embed-large": 1024,
    "bge-m3": 1024,
    "all-minilm": 384,
    "snowflake-arctic-embed2": 1024,
}
_BLANK = "."


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One batch to be sent. `wanted` is the length that was configured, 0 if the model's own is to be had."""

    model: str
    texts: Sequence[str]
    kind: EmbedKind
    wanted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """`read` gives one list of numbers per text, in the order asked. Raises msgspec.DecodeError, ValueError."""

    base_url: str
    model: str
    most_texts: int
    most_characters: int
    path: Callable[[str], str]
    headers: Callable[[str], Mapping[str, str]]
    body: Callable[[Asking], dict[str, Any]]
    read: Callable[[bytes], list[list[float]]]


class _Numbered(msgspec.Struct):
    index: int
    embedding: list[float]


class _List(msgspec.Struct):
    data: list[_Numbered]


class _Values(msgspec.Struct):
    values: list[float]


class _GeminiList(msgspec.Struct):
    embeddings: list[_Values]


class _OllamaList(msgspec.Struct):
    embeddings: list[list[float]]


def worded(model: str, text: str, kind: EmbedKind, most: int) -> str:
    """The text as the model wants to see it: cut to `most` characters, never empty, with the model's own words in front."""
    prefixes = _PREFIXES.get(_family(model))
    # Half a character, as a file of another encoding may hold, cannot be sent.
    whole = text[:most].encode("utf-8", "replace").decode()
    return (prefixes[kind] if prefixes else "") + (whole.strip() or _BLANK)


def own_dimensions(model: str) -> int:
    """The length of a known model's vectors, else 0."""
    return _DIMENSIONS.get(_family(model), 0)


def _family(model: str) -> str:
    """`nomic-embed-text:latest` and `hf.co/…/nomic-embed-text` are the same model."""
    return model.rpartition("/")[2].partition(":")[0]


def _bearer(secret: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {secret}"} if secret else {}


def _google_key(secret: str) -> Mapping[str, str]:
    return {"x-goog-api-key": secret} if secret else {}


def _openai_body(asking: Asking) -> dict[str, Any]:
    # Servers that imitate this API often refuse a length they cannot cut to, so it is sent only if it was configured.
    length = {"dimensions": asking.wanted} if asking.wanted else {}
    return {"model": asking.model, "input": list(asking.texts), "encoding_format": "float", **length}


def _voyage_body(asking: Asking) -> dict[str, Any]:
    length = {"output_dimension": asking.wanted} if asking.wanted else {}
    use = "query" if asking.kind == "query" else "document"
    return {"model": asking.model, "input": list(asking.texts), "input_type": use, "truncation": True, **length}


def _gemini_body(asking: Asking) -> dict[str, Any]:
    length = {"outputDimensionality": asking.wanted} if asking.wanted else {}
    # Models that read their task from the text refuse to be told beside it.
    told = _family(asking.model) not in _PREFIXES
    task = {"taskType": "RETRIEVAL_QUERY" if asking.kind == "query" else "RETRIEVAL_DOCUMENT"} if told else {}
    name = asking.model if asking.model.startswith("models/") else f"models/{asking.model}"
    return {
        "requests": [{"model": name, "content": {"parts": [{"text": text}]}, **task, **length} for text in asking.texts],
    }


def _ollama_body(asking: Asking) -> dict[str, Any]:
    length = {"dimensions": asking.wanted} if asking.wanted else {}
    return {"model": asking.model, "input": list(asking.texts), "truncate": True, **length}


def _read_list(body: bytes) -> list[list[float]]:
    """In the order of `index`: servers may answer in any."""
    data = msgspec.json.decode(body, type=_List).data
    places = {each.index: each.embedding for each in data}
    if sorted(places) != list(range(len(data))):
        raise ValueError("the numbers of the vectors are not 0, 1, 2 and so on")
    return [places[place] for place in range(len(data))]


def _read_gemini(body: bytes) -> list[list[float]]:
    return [each.values for each in msgspec.json.decode(body, type=_GeminiList).embeddings]


def _read_ollama(body: bytes) -> list[list[float]]:
    return msgspec.json.decode(body, type=_OllamaList).embeddings


DIALECTS: Mapping[Provider, Dialect] = {
    "openai": Dialect(
        base_url="https://api.openai.com/v1",
        model="text-embedding-3-small",
        most_texts=2048,
        most_characters=400_000,
        path=lambda model: "/embeddings",
        headers=_bearer,
        body=_openai_body,
        read=_read_list,
    ),
    "gemini": Dialect(
        base_url="https://generativelanguage.googleapis.com/v1beta",
        model="gemini-embedding-001",
        most_texts=100,
        most_characters=200_000,
        path=lambda model: f"/{model if model.startswith('models/') else f'models/{model}'}:batchEmbedContents",
        headers=_google_key,
        body=_gemini_body,
        read=_read_gemini,
    ),
    "voyage": Dialect(
        base_url="https://api.voyageai.com/v1",
        model="voyage-3.5",
        most_texts=128,
        most_characters=200_000,
        path=lambda model: "/embeddings",
        headers=_bearer,
        body=_voyage_body,
        read=_read_list,
    ),
    "ollama": Dialect(
        base_url="http://127.0.0.1:11434",
        model="nomic-embed-text",
        most_texts=64,
        most_characters=100_000,
        path=lambda model: "/api/embed",
        headers=_bearer,
        body=_ollama_body,
        read=_read_ollama,
    ),
}
