"""Replies that could carry private data out by themselves: a picture that is fetched, a link that is previewed.

Only where the conversation holds both private data and text that nobody vouches for. An address that stood in the
conversation word for word carries nothing new and stays.
"""

import re
from collections.abc import Iterable, Sequence

from ostiary.contracts.content import AnswerPart, Label, Message, Text, Trust
from ostiary.core.sessions.session import pieces

_IMAGE = re.compile(r"!\[([^\]\n]{0,300})\]\(\s*<?([^)\s>]+)>?[^)]{0,300}\)")
_REFERENCE = re.compile(r"^[ ]{0,3}\[([^\]\n]{1,100})\]:\s*<?(\S+?)>?(?:\s+[\"'(][^\n]{0,200})?$", re.MULTILINE)
_URL = re.compile(r"(?:https?|ftp|wss?)://[^\s<>\"'`\]]+", re.IGNORECASE)
_HTML = re.compile(
    r"<(?:img|image|video|audio|iframe|object|embed|link|source|svg|script|style|base|form|input)\b[^>]{0,2000}>?", re.IGNORECASE
)
_BARE = re.compile(r"(?<![\w@/.:-])(?:[a-z0-9-]{1,63}\.)+[a-z]{2,24}/[^\s<>\"'`)\]]+", re.IGNORECASE)
_TRAILING = ".,;:!?)*_"


def could_leak(label: Label) -> bool:
    """Both halves of the danger are there: something to take, and somebody who may want it."""
    return label.private and label.trust is Trust.UNTRUSTED


def neutralised(parts: Sequence[AnswerPart], label: Label, messages: Iterable[Message]) -> tuple[AnswerPart, ...]:
    """The answer's words without pictures from elsewhere and without addresses that nobody has written before."""
    if not could_leak(label) or not any(isinstance(part, Text) and _is_suspect(part.text) for part in parts):
        return tuple(parts)
    known = Known(messages)
    return tuple(Text(text=harmless(part.text, known), label=part.label) if isinstance(part, Text) else part for part in parts)


def _is_suspect(text: str) -> bool:
    return "://" in text or "](" in text or "<" in text or _BARE.search(text) is not None


class Known:
    """Which addresses stood in the conversation, word for word."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self._texts = [text for message in messages for text in pieces(message)] if messages else []

    def __contains__(self, url: str) -> bool:
        return any(_stands_in(url, text) for text in self._texts)


def _stands_in(url: str, text: str) -> bool:
    """As a whole: a known address with something appended is another address."""
    at = text.find(url)
    while at >= 0:
        after = text[at + len(url) : at + len(url) + 1]
        if not after or after in " \t\r\n<>\"'`)]}|\\," or after in _TRAILING:
            return True
        at = text.find(url, at + 1)
    return False


def harmless(text: str, known: Known) -> str:
    text = _IMAGE.sub(lambda found: _named("picture", found[1], found[2]), text)
    text = _HTML.sub("[removed]", text)
    text = _REFERENCE.sub(lambda found: found[0] if found[2] in known else f"[{found[1]}]: (link removed)", text)
    text = _URL.sub(lambda found: _kept(found[0], known), text)
    return _BARE.sub(lambda found: _kept(found[0], known), text)


def _kept(url: str, known: Known) -> str:
    bare = url.rstrip(_TRAILING)
    return url if bare in known or url in known else f"[link to {_host(bare)} removed]{url[len(bare) :]}"


def _named(what: str, words: str, url: str) -> str:
    return f"[{what} from {_host(url)} removed{': ' + words if words else ''}]"


def _host(url: str) -> str:
    rest = url.partition("://")[2] or url
    host = re.split(r"[/?#\\]", rest, maxsplit=1)[0].rpartition("@")[2]
    # A name can carry data too; its last two labels are enough to tell what it was.
    return ".".join(host[:120].split(".")[-2:]) or "elsewhere"
