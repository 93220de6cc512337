"""The protocol's JSON Schema and its page, made from the shapes themselves; `make docs` writes both."""

import inspect
import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec

from ostiary.gateway.methods import all_methods
from ostiary.gateway.methods.reference_text import EXAMPLES, HEAD
from ostiary.gateway.protocol import VERSION, frames
from ostiary.gateway.protocol.connect import Connect, HelloOk
from ostiary.gateway.protocol.errors import CODES
from ostiary.gateway.protocol.events import EVENTS
from ostiary.gateway.protocol.registry import Method

_REF = "#/$defs/{name}"


class Request(msgspec.Struct, forbid_unknown_fields=True):
    """`id` is the caller's; the response carries it."""

    type: Literal["req"]
    id: Annotated[str, msgspec.Meta(min_length=1, max_length=frames.MAX_ID)]
    method: str
    params: dict[str, Any] = {}


def schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of every frame, method and event."""
    methods = all_methods()
    types: list[Any] = [Request, frames.Response, frames.Event, Connect, HelloOk]
    for method in methods.values():
        types += [method.params, method.result, *([method.follow_result] if method.follow_result else [])]
    for payloads, _ in EVENTS.values():
        types += payloads
    shapes, definitions = msgspec.json.schema_components(types, ref_template=_REF)
    shape_of = dict(zip(map(id, types), shapes, strict=True))
    events = {name: _one_of([shape_of[id(each)] for each in payloads]) for name, (payloads, _) in EVENTS.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Ostiary gateway protocol {VERSION}",
        "oneOf": shapes[:3],
        "protocol": VERSION,
        "connect": {"params": shape_of[id(Connect)], "result": shape_of[id(HelloOk)]},
        "methods": {name: _method(method, shape_of) for name, method in methods.items()},
        "events": events,
        "errors": dict(CODES),
        "$defs": dict(sorted(definitions.items())),
    }


def _one_of(shapes: list[Any]) -> Any:
    return shapes[0] if len(shapes) == 1 else {"oneOf": shapes}


def _method(method: Method, shape_of: dict[int, Any]) -> dict[str, Any]:
    entry = {
        "scope": method.scope,
        "description": _told(method),
        "hasEffect": method.has_effect,
        "params": shape_of[id(method.params)],
        "result": shape_of[id(method.result)],
    }
    if method.follow_result is not None:
        entry["secondResult"] = shape_of[id(method.follow_result)]
    return entry


def page() -> str:
    """The page for people."""
    return "\n".join([HEAD.strip(), "", *_methods(), "", *_events(), "", *_errors(), "", EXAMPLES.strip(), ""])


def _methods() -> Iterator[str]:
    yield "## Methods\n"
    yield "A method with an effect (✎) takes an `idempotencyKey`; in brackets it is optional. `?` marks what may be left out.\n"
    yield "| method | scope | parameters | result | |"
    yield "|---|---|---|---|---|"
    for method in all_methods().values():
        scope = f"{method.scope} or {method.or_scope}" if method.or_scope else method.scope
        scope = f"{scope}, or one's own" if method.or_own else scope
        result = _fields(method.result, is_params=False)
        if method.follow_result is not None:
            result += f", then {_fields(method.follow_result, is_params=False)}"
        mark = " ✎" if method.has_effect else ""
        yield f"| `{method.name}`{mark} | {scope} | {_fields(method.params)} | {result} | {_told(method)} |"


def _events() -> Iterator[str]:
    yield "## Events\n"
    yield "| event | payload | sent to |"
    yield "|---|---|---|"
    for name, (payloads, whom) in EVENTS.items():
        for number, payload in enumerate(payloads):
            state = next((f for f in msgspec.structs.fields(payload) if f.name == "state"), None)
            label = f"`{name}`" + (f" {_state_of(state)}" if state is not None and len(payloads) > 1 else "")
            yield f"| {label} | {_fields(payload, is_params=False)} | {whom if number == 0 else 'the same'} |"


def _state_of(field: Any) -> str:
    return f'`state: "{field.type.__args__[0]}"`'


def _errors() -> Iterator[str]:
    yield "## Errors\n"
    yield "| code | meaning |"
    yield "|---|---|"
    for code, meaning in CODES.items():
        yield f"| `{code}` | {meaning} |"


def _fields(shape: Any, *, is_params: bool = True) -> str:
    fields = msgspec.structs.fields(shape)
    names = []
    for field in fields:
        if field.encode_name == "idempotencyKey":
            names += [] if field.required else ["[idempotencyKey]"]
            continue
        names.append(f"{field.encode_name}{'' if field.required or not is_params else '?'}")
    return f"`{{{', '.join(names)}}}`" if names else "–"


def _told(method: Method) -> str:
    return " ".join((inspect.getdoc(method.handler) or "").split())


def schema_text() -> str:
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
