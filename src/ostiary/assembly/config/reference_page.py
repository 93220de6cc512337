"""Writes docs/reference/configuration.md from the schema: `python -m ostiary.assembly.config.reference_page > page`."""

import dataclasses
import json
import sys
import types
import typing
from collections.abc import Iterator
from dataclasses import MISSING
from typing import Any, Literal

from ostiary.assembly.config.explain import leaves, plain
from ostiary.assembly.config.parse import keys_of
from ostiary.assembly.config.problems import dotted
from ostiary.assembly.config.reserved import part_of
from ostiary.assembly.config.schema import Config
from ostiary.assembly.config.secret import LiteralSecret, SecretSource
from ostiary.assembly.postures import DEFAULT, POSTURES

_HEAD = """# Configuration reference

Every key of `ostiary.json5`, its default and what it does. This page is generated from the schema
(`python -m ostiary.assembly.config.reference_page`); a test keeps it current. How to work with the file is told in the
[guide](../guides/configuration.md).

A value in the file beats the posture's, and the posture's beats the default shown here. `<name>` is a name you choose,
`[]` an entry of a list. A *secret* is `${NAME}` (an environment variable), `credential:<name>` (an entry of the credential
store) or, with a warning, the secret itself.
"""


def page() -> str:
    """The whole page."""
    parts = [_HEAD, *_postures()]
    for name, each in keys_of(Config).items():
        rows = list(_rows(name, each))
        parts.append(
            f"\n## {name}\n\n{_about(each)}| key | allowed | default | what it does |\n|---|---|---|---|\n" + "".join(rows)
        )
    return "".join(parts)


def _about(field: "dataclasses.Field[Any]") -> str:
    text = field.metadata.get("help") or (field.type.__doc__ if isinstance(field.type, type) else "")
    return f"{text}\n\n" if text else ""


def _postures() -> Iterator[str]:
    yield "\n## Postures\n\n| key | " + " | ".join(f"`{name}`" for name in POSTURES) + " |\n|---|" + "---|" * len(POSTURES) + "\n"
    values = {name: {dotted(path): value for path, value in leaves(tree)} for name, tree in POSTURES.items()}
    for path in sorted({path for each in values.values() for path in each}):
        cells = (f"`{json.dumps(each[path])}`" if path in each else "" for each in values.values())
        yield f"| `{path}` | " + " | ".join(cells) + " |\n"
    yield f"\nAn empty cell is the default of the key. `{DEFAULT}` holds when the file names none.\n"


def _rows(path: str, field: "dataclasses.Field[Any]") -> Iterator[str]:
    inner = list(_inside(field.type))
    if not inner:
        part = part_of(path.replace("[]", ".*").replace("<name>", "*").split("."))
        later = f" *No effect yet: it comes with {part}.*" if part else ""
        yield f"| `{path}` | {_allowed(field.type, field.metadata)} | {_default(field)} | {_help(field)}{later} |\n"
    for cls, below in inner:
        if hasattr(cls, "shorthand"):
            yield f"| `{path}{below}` | text or object | | A text alone is `{cls.shorthand}`. {_help(field)} |\n"
        for name, each in keys_of(cls).items():
            yield from _rows(f"{path}{below}.{name}", each)


def _inside(kind: Any) -> Iterator[tuple[type[Any], str]]:
    origin, members = typing.get_origin(kind), typing.get_args(kind)
    if kind == SecretSource or kind in typing.get_args(SecretSource):
        return
    if origin is typing.Union or origin is types.UnionType:
        for each in members:
            yield from _inside(each)
    elif origin is tuple:
        yield from ((cls, f"[]{below}") for cls, below in _inside(members[0]))
    elif origin is not None and origin is not Literal:
        yield from ((cls, f".<name>{below}") for cls, below in _inside(members[1]))
    elif dataclasses.is_dataclass(kind):
        yield typing.cast(type[Any], kind), ""


def _allowed(kind: Any, limits: Any) -> str:
    origin, members = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union or origin is types.UnionType:
        if LiteralSecret in members:
            return "secret"
        return _allowed(next(each for each in members if each is not types.NoneType), limits)
    if origin is Literal:
        return ", ".join(f"`{each}`" for each in members)
    if origin is tuple:
        return f"list of {_allowed(members[0], limits)}"
    if origin is not None:
        return "object" if members[1] is object else f"name → {_allowed(members[1], limits)}"
    if kind is int or kind is float:
        low, high = limits.get("minimum"), limits.get("maximum")
        word = "number" if kind is float else "whole number"
        return word if low is None else f"{word} {low}…{high}" if high is not None else f"{word} from {low}"
    return {str: "text", bool: "`true`, `false`"}.get(kind, "object")


def _default(field: "dataclasses.Field[Any]") -> str:
    if field.default is MISSING and field.default_factory is MISSING:
        return "*needed*"
    value = field.default if field.default_factory is MISSING else field.default_factory()
    return "" if value is None else f"`{json.dumps(plain(value), ensure_ascii=False)}`"


def _help(field: "dataclasses.Field[Any]") -> str:
    return str(field.metadata.get("help", "")).replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(page())
