"""Attachments: uploaded before the message that carries them, fetched to be shown. Kept in the store by their digest."""

import hashlib
import re
from urllib.parse import quote

from ostiary.contracts.pictures import PICTURES
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import PutBlob, Store
from ostiary.gateway.asgi import Receive, Scope, Send, query, read_body, respond
from ostiary.gateway.auth import caller_of, download_headers, require
from ostiary.gateway.errors import ApiError
from ostiary.gateway.limits import Limits
from ostiary.gateway.media import media_type_of
from ostiary.gateway.showing import Redact, content_for

PATH = "/v1/ostiary/blobs"
MAX_BYTES = 20 * 1024 * 1024

_DIGEST = re.compile(r"[0-9a-f]{64}")
# A conversation's own files: whoever may read it may open them.
_OPENED = PICTURES | {"application/pdf"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Blobs:
    """Only what was put for its own sake is found by its digest: a document is read at its place."""

    store: Store
    redact: Redact | None = None

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
        caller = caller_of(scope)
        require(caller, "read")
        digest = scope["path"].rpartition("/")[2]
        found = await self.store.blob(digest) if _DIGEST.fullmatch(digest) else None
        if found is None:
            raise ApiError(404, "There is no such attachment.", code="not_found")
        shown = await content_for(caller, self.redact, found, as_they_are=_OPENED)
        content, kind = shown.content, shown.kind or "application/octet-stream"
        name = quote(query(scope).get("name", "")[:200] or digest[:12], safe="")
        how = "inline" if kind in PICTURES else "attachment"
        headers = [
            (b"content-type", kind.encode()),
            (b"content-length", str(len(content)).encode()),
            (b"content-disposition", f"{how}; filename*=UTF-8''{name}".encode()),
            # What was taken out for this caller is not what the next one is shown at the same address.
            (b"cache-control", b"private, max-age=31536000, immutable" if shown.is_whole else b"private, no-store"),
            *download_headers(),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})
