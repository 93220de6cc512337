"""A folder and a collection that were changed apart become the same again, and nothing that somebody wrote is lost."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.core.documents.syncing import Clash, File, Step, SyncPlan, sync_plan

DATE = "2026-11-16"
ONE, TWO, THREE = File(digest="1"), File(digest="2"), File(digest="3")
State = Mapping[str, File]

_PATHS = st.sampled_from(["a.md", "b/c.md", "d", "e.sh", "a.conflict-2026-11-16.md"])
_FILES = st.builds(File, digest=st.sampled_from("123"), executable=st.booleans())
_STATES = st.dictionaries(_PATHS, _FILES)


def plan(base: State, folder: State, collection: State) -> SyncPlan:
    return sync_plan(base, folder, collection, date=DATE)


def done(side: State, steps: tuple[Step, ...], clashes: tuple[Clash, ...] = ()) -> dict[str, File]:
    """The side after the plan; each step finds what it expects."""
    state = dict(side)
    for clash in clashes:
        assert clash.copy not in state
        state[clash.copy] = state.pop(clash.path)
    for step in steps:
        assert state.get(step.path) == step.expected
        state.pop(step.path, None)
        state.update({step.path: step.file} if step.file is not None else {})
    return state


@pytest.mark.parametrize(
    ("base", "folder", "collection", "expected"),
    [
        (None, ONE, None, ONE),
        (None, None, ONE, ONE),
        (ONE, TWO, ONE, TWO),
        (ONE, ONE, TWO, TWO),
        (ONE, None, ONE, None),
        (ONE, ONE, None, None),
        (ONE, None, None, None),
        (ONE, TWO, TWO, TWO),
        (ONE, None, TWO, TWO),
        (ONE, TWO, None, TWO),
        (None, ONE, File(digest="1", executable=True), File(digest="1", executable=True)),
        (ONE, File(digest="1", executable=True), ONE, File(digest="1", executable=True)),
    ],
)
def test_a_change_on_one_side_reaches_the_other_and_a_change_counts_more_than_a_deletion(
    base: File | None, folder: File | None, collection: File | None, expected: File | None
) -> None:
    still = {f"{n}.md": THREE for n in range(3)}

    def state(file: File | None) -> dict[str, File]:
        return still | ({"x.md": file} if file is not None else {})

    made = plan(state(base), state(folder), state(collection))
    assert done(state(folder), made.to_folder) == done(state(collection), made.to_collection) == made.base == state(expected)
    assert made.clashes == ()


def test_where_both_changed_the_folders_content_is_kept_under_a_name_of_its_own() -> None:
    made = plan({"a/plan.md": ONE}, {"a/plan.md": TWO}, {"a/plan.md": THREE})
    assert made.clashes == (Clash(path="a/plan.md", copy="a/plan.conflict-2026-11-16.md"),)
    assert done({"a/plan.md": TWO}, made.to_folder, made.clashes) == {"a/plan.md": THREE, "a/plan.conflict-2026-11-16.md": TWO}
    assert done({"a/plan.md": THREE}, made.to_collection) == made.base


@pytest.mark.parametrize(
    ("path", "copy"),
    [
        ("plan", "plan.conflict-2026-11-16"),
        (".env", ".env.conflict-2026-11-16"),
        ("v1.2/plan", "v1.2/plan.conflict-2026-11-16"),
        ("a.tar.gz", "a.tar.conflict-2026-11-16.gz"),
    ],
)
def test_a_copy_keeps_its_folder_and_its_ending(path: str, copy: str) -> None:
    assert plan({}, {path: ONE}, {path: TWO}).clashes == (Clash(path=path, copy=copy),)


def test_a_copy_never_takes_a_name_that_is_in_use() -> None:
    taken = {"a.conflict-2026-11-16.md": ONE}
    made = plan({}, {"a.md": ONE}, {"a.md": TWO, **taken})
    assert made.clashes == (Clash(path="a.md", copy="a.conflict-2026-11-16-2.md"),)


@pytest.mark.parametrize("empty", ["folder", "collection"])
def test_a_side_that_is_suddenly_empty_deletes_nothing(empty: str) -> None:
    sides = {"folder": {"a.md": ONE}, "collection": {"a.md": ONE}, empty: {}}
    made = plan({"a.md": ONE}, sides["folder"], sides["collection"])
    assert f"The {empty} is empty" in made.refusal
    assert (made.to_folder, made.to_collection, made.base) == ((), (), {"a.md": ONE})


def test_the_first_sync_with_an_empty_side_copies_everything() -> None:
    many = {f"{n}.md": ONE for n in range(50)}
    assert done({}, plan({}, {}, many).to_folder) == many
    assert done({}, plan({}, many, {}).to_collection) == many


def test_a_side_that_lost_most_of_its_files_deletes_nothing_unless_it_is_meant() -> None:
    many = {f"{n}.md": ONE for n in range(40)}
    few = {f"{n}.md": ONE for n in range(15)}
    assert "lost 25 of 40" in plan(many, few, many).refusal
    assert done(many, sync_plan(many, few, many, date=DATE, allow_deletions=True).to_collection) == few


def test_a_few_deletions_are_carried_over_even_where_they_are_many_of_few() -> None:
    made = plan({"a": ONE, "b": ONE, "c": ONE}, {"a": ONE}, {"a": ONE, "b": ONE, "c": ONE})
    assert done({"a": ONE, "b": ONE, "c": ONE}, made.to_collection) == {"a": ONE}


@given(_STATES, _STATES, _STATES)
def test_both_sides_are_the_same_afterwards_and_no_new_content_is_lost(base: State, folder: State, collection: State) -> None:
    made = sync_plan(base, folder, collection, date=DATE, allow_deletions=True)
    after = done(folder, made.to_folder, made.clashes)
    assert after == done(collection, made.to_collection) == dict(made.base)
    written = {file.digest for side in (folder, collection) for path, file in side.items() if base.get(path) != file}
    assert written <= {file.digest for file in after.values()}


@given(_STATES, _STATES, _STATES)
def test_a_second_sync_has_nothing_to_do(base: State, folder: State, collection: State) -> None:
    made = sync_plan(base, folder, collection, date=DATE, allow_deletions=True)
    again = sync_plan(made.base, made.base, made.base, date=DATE)
    assert (again.to_folder, again.to_collection, again.clashes, dict(again.base)) == ((), (), (), dict(made.base))
