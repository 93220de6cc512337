"""`POST /v1/embeddings`: texts as vectors, by the embedder that memory search uses."""

import math
import struct
from base64 import b64encode
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from ostiary.contracts.search import Embedder
from ostiary.gateway.asgi import Receive, Scope, Send, read_body, respond
from ostiary.gateway.errors import ApiError
from ostiary.gateway.limits import Limits
from ostiary.gateway.openai_api.choosing import NAME

MOST_TEXTS = 256
MOST_CHARACTERS = 32_000
_CHARACTERS_PER_TOKEN = 4


class _Request(msgspec.Struct):
    """Fields of OpenAI's that mean nothing here are ignored."""

    input: str | list[object]
    model: str = ""
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[int, Meta(ge=1)] | None = None


async def embeddings(embedder: Embedder | None, limits: Limits, scope: Scope, receive: Receive, send: Send) -> None:
    """Raises ApiError, EmbedderUnavailable as ApiError 503, ClientGone."""
    try:
        request = msgspec.json.decode(await read_body(scope, receive, limits), type=_Request)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError(400, f"The body: {error}.", code="invalid_value") from None
    if embedder is None:
        raise ApiError(501, "No embedder is configured: text is found by words alone.", code="no_embedder")
    _check_model(request.model, embedder)
    wanted = request.dimensions or embedder.dimensions
    if wanted > embedder.dimensions:
        raise _invalid("dimensions", f"{embedder.name} has {embedder.dimensions}")
    texts = _texts(request.input)
    vectors = await embedder.embed(texts, "passage")
    rows = [
        {"object": "embedding", "index": index, "embedding": _shown(vector, wanted, request.encoding_format)}
        for index, vector in enumerate(vectors)
    ]
    tokens = sum(math.ceil(len(text) / _CHARACTERS_PER_TOKEN) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    await respond(send, 200, {"object": "list", "data": rows, "model": embedder.name, "usage": usage})


def _check_model(name: str, embedder: Embedder) -> None:
    if name not in ("", NAME, "default", embedder.name):
        message = f"There is no embedding model {name[:120]!r}; this gateway has {embedder.name!r}."
        raise ApiError(404, message, code="model_not_found", param="model")


def _texts(given: str | list[object]) -> list[str]:
    texts = [given] if isinstance(given, str) else given
    if not texts or len(texts) > MOST_TEXTS:
        raise _invalid("input", f"expected 1 to {MOST_TEXTS} texts")
    checked: list[str] = []
    for text in texts:
        if not isinstance(text, str):
            raise _invalid("input", "expected text; token numbers of another model mean nothing here")
        if not text or len(text) > MOST_CHARACTERS:
            raise _invalid("input", f"a text has 1 to {MOST_CHARACTERS} characters")
        checked.append(text)
    return checked


def _shown(vector: bytes, dimensions: int, form: str) -> list[float] | str:
    """Cut to its first numbers and brought back to length 1, as OpenAI's `dimensions` does."""
    if 4 * dimensions < len(vector):
        numbers = struct.unpack(f"<{dimensions}f", vector[: 4 * dimensions])
        length = math.sqrt(sum(number * number for number in numbers)) or 1.0
        vector = struct.pack(f"<{dimensions}f", *(number / length for number in numbers))
    return b64encode(vector).decode() if form == "base64" else list(struct.unpack(f"<{len(vector) // 4}f", vector))


def _invalid(name: str, problem: str) -> ApiError:
    return ApiError(400, f"{name}: {problem}.", code="invalid_value", param=name)
