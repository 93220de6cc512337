"""The web app's files, served as they are: one page that is asked for anew each time, and everything it needs under
a name that holds the digest of the whole set, kept by browsers for good. No file is looked up by a path from a request:
the set is read once, by name, and what is not in it is not there.

The files are public: they hold no secret, and everything they show comes through the socket, behind authentication.
"""

from collections.abc import Mapping
from pathlib import Path

from ostiary.contracts.records import dataclass
from ostiary.gateway.asgi import Header, Receive, Scope, Send, header
from ostiary.gateway.auth.headers import security_headers
from ostiary.gateway.errors import ApiError

HERE = Path(__file__).parent
ASSETS = "ui"
_PLACEHOLDER = b"{assets}"
_FOR_GOOD = b"public, max-age=31536000, immutable"
_ASK_FIRST = b"no-cache"
_SMALLEST_GZIPPED = 1024
# Scripts and styles are no pages: a policy holds for documents and workers alone, and fifty copies of ours weigh a sixth of the
# first load. Opened by itself, such a file is a dead document in a frame of nobody's.
_PART_HEADERS: tuple[Header, ...] = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; sandbox"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
)

_TYPES: Mapping[str, bytes] = {
    ".css": b"text/css; charset=utf-8",
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".png": b"image/png",
    ".webmanifest": b"application/manifest+json",
    ".LICENSE": b"text/plain; charset=utf-8",
}
# Names beside the page itself, because browsers look for them there or because a worker may only rule below its own place.
_BESIDE: Mapping[str, str] = {
    "": "index.html",
    "index.html": "index.html",
    "manifest.webmanifest": "manifest.webmanifest",
    "icon.svg": "icon.svg",
    "icon.png": "icon.png",
    "favicon.ico": "icon.svg",
    "sw.js": "sw.js",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One file ready to be sent. `gzipped` is empty if it does not pay."""

    kind: bytes
    etag: bytes
    cache: bytes
    body: bytes
    gzipped: bytes = b""


def ui_pages(base_path: str = "/", *, enabled: bool = True) -> "Ui":
    """The web app at `base_path`. Switched off, it owns no path at all."""
    return Ui("/" + base_path.strip("/"), enabled)


class Ui:
    """An ASGI app for the paths that it `owns`; asked for another one, it raises ApiError 404. Files are read at first use."""

    def __init__(self, base: str, enabled: bool) -> None:
        self._base = base.rstrip("/") + "/"
        self._enabled = enabled
        self._files: Mapping[str, File] | None = None

    def owns(self, path: str) -> bool:
        """Whether the path is the app's, before authentication. Exact names only: no path is normalised."""
        if not self._enabled:
            return False
        if path == self._base.rstrip("/"):
            return True
        rest = path.removeprefix(self._base)
        return path.startswith(self._base) and (rest in _BESIDE or rest.startswith(ASSETS + "/"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if scope["method"] not in ("GET", "HEAD"):
            raise ApiError(405, "Use GET here.", code="method_not_allowed")
        if not self.owns(path):
            raise _nothing_at(path)
        if path + "/" == self._base:
            await _send(send, 308, [(b"location", self._base.encode()), *page_headers()], b"")
            return
        if self._files is None:
            self._files = read_files(HERE)
        file = self._files.get(path.removeprefix(self._base))
        if file is None:
            raise _nothing_at(path)
        await _answer(scope, send, file)


def read_files(folder: Path) -> Mapping[str, File]:
    """Every file of the app by the name it is served under, relative to the base path."""
    from hashlib import sha256

    found = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.suffix in _TYPES and path.is_file()
    }
    whole = sha256()
    for name, body in found.items():
        whole.update(f"{name} {len(body)} ".encode())
        whole.update(body)
    assets = f"{ASSETS}/{whole.hexdigest()[:16]}/"
    files = {assets + name: _file(name, body, _FOR_GOOD) for name, body in found.items() if name not in _BESIDE.values()}
    for name, source in _BESIDE.items():
        files[name] = _file(source, found[source].replace(_PLACEHOLDER, assets.encode()), _ASK_FIRST)
    return files


def page_headers() -> tuple[Header, ...]:
    """As for every page, and the page may make one kind of trusted address only: that of its own worker (see main.js)."""
    return tuple(
        (name, value + b"; trusted-types ostiary" if name == b"content-security-policy" else value)
        for name, value in security_headers(trusted_types=True)
    )


def _file(name: str, body: bytes, cache: bytes) -> File:
    from gzip import compress
    from hashlib import sha256

    packed = compress(body, 9, mtime=0) if len(body) >= _SMALLEST_GZIPPED and not name.endswith(".png") else b""
    etag = f'"{sha256(body).hexdigest()[:32]}"'.encode()
    return File(kind=_TYPES[Path(name).suffix], etag=etag, cache=cache, body=body, gzipped=packed)


async def _answer(scope: Scope, send: Send, file: File) -> None:
    ours = _PART_HEADERS if file.cache is _FOR_GOOD else page_headers()
    headers = [(b"etag", file.etag), (b"cache-control", file.cache), (b"vary", b"accept-encoding"), *ours]
    asked = header(scope, b"if-none-match")
    if file.etag.decode() in [tag.strip().removeprefix("W/") for tag in asked.split(",")]:
        await _send(send, 304, headers, b"")
        return
    body = file.body
    if file.gzipped and "gzip" in header(scope, b"accept-encoding"):
        body = file.gzipped
        headers.append((b"content-encoding", b"gzip"))
    headers += [(b"content-type", file.kind), (b"content-length", str(len(body)).encode())]
    await _send(send, 200, headers, b"" if scope["method"] == "HEAD" else body)


async def _send(send: Send, status: int, headers: list[Header], body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _nothing_at(path: str) -> ApiError:
    return ApiError(404, f"There is nothing at {path[:200]}.", code="not_found")
