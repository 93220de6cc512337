"""What a method is: its name, the shapes of what goes in and out, who may call it, and what answers."""

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from inspect import iscoroutinefunction
from typing import Any, Literal

import msgspec

from ostiary.gateway.protocol.errors import MethodError
from ostiary.gateway.protocol.frames import encode

Scope = Literal["read", "chat", "approve", "admin"]

_WHERE = re.compile(r"^(?P<said>.*?)(?: - at `(?:key in )?\$(?P<path>.*)`)?$", re.DOTALL)
_EXPECTED = re.compile(r"Expected (`[^`]*`|[^,]*)", re.IGNORECASE)
_UNKNOWN = re.compile(r"unknown field `([^`]*)`")


class Method:
    """`handler` is called with a `Call`: a plain function answers at once, a coroutine function gets a task of its own.

    `scope` is needed to call it, or `or_scope`; `or_own` lets a caller without it act on itself, which the handler checks.
    `has_effect`: params carry an idempotency key and a repeated call gets the first one's result, unless the result is
    nothing to keep (`keeps_result`), such as a secret.
    `follow` makes a second response with the same id, out of the first one's result. `needs` names the service without
    which the method is not offered. `seconds` bounds the handler.
    """

    def __init__(
        self,
        name: str,
        params: type[msgspec.Struct],
        result: Any,
        scope: Scope,
        handler: Callable[..., Any],
        *,
        has_effect: bool = False,
        keeps_result: bool = True,
        or_own: bool = False,
        or_scope: Scope | None = None,
        follow: Callable[..., Any] | None = None,
        follow_result: Any = None,
        needs: str = "",
        seconds: float = 60.0,
    ) -> None:
        self.name = name
        self.params = params
        self.result = result
        self.scope: Scope = scope
        self.handler = handler
        self.has_effect = has_effect
        self.keeps_result = keeps_result
        self.or_own = or_own
        self.or_scope = or_scope
        self.follow = follow
        self.follow_result = follow_result
        self.needs = needs
        self.seconds = seconds
        self.is_immediate = not iscoroutinefunction(handler) and not has_effect

    @cached_property
    def _decoder(self) -> "msgspec.json.Decoder[Any]":
        # Compiled at the first call: most runs use a handful of the methods.
        return msgspec.json.Decoder(self.params)

    def read(self, raw: msgspec.Raw) -> Any:
        """Raises MethodError INVALID_PARAMS saying where and what was expected."""
        try:
            return self._decoder.decode(raw)
        except msgspec.ValidationError as error:
            raise _invalid(self.name, str(error)) from None
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            raise MethodError("BAD_FRAME", f"The params of {self.name} are not JSON: {str(error)[:200]}.") from None

    def may_be_called_with(self, scopes: frozenset[Scope]) -> bool:
        return self.or_own or self.scope in scopes or self.or_scope in scopes or "admin" in scopes


Methods = Mapping[str, Method]


def registry(*methods: Method) -> Methods:
    """Raises ValueError for a name that is there twice."""
    found = {method.name: method for method in methods}
    if len(found) != len(methods):
        raise ValueError("a method is registered twice")
    return found


def encoded(result: object) -> bytes:
    return encode(result)


def _invalid(name: str, text: str) -> MethodError:
    match = _WHERE.match(text)
    said, path = (match["said"], match["path"] or "") if match else (text, "")
    path = path.removeprefix(".")
    unknown = _UNKNOWN.search(said)
    if unknown:
        field = ".".join(filter(None, (path, unknown[1][:80])))
        return MethodError(
            "INVALID_PARAMS", f"{name} has no parameter {field}.", details={"path": field, "expected": "a known field"}
        )
    expected = _EXPECTED.search(said)
    missing = re.search(r"missing required field `([^`]*)`", said)
    if missing:
        path = ".".join(filter(None, (path, missing[1])))
    return MethodError(
        "INVALID_PARAMS",
        f"{name}: {path + ': ' if path else ''}{said[:200]}.",
        details={"path": path, "expected": expected[1].strip("`") if expected else "present"},
    )
