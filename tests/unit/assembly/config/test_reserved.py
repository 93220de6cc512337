"""Every key of the schema has an effect, or stands in the list of those that have none yet."""

import ast
import dataclasses
import json
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ostiary.assembly
from ostiary.assembly.config.load import understand
from ostiary.assembly.config.parse import keys_of
from ostiary.assembly.config.reserved import RESERVED, part_of
from ostiary.assembly.config.schema import Config
from ostiary.assembly.config.secret import SecretSource

# Whatever reads the configuration does so here, by attribute; the schema's own files only define and check it.
READERS = sorted(Path(ostiary.assembly.__file__).parent.glob("*.py"))
WITHOUT_EFFECT = {
    "$schema": "for editors",
    "version": "read before the schema is",
    "logging.redactSensitive": "it can only be what it is: redaction is not switched off",
}
RESERVED_KEYS = 31
Key = tuple[str, tuple[str, ...]]


def sections(kind: Any, below: str = "") -> Iterator[tuple[type[Any], str]]:
    origin, members = typing.get_origin(kind), typing.get_args(kind)
    if kind == SecretSource or kind in typing.get_args(SecretSource):
        return
    match origin:
        case typing.Union | types.UnionType:
            for each in members:
                yield from sections(each, below)
        case _ if origin is tuple:
            yield from sections(members[0], f"{below}.*")
        case _ if origin is not None and origin is not typing.Literal:
            yield from sections(members[1], f"{below}.*")
        case _ if dataclasses.is_dataclass(kind):
            yield typing.cast(type[Any], kind), below


def keys(path: str, attributes: tuple[str, ...], field: "dataclasses.Field[Any]") -> Iterator[Key]:
    inner = list(sections(field.type))
    if not inner:
        yield path, attributes
    for cls, below in inner:
        for name, each in keys_of(cls).items():
            yield from keys(f"{path}{below}.{name}", (*attributes, each.name), each)


KEYS: tuple[Key, ...] = tuple(key for name, each in keys_of(Config).items() for key in keys(name, (each.name,), each))


@pytest.fixture(scope="module")
def read_names() -> frozenset[str]:
    trees = [ast.parse(path.read_text()) for path in READERS]
    return frozenset(node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute))


@pytest.mark.parametrize(("path", "attributes"), [pytest.param(*key, id=key[0]) for key in KEYS])
def test_a_key_is_read_by_somebody_or_reserved_for_somebody(
    path: str, attributes: tuple[str, ...], read_names: frozenset[str]
) -> None:
    is_read = set(attributes) <= read_names
    assert is_read or part_of(path.split(".")) or path in WITHOUT_EFFECT


@pytest.mark.parametrize("reserved", RESERVED)
def test_what_is_reserved_is_in_the_schema(reserved: str) -> None:
    assert any(f"{path}.".startswith(f"{reserved}.") for path, _ in KEYS)


def test_no_key_joins_the_reserved_ones_unnoticed() -> None:
    assert sum(bool(part_of(path.split("."))) for path, _ in KEYS) == RESERVED_KEYS


def test_who_sets_a_reserved_key_is_told(tmp_path: Path) -> None:
    text = json.dumps({"tools": {"fs": {"workspaceOnly": True}}, "agents": {"list": [{"id": "a", "identity": {"emoji": "x"}}]}})
    warnings = understand(text, {}, source=tmp_path / "ostiary.json5").warnings
    assert sum("no effect yet" in warning for warning in warnings) == 2


def test_who_sets_none_is_told_nothing(tmp_path: Path) -> None:
    assert understand('{"session": {"historyLimit": 12}}', {}, source=tmp_path / "ostiary.json5").warnings == ()
