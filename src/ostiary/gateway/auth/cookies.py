"""The one cookie. Scripts cannot read it, other sites cannot send it, and it never leaves by plain HTTP if it came by TLS."""

from ostiary.gateway.asgi import Header, Scope
from ostiary.gateway.auth.place import is_secure
from ostiary.gateway.auth.rules import AccessRules

COOKIE = "ostiary"
_LONGEST = 128


def cookie_of(scope: Scope) -> str:
    """Its value; empty if it was not sent, or sent twice: then it is unknown whose it is."""
    values = [
        value.strip()
        for name, line in scope["headers"]
        if name == b"cookie"
        for key, _, value in (pair.partition("=") for pair in line.decode("latin-1").split(";"))
        if key.strip() == COOKIE
    ]
    return values[0] if len(values) == 1 and len(values[0]) <= _LONGEST else ""


def set_cookie(value: str, scope: Scope, rules: AccessRules) -> Header:
    """An empty value takes the cookie back."""
    age = int(rules.session_seconds) if value else 0
    secure = "; Secure" if is_secure(scope, rules) else ""
    path = rules.base_path.rstrip("/") or "/"
    line = f"{COOKIE}={value}; Path={path}; Max-Age={age}; HttpOnly; SameSite=Strict{secure}"
    return b"set-cookie", line.encode("latin-1", "replace")
