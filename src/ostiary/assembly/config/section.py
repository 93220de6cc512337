"""What a section of the configuration is: a frozen, slotted, keyword-only dataclass that is cheap to define.

The standard decorator compiles six methods for every class, about a millisecond each; a schema of fifty sections would
cost every start 60 ms. Here all sections share the same methods, and `dataclasses.fields` and `replace` work as usual.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import MISSING, FrozenInstanceError
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


def key(
    default: Any = MISSING,
    help: str = "",
    *,
    factory: Any = MISSING,
    name: str = "",
    label: str = "",
    advanced: bool = False,
    placeholder: str = "",
    minimum: float | None = None,
    maximum: float | None = None,
    pattern: str = "",
    keys: str = "",
) -> Any:
    """One key of a section. `name` replaces the camelCase of the attribute; `keys` is a pattern for a map's own keys."""
    metadata = {
        "help": help,
        "name": name,
        "label": label,
        "advanced": advanced,
        "placeholder": placeholder,
        "minimum": minimum,
        "maximum": maximum,
        "pattern": pattern,
        "keys": keys,
    }
    if factory is not MISSING:
        return dataclasses.field(default_factory=factory, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def _init(self: Any, **values: Any) -> None:
    put = object.__setattr__
    for each in dataclasses.fields(self):
        if each.name in values:
            put(self, each.name, values.pop(each.name))
        elif each.default is not MISSING:
            put(self, each.name, each.default)
        elif each.default_factory is not MISSING:
            put(self, each.name, each.default_factory())
        else:
            raise TypeError(f"{type(self).__name__} needs {each.name}")
    if values:
        raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(values))}")


def _refuse(self: Any, name: str, *_: Any) -> None:
    raise FrozenInstanceError(f"cannot change {name!r} of {type(self).__name__}")


def _equal(self: Any, other: Any) -> bool:
    if type(self) is not type(other):
        return False
    return all(getattr(self, each.name) == getattr(other, each.name) for each in dataclasses.fields(self) if each.compare)


def _repr(self: Any) -> str:
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{type(self).__name__}({shown})"


_SHARED: Mapping[str, Callable[..., Any]] = {
    "__init__": _init,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__eq__": _equal,
    "__repr__": _repr,
}


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(key, dataclasses.field))
def section(cls: type[T]) -> type[T]:
    """Make `cls` a section. Every instance is immutable; two with equal values are equal."""
    for name, method in _SHARED.items():
        setattr(cls, name, method)
    cls.__hash__ = None  # type: ignore[assignment]  # sections hold maps
    bare = dataclasses.dataclass(init=False, repr=False, eq=False, match_args=False, kw_only=True, slots=True)
    return bare(cls)


def file_key(field: dataclasses.Field[Any]) -> str:
    """How the key is written in the file: `dm_scope` is `dmScope`."""
    given = field.metadata.get("name", "")
    if given:
        return str(given)
    head, *rest = field.name.split("_")
    return head + "".join(word.capitalize() for word in rest)
