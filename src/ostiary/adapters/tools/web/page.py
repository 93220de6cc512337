"""One page: fetched by the agent's profile, and made into text or an image, whatever it is."""

import hashlib
from collections.abc import Mapping

from ostiary.adapters.egress import AgentProfile, EgressFailed, Fetched, FetchLimits
from ostiary.adapters.tools.web.charset import clean, decode
from ostiary.adapters.tools.web.reading import Document, Reader
from ostiary.contracts.content import Image, Label, Trust
from ostiary.contracts.errors import EgressRefused, ToolError
from ostiary.contracts.pictures import picture_type_of
from ostiary.contracts.records import dataclass

LONGEST_TEXT = 2_000_000
LONGEST_SOURCE = 1_500_000
LARGEST_IMAGE = 5 * 1024 * 1024
_ACCEPTED = "text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,application/json;q=0.9,image/*;q=0.5,*/*;q=0.1"
_HTML = ("text/html", "application/xhtml+xml")
_TEXTS = (
    "application/json",
    "application/xml",
    "application/javascript",
    "application/x-ndjson",
    "application/yaml",
    "application/toml",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """`text` is empty for an image, whose bytes are `blobs`. `hosts` are all that had a part in it."""

    url: str
    status: int
    kind: str
    title: str
    text: str
    size: int
    hosts: tuple[str, ...]
    redirects: tuple[str, ...]
    is_cut: bool = False
    images: tuple[Image, ...] = ()
    blobs: Mapping[str, bytes]

    @property
    def label(self) -> Label:
        return web_label(*self.hosts)


def web_label(*hosts: str) -> Label:
    """Anybody can write a page: what comes from it is data, never an instruction."""
    return Label(trust=Trust.UNTRUSTED, sources=tuple(sorted({f"web:{host}" for host in hosts})))


async def load_page(profile: AgentProfile, reader: Reader, url: str, *, limits: FetchLimits, user_agent: str) -> Page:
    """Raises ToolError with a sentence for whatever goes wrong."""
    headers = {"Accept": _ACCEPTED, "User-Agent": user_agent}
    try:
        fetched = await profile.fetch(url, headers=headers, limits=limits)
        hosts = tuple(dict.fromkeys([*(profile.check(before).host for before in fetched.redirects), fetched.host]))
    except EgressRefused as error:
        raise ToolError(f"Refused: {error}") from None
    except EgressFailed as error:
        raise ToolError(str(error)) from None
    if not 200 <= fetched.status < 300:
        wait = fetched.headers.get("retry-after", "")
        later = f" It asks to wait {wait} s." if wait.isascii() and wait.isdigit() and len(wait) < 6 else ""
        raise ToolError(f"{fetched.host} answered {fetched.status} {fetched.reason} for {fetched.url[:300]}.{later}")
    return await _made(fetched, hosts, reader)


async def _made(fetched: Fetched, hosts: tuple[str, ...], reader: Reader) -> Page:
    kind, is_cut = kind_of(fetched), fetched.truncated
    if kind.startswith("image/"):
        return _image(fetched, hosts, kind)
    if kind == "pdf" and fetched.truncated:
        raise ToolError(f"{fetched.url[:300]} is a PDF of more than {len(fetched.body):,} bytes, too large to read.")
    if kind == "pdf":
        document = await reader.pdf(fetched.body, fetched.url)
    elif kind == "html":
        source = decode(fetched.body, fetched.headers.get("content-type", ""), is_html=True)
        is_cut = is_cut or len(source) > LONGEST_SOURCE
        document = await reader.page(clean(source[:LONGEST_SOURCE]), fetched.url)
    elif kind == "text":
        source = decode(fetched.body, fetched.headers.get("content-type", ""))
        is_cut = is_cut or len(source) > LONGEST_TEXT
        document = Document(title="", text=source[:LONGEST_TEXT])
    else:
        raise ToolError(f"{fetched.url[:300]} is {kind}, which cannot be read as text.")
    return Page(
        url=fetched.url,
        status=fetched.status,
        kind=kind,
        title=" ".join(clean(document.title).split()),
        text=clean(document.text).strip(),
        size=len(fetched.body),
        hosts=hosts,
        redirects=fetched.redirects,
        is_cut=is_cut,
        blobs={},
    )


def _image(fetched: Fetched, hosts: tuple[str, ...], media_type: str) -> Page:
    if fetched.truncated or len(fetched.body) > LARGEST_IMAGE:
        raise ToolError(f"{fetched.url[:300]} is an image of more than {min(len(fetched.body), LARGEST_IMAGE):,} bytes.")
    digest = hashlib.sha256(fetched.body).hexdigest()
    return Page(
        url=fetched.url,
        status=fetched.status,
        kind="image",
        title="",
        text="",
        size=len(fetched.body),
        hosts=hosts,
        redirects=fetched.redirects,
        images=(Image(digest=digest, media_type=media_type, label=web_label(*hosts)),),
        blobs={digest: fetched.body},
    )


def kind_of(fetched: Fetched) -> str:
    """html, text, pdf, image/<one that models see>, or what the server calls it. The bytes count for more than its word."""
    start = fetched.body[:1024]
    if start.lstrip().startswith(b"%PDF-"):
        return "pdf"
    if picture := picture_type_of(start):
        return picture
    claimed = fetched.headers.get("content-type", "").partition(";")[0].strip().lower()
    looks_html = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith((b"<!doctype html", b"<html"))
    if claimed in _HTML or (looks_html and claimed in ("", "text/plain", "application/octet-stream")):
        return "html"
    is_text = claimed.startswith("text/") or claimed in _TEXTS or claimed.endswith(("+json", "+xml", "+yaml"))
    if is_text or (claimed in ("", "application/octet-stream") and b"\x00" not in start):
        return "text"
    return "".join(char for char in claimed if char.isascii() and char.isprintable())[:60] or "binary data"
