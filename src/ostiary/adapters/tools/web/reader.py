"""Turns a page or a PDF into text, in a process of its own that holds no secret, can open nothing and is killed when it is late.

Run as a program: the kind, the address and a newline, then the document on standard input; JSON on standard output. It imports
nothing of the house, so that it starts fast.
"""

import html
import io
import json
import os
import re
import resource
import signal
import sys
from contextlib import suppress
from html.parser import HTMLParser
from importlib import import_module
from pkgutil import walk_packages
from urllib.parse import urljoin

CPU_SECONDS = 10
READABLE_SECONDS = 3.0
MEMORY = 2 * 1024**3
UID = 64_118
"""Who reads when the gateway is root: nobody else on the machine has this uid."""
LONGEST = 1_000_000
_PAGES = 300
_THIN = 200
_TITLE = re.compile(r"<title[^>]{0,200}>(.{0,2000}?)</title", re.IGNORECASE | re.DOTALL)
_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "title", "iframe", "object", "select"})
_BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "figcaption", "footer", "form", "header"),
        *(
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "hr",
            "li",
            "main",
            "nav",
            "ol",
            "p",
            "pre",
            "section",
            "table",
            "td",
            "th",
            "tr",
            "ul",
        ),
    }
)


def main() -> None:
    _limit(resource.RLIMIT_CPU, CPU_SECONDS)
    _limit(resource.RLIMIT_AS, MEMORY)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    kind, _, url = sys.stdin.buffer.readline().decode().strip().partition(" ")
    _load(kind)
    _shut()
    document = sys.stdin.buffer.read()
    try:
        found = pdf(document) if kind == "pdf" else page(document.decode("utf-8", "replace"), url)
    except Exception as error:  # noqa: BLE001 - the document is hostile until proven otherwise; the parent needs one sentence
        found = {"error": f"({type(error).__name__})"}
    sys.stdout.write(json.dumps(found))


def _load(kind: str) -> None:
    """What the libraries need of the disk is read before the document is."""
    if kind == "pdf":
        try:
            import pypdf
        except ImportError:
            return
        for module in walk_packages(pypdf.__path__, "pypdf."):
            # Some are for other uses and lack what those need.
            with suppress(ImportError):
                import_module(module.name)
    else:
        _readable("<html><body><article><h1>A</h1><p>Some words to begin with.</p></article></body></html>", "http://a.example/")


def _shut() -> None:
    """From here on no file, socket or process can be opened, not even by a document that has taken this process over."""
    # Where there is only one user there is nobody else to become.
    with suppress(OSError):
        if os.geteuid() == 0:
            os.setgroups([])
            os.setresgid(UID, UID, UID)
            os.setresuid(UID, UID, UID)
    _limit(resource.RLIMIT_NOFILE, 0)
    _limit(resource.RLIMIT_NPROC, 0)


def page(source: str, url: str) -> dict[str, str]:
    """Title and readable text with links, by trafilatura where it is installed and finds something, else everything there is."""
    found = _TITLE.search(source[:200_000])
    title = " ".join(html.unescape(found[1]).split())[:300] if found else ""
    text = _readable(source, url)
    if len(text) < _THIN:
        everything = plain(source, url)
        text = everything if len(everything) > len(text) else text
    return {"title": title, "text": text[:LONGEST]}


class _TooSlow(BaseException):
    """Not an Exception, so that no library takes it for one of its own."""


def _readable(source: str, url: str) -> str:
    try:
        from trafilatura import extract
    except ImportError:
        return ""

    def give_up(*_: object) -> None:
        raise _TooSlow

    # Some pages take it a time that grows with the square of their length; those are read without it.
    signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, READABLE_SECONDS)
    try:
        return extract(source, url=url, output_format="markdown", include_links=True, include_comments=False) or ""
    except (_TooSlow, ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
        return ""
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def plain(source: str, url: str) -> str:
    """All text of a page in its order, links as Markdown."""
    collector = _Plain(url)
    collector.feed(source)
    collector.close()
    lines = (" ".join(line.split()) for line in "".join(collector.pieces).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _Plain(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._url = url
        self._skipping = ""
        self._depth = 0
        self._links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._skipping:
            self._depth += tag == self._skipping
        elif tag in _SKIPPED:
            self._skipping, self._depth = tag, 1
        elif tag == "a":
            self._links.append(_absolute(self._url, dict(attrs).get("href") or ""))
            self.pieces.append("[" if self._links[-1] else "")
        elif tag in _BLOCKS:
            self.pieces.append("\n- " if tag == "li" else "\n")

    def handle_endtag(self, tag: str) -> None:
        if self._skipping:
            self._depth -= tag == self._skipping
            self._skipping = self._skipping if self._depth else ""
        elif tag == "a" and self._links:
            link = self._links.pop()
            self.pieces.append(f"]({link})" if link else "")
        elif tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not self._skipping and tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self.pieces.append(data)


def _absolute(base: str, link: str) -> str:
    try:
        joined = urljoin(base, link.strip())
    except ValueError:
        return ""
    return joined if joined.startswith(("http://", "https://")) and len(joined) < 2000 else ""


def pdf(document: bytes) -> dict[str, str]:
    """The text of its pages."""
    try:
        from pypdf import PdfReader
    except ImportError:
        return {"error": "PDF needs the extra ostiary[web]."}
    reader = PdfReader(io.BytesIO(document), strict=False)
    if reader.is_encrypted and not reader.decrypt(""):
        return {"error": "The PDF is locked with a password."}
    pieces: list[str] = []
    size = 0
    for number, each in enumerate(reader.pages, 1):
        text = each.extract_text().strip()
        size += len(text)
        pieces.append(f"[page {number}]\n{text}")
        if size > LONGEST or number >= _PAGES:
            break
    title = str((reader.metadata.title if reader.metadata else "") or "")[:300]
    return {"title": title, "text": "\n\n".join(pieces)[:LONGEST] if size else "", "pages": str(len(reader.pages))}


def _limit(what: int, value: int) -> None:
    _, hard = resource.getrlimit(what)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (value, value))


if __name__ == "__main__":
    main()
