"""Classes compiled on first use behave as those of the standard decorator."""

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from ostiary.contracts.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Lazy:
    name: str
    size: int = 3
    tags: list[str] = dataclasses.field(default_factory=list)
    note: str = dataclasses.field(default="", compare=False, repr=False)

    @property
    def shout(self) -> str:
        return self.name.upper()


@dataclass(frozen=True, slots=True)
class Pair:
    left: int
    right: int = 2

    def __post_init__(self) -> None:
        if self.left < 0:
            raise ValueError("negative")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Alone:
    value: int


def test_values_defaults_and_factories_are_set() -> None:
    one, other = Lazy(name="a"), Lazy(name="b", size=4, tags=["x"])
    assert (one.name, one.size, one.tags, one.shout) == ("a", 3, [], "A")
    assert (other.size, other.tags) == (4, ["x"])
    assert one.tags is not Lazy(name="a").tags


def test_fields_cannot_be_changed_added_or_removed() -> None:
    one = Lazy(name="a")
    for change in (lambda: setattr(one, "name", "b"), lambda: setattr(one, "other", 1), lambda: delattr(one, "name")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()
    assert not hasattr(one, "__dict__")


def test_equality_and_hash_follow_the_compared_fields() -> None:
    assert Lazy(name="a", note="x") == Lazy(name="a", note="y")
    assert Lazy(name="a") != Lazy(name="b")
    assert Lazy(name="a") != "a"
    assert hash(Pair(1)) == hash(Pair(1, 2))
    assert {Pair(1): "found"}[Pair(1, 2)] == "found"


def test_without_eq_every_instance_is_its_own() -> None:
    assert Alone(value=1) != Alone(value=1)
    assert len({Alone(value=1), Alone(value=1)}) == 2


def test_wrong_arguments_are_refused_as_usual() -> None:
    wrong: list[Any] = [lambda: Lazy(), lambda: Lazy(name="a", extra=1), lambda: Lazy("a")]  # type: ignore[call-arg,misc]
    for make in wrong:
        with pytest.raises(TypeError):
            make()


def test_post_init_runs_every_time() -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="negative"):
            Pair(-1)


def test_replace_fields_repr_match_copy_and_pickle_work() -> None:
    one = Lazy(name="a", tags=["x"])
    assert dataclasses.replace(one, size=9) == Lazy(name="a", size=9, tags=["x"])
    assert [field.name for field in dataclasses.fields(one)] == ["name", "size", "tags", "note"]
    assert repr(one) == "Lazy(name='a', size=3, tags=['x'])"
    assert copy.deepcopy(one) == one
    assert copy.deepcopy(one).tags is not one.tags
    assert pickle.loads(pickle.dumps(one)) == one
    match Pair(1, 5):
        case Pair(left, right):
            assert (left, right) == (1, 5)


def test_other_classes_are_left_to_the_standard_decorator() -> None:
    @dataclass(slots=True)
    class Mutable:
        value: int = 0

    made = Mutable()
    made.value = 5
    assert made == Mutable(5)
