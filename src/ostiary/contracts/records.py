"""`dataclass`, compiled on first use.

The standard decorator compiles six methods for every class when it is defined: half a millisecond each, and a process
that starts with some two hundred classes pays a tenth of a second for methods most of which it never calls. This one takes the
same arguments and gives the same frozen, slotted classes, but compiles `__init__`, `__eq__` and `__hash__` when they are
first called. Type checkers see the standard decorator.
"""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, FrozenInstanceError
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, kw_only=False, eq=True, repr=True):
        """As dataclasses.dataclass. Classes that are not both frozen and slotted are made by the standard decorator."""

        def make(made):
            if not (frozen and slots):
                return dataclasses.dataclass(made, frozen=frozen, slots=slots, kw_only=kw_only, eq=eq, repr=repr)
            return _made(made, kw_only=kw_only, eq=eq, repr=repr)

        return make if cls is None else make(cls)


def _made(cls: type, *, kw_only: bool, eq: bool, repr: bool) -> type:
    # Without a text the standard decorator would write one from the signature, which costs more than all the rest.
    cls.__doc__ = cls.__doc__ or cls.__name__
    plain: Any = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
    names = tuple(field.name for field in dataclasses.fields(plain))
    dropped = {*names, "__dict__", "__weakref__"}
    members = {name: value for name, value in vars(plain).items() if name not in dropped}
    members["__slots__"] = names
    shared: dict[str, Any] = {
        "__init__": _first_init,
        "__setattr__": _refuse,
        "__delattr__": _refuse,
        "__getstate__": _state,
        "__setstate__": _restore,
    }
    if repr:
        shared["__repr__"] = _repr
    if eq:
        shared["__eq__"] = _first_eq
        shared["__hash__"] = _first_hash
    members.update({name: method for name, method in shared.items() if name not in vars(cls)})
    made = type(cls)(cls.__name__, cls.__bases__, members)
    made.__qualname__ = cls.__qualname__
    return made


def _first_init(self: Any, *args: Any, **values: Any) -> None:
    cls: Any = type(self)
    _install(cls, "__init__", "self" + "".join(_parameters(cls)), list(_assignments(cls)), _names(cls))
    cls.__init__(self, *args, **values)


def _first_eq(self: Any, other: Any) -> Any:
    cls: Any = type(self)
    compared = [field.name for field in dataclasses.fields(cls) if field.compare]
    body = [
        "if other.__class__ is not self.__class__:",
        "    return NotImplemented",
        f"return ({_each('self', compared)}) == ({_each('other', compared)})",
    ]
    _install(cls, "__eq__", "self, other", body, {})
    return cls.__eq__(self, other)


def _first_hash(self: Any) -> int:
    cls: Any = type(self)
    hashed = [field.name for field in dataclasses.fields(cls) if (field.compare if field.hash is None else field.hash)]
    _install(cls, "__hash__", "self", [f"return hash(({_each('self', hashed)}))"], {})
    number: int = cls.__hash__(self)
    return number


def _each(owner: str, names: list[str]) -> str:
    return "".join(f"{owner}.{name}, " for name in names)


def _parameters(cls: Any) -> Iterator[str]:
    fields = [field for field in dataclasses.fields(cls) if field.init]
    for field in fields:
        if not field.kw_only:
            yield f", {field.name}{_default(field)}"
    if any(field.kw_only for field in fields):
        yield ", *"
    for field in fields:
        if field.kw_only:
            yield f", {field.name}{_default(field)}"


def _default(field: "Field[Any]") -> str:
    if field.default is MISSING and field.default_factory is MISSING:
        return ""
    return f"=_default_{field.name}"


def _assignments(cls: Any) -> Iterator[str]:
    # A slot's own setter is not stopped by our __setattr__, and is the fastest way in.
    for field in dataclasses.fields(cls):
        name = field.name
        if field.default_factory is not MISSING:
            yield f"_set_{name}(self, _make_{name}() if {name} is _default_{name} else {name})"
        else:
            yield f"_set_{name}(self, {name})"
    if hasattr(cls, "__post_init__"):
        yield "self.__post_init__()"
    if not dataclasses.fields(cls):
        yield "pass"


def _names(cls: Any) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for field in dataclasses.fields(cls):
        names[f"_set_{field.name}"] = vars(cls)[field.name].__set__
        if field.default_factory is not MISSING:
            names[f"_make_{field.name}"] = field.default_factory
            names[f"_default_{field.name}"] = MISSING
        elif field.default is not MISSING:
            names[f"_default_{field.name}"] = field.default
    return names


def _install(cls: Any, name: str, parameters: str, body: list[str], names: dict[str, Any]) -> None:
    """Compile a method from the class's own field names and put it where the stand-in was."""
    lines = "\n".join(f"    {line}" for line in body)
    exec(f"def {name}({parameters}):\n{lines}", names)  # noqa: S102 - as the standard decorator does
    method: Callable[..., Any] = names.pop(name)
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    type.__setattr__(cls, name, method)


def _refuse(self: Any, name: str, *_: Any) -> None:
    raise FrozenInstanceError(f"cannot change {name!r} of {type(self).__name__}")


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({shown})"


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
