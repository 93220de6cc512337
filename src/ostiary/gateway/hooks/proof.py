"""Which hooks a request has proven to be for, as far as its headers tell."""

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl

from ostiary.gateway.asgi import Scope, header
from ostiary.gateway.auth.secret import same
from ostiary.gateway.errors import ApiError
from ostiary.gateway.hooks.rules import Hook
from ostiary.gateway.hooks.signature import header_of

_TOKEN = b"x-ostiary-token"
_SECRET_NAMES = ("token", "secret", "key", "auth", "password", "sig")
_UNSHOWN = frozenset({"authorization", "proxy-authorization", "cookie", "x-ostiary-token"})


def refuse_token_in_url(scope: Scope) -> None:
    """A URL is written into logs all along its way. Raises ApiError 400, whether or not the token is right."""
    for name, _ in parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True, max_num_fields=50):
        if any(word in name.lower() for word in _SECRET_NAMES):
            raise ApiError(400, "A token does not belong into the address; send it as a header.", code="token_in_url")


def given_token(scope: Scope) -> str:
    """`Authorization: Bearer` or `X-Ostiary-Token`; empty if there is none. Raises ApiError 400 for both at once."""
    scheme, _, bearer = header(scope, b"authorization").partition(" ")
    own = header(scope, _TOKEN)
    if own and bearer:
        raise ApiError(400, "Send one token, not two.", code="invalid_value")
    return own or (bearer.strip() if scheme.lower() == "bearer" else "")


def by_token(given: str, hooks: Sequence[Hook]) -> tuple[Hook, ...]:
    """Compared in constant time, each of them. A hook that wants a signature is not opened by a token."""
    return tuple([hook for hook in hooks if hook.signature is None and same(given, hook.token())])


def to_be_verified(headers: Mapping[str, str], hooks: Sequence[Hook]) -> tuple[Hook, ...]:
    """Hooks whose signature came along: worth reading a body for, and no more than that."""
    return tuple(hook for hook in hooks if hook.signature is not None and headers.get(header_of(hook.signature)))


def headers_of(scope: Scope) -> dict[str, str]:
    """By lower-case name. What is there twice is joined, and so is no signature, time or type any more."""
    found: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name, text = raw.decode("latin-1").lower(), value.decode("latin-1").strip()
        found[name] = f"{found[name]}, {text}" if name in found else text
    return found


def shown_headers(headers: Mapping[str, str], hook: Hook) -> Mapping[str, str]:
    """What a template may show: never a credential."""
    hidden = {*_UNSHOWN, *([header_of(hook.signature)] if hook.signature is not None else [])}
    return {name: value for name, value in headers.items() if name not in hidden}
