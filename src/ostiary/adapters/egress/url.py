"""The one reading of a URL that somebody else chose. Pure.

Servers, browsers and libraries disagree about odd spellings, and every disagreement is a way around a check. So there is no
repair here: a URL is plain, or it is refused with the reason. What comes out is spelled in one way only, and that spelling is
what is judged, resolved, connected to and sent.
"""

import re
from ipaddress import AddressValueError, IPv6Address
from urllib.parse import quote, urljoin

from ostiary.adapters.egress.addresses import IpAddress, read_address
from ostiary.contracts.errors import EgressRefused
from ostiary.contracts.records import dataclass

LONGEST = 4096
DEFAULT_PORTS = {"http": 80, "https": 443}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_END_OF_AUTHORITY = re.compile(r"[/?#]")
_LONGEST_HOST = 253
_KEPT_IN_PATH = "/:@!$&'()*+,;=-._~%"
_KEPT_IN_QUERY = _KEPT_IN_PATH + "?"
_BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Url:
    """`host` is lower case, without the dot of the root, an IP address in its usual spelling or a name in ASCII.
    `target` is path and query, percent-encoded, never empty."""

    scheme: str
    host: str
    port: int
    target: str

    def __str__(self) -> str:
        return f"{self.origin}{self.target}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        """As the Host header has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def address(self) -> IpAddress | None:
        """What the host is if it is no name."""
        return read_address(self.host)


def parse_url(text: str) -> Url:
    """Raises EgressRefused, saying what is wrong with it."""
    text = text.strip(" \t\r\n")
    if not text or len(text) > LONGEST:
        raise EgressRefused(f"A URL has from 1 to {LONGEST} characters.")
    _refuse_odd_characters(text)
    scheme, rest = _scheme_of(text)
    end = _END_OF_AUTHORITY.search(rest)
    authority, tail = (rest[: end.start()], rest[end.start() :]) if end else (rest, "")
    host, port = parse_authority(authority, DEFAULT_PORTS[scheme])
    return Url(scheme=scheme, host=host, port=port, target=_target(tail))


def follow(base: Url, location: str) -> Url:
    """Where a redirect leads. Raises EgressRefused as parse_url does."""
    if not location or len(location) > LONGEST:
        raise EgressRefused("The redirect names no usable address.")
    # A library that joins addresses drops tabs and line ends; they must be seen before.
    _refuse_odd_characters(location)
    return parse_url(urljoin(str(base), location))


def parse_authority(authority: str, default_port: int) -> tuple[str, int]:
    """`host`, `host:port`, `[v6]` or `[v6]:port`. Raises EgressRefused."""
    if "@" in authority:
        raise EgressRefused("A URL must not hold a user name or password.")
    if "%" in authority:
        raise EgressRefused("The host of a URL must not be percent-encoded or hold a zone.")
    if authority.startswith("["):
        inside, bracket, after = authority[1:].partition("]")
        if not bracket or (after and not after.startswith(":")):
            raise EgressRefused("The host in brackets is not complete.")
        colon, digits = after[:1], after[1:]
        host = _ipv6(inside)
    else:
        host, colon, digits = authority.partition(":")
        host = _host(host)
    if not colon:
        return host, default_port
    if not _PORT.fullmatch(digits) or int(digits) > 65535:
        raise EgressRefused("The port of a URL is a number from 1 to 65535.")
    return host, int(digits)


def _refuse_odd_characters(text: str) -> None:
    if "\\" in text:
        raise EgressRefused("A URL must not hold a backslash.")
    if any(not char.isprintable() or char.isspace() for char in text):
        raise EgressRefused("A URL must not hold spaces, control or invisible characters.")


def _scheme_of(text: str) -> tuple[str, str]:
    found = _SCHEME.match(text)
    scheme = found[1].lower() if found else ""
    if scheme not in DEFAULT_PORTS:
        named = f"{scheme[:20]}: is not fetched" if scheme else "It names no scheme"
        raise EgressRefused(f"Only http:// and https:// are fetched. {named}.")
    rest = text[len(scheme) + 1 :]
    if not rest.startswith("//") or rest.startswith("///"):
        raise EgressRefused("A URL needs exactly two slashes after its scheme.")
    return scheme, rest[2:]


def _ipv6(text: str) -> str:
    try:
        return str(IPv6Address(text))
    except AddressValueError:
        raise EgressRefused("The host in brackets is not an IPv6 address.") from None


def _host(text: str) -> str:
    host = (text if text.isascii() else _ascii_name(text)).lower().removesuffix(".")
    if not host:
        raise EgressRefused("The URL names no host.")
    labels = host.split(".")
    if len(host) > _LONGEST_HOST or not all(_LABEL.fullmatch(label) for label in labels):
        raise EgressRefused("The host of the URL is not a proper name.")
    # What ends in a number is an address to somebody: it is one in the usual spelling, or it is refused.
    if _NUMBER.fullmatch(labels[-1]) and (read_address(host) is None or not text.isascii()):
        raise EgressRefused("The host of the URL is an oddly written address; write it as four decimal numbers.")
    return host


def _ascii_name(text: str) -> str:
    import idna

    try:
        return idna.encode(text, uts46=True, std3_rules=True, transitional=False).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        raise EgressRefused("The host of the URL is not a proper name.") from None


def _target(tail: str) -> str:
    tail = tail.partition("#")[0]
    path, mark, query = tail.partition("?")
    encoded = _encoded(path or "/", _KEPT_IN_PATH)
    return f"{encoded}?{_encoded(query, _KEPT_IN_QUERY)}" if mark else encoded


def _encoded(text: str, kept: str) -> str:
    return quote(_BAD_PERCENT.sub("%25", text), safe=kept, errors="replace")
