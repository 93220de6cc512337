"""Whether a text names an address, and how an address is shown to a person. Pure."""

import re
from collections.abc import Iterable

_EDGES = "\"'`<>()[]{},;"
_PIECE = re.compile(r"[^\s\"'`<>()\[\]{},;]+")
_SCHEMES = ("http://", "https://")
_TRAILING = ".:!?…"


def mentions(texts: Iterable[str], address: str) -> bool:
    """Whether one of the texts holds the address as a word of its own: not as a part of a longer one.

    The full stop or question mark that ends a sentence is not taken for a part of it. Of a URL the scheme may be left out,
    the case of its host and the slash of an empty path do not count. An address with white space in it is never found."""
    wanted = _plain(address)
    if not wanted:
        return False
    bare = wanted.partition("://")[2] if wanted.startswith(_SCHEMES) else wanted
    # Most texts do not hold it in any way, and taking a long one to pieces is work.
    likely = (text for text in texts if bare.lower() in text.lower())
    return any(_plain(end) in (wanted, bare) for piece in _pieces(likely) for end in (piece, piece.rstrip(_TRAILING)))


def printable(text: str) -> str:
    """One line a person can trust: line breaks, control characters and those that turn the direction of writing are escaped."""
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text)


def _pieces(texts: Iterable[str]) -> Iterable[str]:
    for text in texts:
        yield from _PIECE.findall(text)
        # A URL may hold brackets of its own, so the words between blanks count too.
        for word in text.split():
            yield word
            yield word.strip(_EDGES)


def _plain(address: str) -> str:
    """A name and password before the host keep their case: they are sent as they stand."""
    scheme, separator, rest = address.strip().partition("://")
    if not separator:
        scheme, rest = "", scheme
    host, slash, path = rest.partition("/")
    if "@" not in host and (separator or "." in host):
        host = host.lower()
    return f"{scheme.lower()}{separator}{host}{slash if path else ''}{path}"
