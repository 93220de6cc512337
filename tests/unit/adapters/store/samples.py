"""Any value of a contract dataclass, built from its type hints, so that a new field is covered the day it arrives."""

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=4,
)


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    if is_dataclass(hint):
        return instances_of(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return st.one_of([values_of(member) for member in arguments])
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is Mapping:
        return st.dictionaries(TEXTS, values_of(arguments[1]), max_size=2)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    simple = {str: TEXTS, int: st.integers(0, 2**53), bool: st.booleans(), float: NUMBERS, object: PLAIN, type(None): st.none()}
    return simple[hint]


def instances_of(cls: Any) -> st.SearchStrategy[Any]:
    hints = get_type_hints(cls)
    # A class's own tag (`kind`, `role`) always is its default.
    tags = {f.name for f in fields(cls) if f.default is not MISSING and get_args(hints[f.name]) == (f.default,)}
    return st.builds(cls, **{name: values_of(hint) for name, hint in hints.items() if name not in tags})
