"""Which addresses a reply may lead to."""

import re
from urllib.parse import quote, urlsplit

_LONGEST = 2048
_WEB = re.compile(r"https?://[^\s<>\"'`\\|^{}\x00-\x20\x7f]+", re.IGNORECASE)
_FORBIDDEN = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_PERSONAL = re.compile(r"(?:mailto:[^@\s]+@[^@\s]+|tel:\+?[0-9(). -]+)", re.IGNORECASE)


def safe_url(url: str) -> str:
    """The address if a person may be sent there: http, https, mailto or tel, complete and without hidden characters; else empty.

    Never raises."""
    url = url.strip()
    if not url or len(url) > _LONGEST or _FORBIDDEN.search(url):
        return ""
    if _PERSONAL.fullmatch(url):
        return url
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return ""
    return url if parts.scheme in ("http", "https") and host else ""


def bare_urls(text: str) -> list[tuple[int, int]]:
    """Where web addresses stand in plain text. Punctuation that ends the sentence is not part of them."""
    found = []
    for match in _WEB.finditer(text):
        start, end = match.span()
        end = _without_tail(text, start, end)
        if safe_url(text[start:end]):
            found.append((start, end))
    return found


def _without_tail(text: str, start: int, end: int) -> int:
    opened = text.count("(", start, end)
    closed = text.count(")", start, end)
    while end > start:
        last = text[end - 1]
        if last == ")" and closed > opened:
            closed -= 1
        elif last not in ".,:;!?*_~":
            break
        end -= 1
    return end


def encoded(url: str, unsafe: str) -> str:
    """The address with the characters of `unsafe` written as %XX, so that a channel's own marks cannot end it early."""
    return "".join(quote(char, safe="") if char in unsafe else char for char in url)


def says_its_address(label: str, url: str) -> bool:
    """Whether the text already is the address, so that writing it once is enough."""
    return label.strip() in (url, url.partition(":")[2], url.partition("://")[2], url.rstrip("/"))
