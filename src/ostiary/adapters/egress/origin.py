"""Reading the owner's address, and deciding whether a path stays under it."""

from urllib.parse import urlsplit

from ostiary.contracts.errors import EgressRefused
from ostiary.contracts.records import dataclass

_DEFAULT_PORTS = {"http": 80, "https": 443}
_FORBIDDEN_IN_PATH = ("..", "//", "\\", "#", "@", "%2e", "%2f", "%5c")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Scheme, host and port exactly as configured, and the path prefix every request must stay under."""

    scheme: str
    host: str
    port: int
    prefix: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"

    @classmethod
    def parse(cls, base_url: str) -> "Origin":
        """Raises EgressRefused for anything but a plain http(s) address without credentials, query or fragment."""
        try:
            parts = urlsplit(base_url.strip())
            port = parts.port
        except ValueError:
            raise EgressRefused("The configured address is not a valid URL.") from None
        if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
            raise EgressRefused("The configured address must begin with http:// or https:// and name a host.")
        if parts.username is not None or parts.password is not None:
            raise EgressRefused("The configured address must not hold a user name or password.")
        if parts.query or parts.fragment:
            raise EgressRefused("The configured address must not hold a query or fragment.")
        if any(ord(char) <= 32 or ord(char) == 127 for char in base_url.strip()):
            raise EgressRefused("The configured address holds a space or control character.")
        prefix = parts.path.rstrip("/")
        _refuse_escape(prefix)
        return cls(scheme=parts.scheme, host=parts.hostname, port=port or _DEFAULT_PORTS[parts.scheme], prefix=prefix)

    def url(self, path: str) -> str:
        """Raises EgressRefused if `path` could lead out of the prefix or to another host."""
        plain, _, query = path.partition("?")
        if not plain.startswith("/"):
            raise EgressRefused(f"A request path must begin with a slash, not {path[:80]!r}.")
        _refuse_escape(plain)
        if any(ord(char) <= 32 or ord(char) > 126 or char == "#" for char in path):
            raise EgressRefused("A request path holds a character that must be percent-encoded.")
        return f"{self}{self.prefix}{plain}?{query}" if query else f"{self}{self.prefix}{plain}"


def _refuse_escape(path: str) -> None:
    lowered = path.lower()
    if any(forbidden in lowered for forbidden in _FORBIDDEN_IN_PATH):
        raise EgressRefused(f"The path {path[:80]!r} could lead out of the configured address.")
