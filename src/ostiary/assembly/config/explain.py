"""Where each value comes from: the file, the posture, or the schema. Secrets are masked, references shown as written."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from ostiary.assembly.config.load import Loaded
from ostiary.assembly.config.parse import keys_of
from ostiary.assembly.config.problems import Path, dotted
from ostiary.assembly.config.secret import (
    CREDENTIAL,
    MASK,
    CredentialReference,
    LiteralSecret,
    Reference,
    is_sensitive,
    variables,
)
from ostiary.assembly.postures import preset
from ostiary.contracts.records import dataclass

Origin = Literal["file", "posture", "default"]

_ABSENT: Any = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """One key. `origin` is file, posture or default."""

    path: str
    value: object
    origin: Origin


def explain(loaded: Loaded) -> tuple[Explained, ...]:
    """Every key in the order of the schema."""
    posture = preset(loaded.config.posture)
    return tuple(
        Explained(path=dotted(path), value=value, origin=_origin(path, loaded.written, posture))
        for path, value in leaves(shown(loaded))
    )


def shown(loaded: Loaded) -> dict[str, Any]:
    """The effective configuration as a tree with the file's key names, fit to be seen by people and programs."""
    tree: dict[str, Any] = _mask(_as_written(plain(loaded.config), loaded.written), "")
    return tree


def leaves(tree: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    """Every value that is not an object with keys."""
    if isinstance(tree, Mapping) and tree:
        for name, value in tree.items():
            yield from leaves(value, (*path, name))
    elif path:
        yield path, tree


def plain(value: Any) -> Any:
    """Sections as objects with the file's key names; secrets as their reference or masked."""
    if isinstance(value, (Reference, CredentialReference, LiteralSecret)):
        return _source_text(value)
    if dataclasses.is_dataclass(value):
        tree = {name: plain(getattr(value, each.name)) for name, each in keys_of(type(value)).items()}
        own = getattr(value, "open_keys", "")
        return {**tree, **plain(getattr(value, own))} if own else tree
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def _source_text(source: Reference | CredentialReference | LiteralSecret) -> str:
    match source:
        case Reference(text):
            return text
        case CredentialReference(name):
            return f"{CREDENTIAL}{name}"
        case LiteralSecret():
            return MASK


def _as_written(tree: Any, written: Any) -> Any:
    """Texts with references as the file has them: what they resolve to is nobody's business."""
    if isinstance(tree, Mapping) and isinstance(written, Mapping):
        return {name: _as_written(value, written.get(name, _ABSENT)) for name, value in tree.items()}
    if isinstance(tree, list) and isinstance(written, list) and len(tree) == len(written):
        return [_as_written(value, other) for value, other in zip(tree, written, strict=True)]
    return written if isinstance(written, str) and variables(written) else tree


def _mask(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return {each: _mask(inner, each) for each, inner in value.items()}
    if isinstance(value, list):
        return [_mask(each, name) for each in value]
    if isinstance(value, str) and value and is_sensitive(name) and not variables(value) and not value.startswith(CREDENTIAL):
        return MASK
    return value


def _origin(path: Path, written: Mapping[str, object], posture: Mapping[str, Any]) -> Origin:
    if covers(written, path):
        return "file"
    return "posture" if covers(posture, path) else "default"


def covers(tree: Any, path: Path) -> bool:
    """Does the tree say something about this path?"""
    for step in path:
        if not isinstance(tree, Mapping):
            return True  # a shorthand stands for the keys below it
        if step not in tree:
            return False
        tree = tree[step]
    return True
