"""Reading what a client asks of the proxy, as strictly as a URL. Pure."""

import re
from base64 import b64encode

from ostiary.adapters.egress.url import Url, parse_authority, parse_url
from ostiary.contracts.errors import EgressRefused
from ostiary.contracts.records import dataclass

_LINE = re.compile(r"([A-Z]{1,20}) (\S{1,8192}) HTTP/1\.[01]")
_FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
# They are about one connection, and there are two here; the host is written anew from what was judged.
_NOT_PASSED_ON = frozenset(
    {"connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "trailer", "upgrade", "host", "expect"}
)
_MOST_FIELDS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A tunnel (`url` is None) or one plain request, of which `head` is what the server gets and `length` the body's size."""

    host: str
    port: int
    url: Url | None
    authorization: str
    head: bytes = b""
    length: int = 0


def read_head(raw: bytes) -> Asked:
    """Raises EgressRefused for whatever is not plainly one of the two."""
    lines = raw.decode("latin-1").split("\r\n")
    found = _LINE.fullmatch(lines[0])
    if found is None or not raw.isascii():
        raise EgressRefused("This is not a request to a proxy.")
    fields = _fields(lines[1:])
    authorization = _one(fields, "proxy-authorization")
    method, target = found[1], found[2]
    if method == "CONNECT":
        host, port = parse_authority(target, 0)
        if not port:
            raise EgressRefused("A tunnel needs a port.")
        return Asked(host=host, port=port, url=None, authorization=authorization)
    url = parse_url(target)
    if url.scheme != "http":
        raise EgressRefused("Ask for a tunnel (CONNECT) to reach https addresses.")
    if any(name == "transfer-encoding" for name, _ in fields):
        raise EgressRefused("Send the length of the request's body.")
    length = _one(fields, "content-length") or "0"
    if not re.fullmatch(r"[0-9]{1,12}", length):
        raise EgressRefused("The length of the request's body is not a number.")
    passed = [f"{name}: {value}" for name, value in fields if name not in _NOT_PASSED_ON]
    head = [f"{method} {url.target} HTTP/1.1", f"host: {url.authority}", *passed, "connection: close", "", ""]
    return Asked(
        host=url.host,
        port=url.port,
        url=url,
        authorization=authorization,
        head="\r\n".join(head).encode("ascii"),
        length=int(length),
    )


def credential(username: str, password: str) -> str:
    """As the header Proxy-Authorization has it."""
    return "Basic " + b64encode(f"{username}:{password}".encode()).decode()


def _fields(lines: list[str]) -> list[tuple[str, str]]:
    if len(lines) > _MOST_FIELDS:
        raise EgressRefused(f"A request has at most {_MOST_FIELDS} headers.")
    fields = []
    for line in lines:
        found = _FIELD.fullmatch(line)
        if found is None:
            raise EgressRefused("A header of the request is not properly written.")
        fields.append((found[1].lower(), found[2].strip()))
    return fields


def _one(fields: list[tuple[str, str]], wanted: str) -> str:
    values = [value for name, value in fields if name == wanted]
    if len(values) > 1:
        raise EgressRefused(f"The request has more than one {wanted}.")
    return values[0] if values else ""
