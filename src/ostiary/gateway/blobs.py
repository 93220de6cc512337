"""Attachments: uploaded before the message that carries them, fetched to be shown. Kept in the store by their digest."""

import hashlib
import re
from urllib.parse import quote

from ostiary.contracts.records import dataclass
from ostiary.contracts.store import PutBlob, Store
from ostiary.gateway.asgi import Receive, Scope, Send, query, read_body, respond
from ostiary.gateway.auth import caller_of, download_headers, require
from ostiary.gateway.errors import ApiError
from ostiary.gateway.limits import Limits

PATH = "/v1/ostiary/blobs"
MAX_BYTES = 20 * 1024 * 1024

_DIGEST = re.compile(r"[0-9a-f]{64}")
_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
_SHOWN_INLINE = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def media_type_of(content: bytes) -> str:
    """What the bytes are, whatever they are called. Empty if we do not take it."""
    for beginning, kind in _BEGINNINGS:
        if content.startswith(beginning):
            return kind
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return ""
    return "" if "\x00" in text else "text/plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Blobs:
    store: Store

    async def put(self, scope: Scope, receive: Receive, send: Send) -> None:
        require(caller_of(scope), "chat")
        content = await read_body(scope, receive, Limits(body_bytes=MAX_BYTES, body_seconds=120.0))
        kind = media_type_of(content)
        if not content or not kind:
            raise ApiError(415, "Images, PDF and text can be attached.", code="unsupported_media_type")
        digest = hashlib.sha256(content).hexdigest()
        await self.store.commit([PutBlob(digest=digest, content=content)])
        await respond(send, 200, {"digest": digest, "size": len(content), "mediaType": kind})

    async def get(self, scope: Scope, receive: Receive, send: Send) -> None:
        require(caller_of(scope), "read")
        digest = scope["path"].rpartition("/")[2]
        content = await self.store.blob(digest) if _DIGEST.fullmatch(digest) else None
        if content is None:
            raise ApiError(404, "There is no such attachment.", code="not_found")
        kind = media_type_of(content) or "application/octet-stream"
        name = quote(query(scope).get("name", "")[:200] or digest[:12], safe="")
        how = "inline" if kind in _SHOWN_INLINE else "attachment"
        headers = [
            (b"content-type", kind.encode()),
            (b"content-length", str(len(content)).encode()),
            (b"content-disposition", f"{how}; filename*=UTF-8''{name}".encode()),
            (b"cache-control", b"private, max-age=31536000, immutable"),
            *download_headers(),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})
