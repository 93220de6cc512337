"""How programs write a text that holds signs with a meaning of their own: in addresses, JSON, pages, shells, source. Pure."""

import json
import re
from collections.abc import Iterator
from html import escape
from urllib.parse import quote, quote_plus

_PERCENT = re.compile("%[0-9A-F]{2}")
_UNICODE = re.compile(r"\\u[0-9a-f]{4}")
# What JSON writers escape without need: those of Go, of Java and of .NET.
_SHY = ("<>&", "<>&='", "<>&'+`")


def escaped(text: str) -> frozenset[str]:
    """Every such way to write it that is not the text itself."""
    return frozenset((*_in_addresses(text), *_in_json(text), *_elsewhere(text))) - {text}


def _in_addresses(text: str) -> Iterator[str]:
    quoted = quote(text, safe="")
    yield from (quoted, quote(text), quote_plus(text), quote(quoted, safe=""))
    yield _PERCENT.sub(lambda found: found[0].lower(), quoted)


def _in_json(text: str) -> Iterator[str]:
    for is_ascii in (True, False):
        written = json.dumps(text, ensure_ascii=is_ascii)[1:-1]
        yield from (written, written.replace("/", "\\/"), json.dumps(written, ensure_ascii=is_ascii)[1:-1])
        for signs in _SHY:
            shy = written.translate({ord(sign): f"\\u{ord(sign):04x}" for sign in signs})
            yield from (shy, _UNICODE.sub(lambda found: f"\\u{found[0][2:].upper()}", shy.replace('\\"', "\\u0022")))


def _elsewhere(text: str) -> Iterator[str]:
    """On pages, in a shell's quotes, in source."""
    on_page = escape(text)
    yield from (on_page, on_page.replace("&#x27;", "&#39;"), escape(text, quote=False))
    yield from (text.replace("'", "'\"'\"'"), text.replace("'", "'\\''"))
    yield from (repr(text)[1:-1], repr(text.encode("utf-8", "surrogatepass"))[2:-1])
