"""The directory while somebody hostile is changing it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ostiary.adapters.workspace.changes import Changes, Taken, find_changes
from ostiary.adapters.workspace.index import Index
from ostiary.adapters.workspace.tree import Tree, Unfit, Walked, open_tree, remove_tree
from tests.unit.adapters.workspace.support import digest


def walk(tree: Tree) -> Walked:
    return tree.walk(most_files=100, most_bytes=10**6, depth=8, leaves_aside=lambda name: False)


def changes_with(root: Path, deed: Callable[[], object]) -> Changes:
    """What is found when `deed` happens right after the directory was walked."""

    def walked_then(tree: Tree) -> Walked:
        found = walk(tree)
        deed()
        return found

    return find_changes(root, None, {}, Index(), walk=walked_then, forbidden=lambda path: "", most_file=1000, most_taken=10_000)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "files"
    (directory / "sub").mkdir(parents=True)
    (directory / "sub" / "a").write_text("inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a").write_text("secret")
    return directory


def test_a_file_swapped_for_a_link_after_the_walk_is_not_followed(root: Path) -> None:
    def swap() -> None:
        (root / "sub" / "a").unlink()
        (root / "sub" / "a").symlink_to(root.parent / "outside" / "a")

    found = changes_with(root, swap)
    assert (found.contents, found.left) == ({}, ["sub/a: it is no plain file any more"])


def test_a_folder_swapped_for_a_link_after_the_walk_is_not_followed(root: Path) -> None:
    def swap() -> None:
        (root / "sub").rename(root / "gone")
        (root / "sub").symlink_to(root.parent / "outside")

    found = changes_with(root, swap)
    assert (found.contents, found.left) == ({}, ["sub/a: it cannot be read"])


def test_a_file_swapped_for_a_second_name_of_another_is_not_taken(root: Path) -> None:
    def swap() -> None:
        (root / "sub" / "a").unlink()
        os.link(root.parent / "outside" / "a", root / "sub" / "a")

    assert changes_with(root, swap).left == ["sub/a: it has several names (hard links)"]


def test_a_file_swapped_for_a_pipe_does_not_make_anybody_wait(root: Path) -> None:
    def swap() -> None:
        (root / "sub" / "a").unlink()
        os.mkfifo(root / "sub" / "a")

    assert changes_with(root, swap).left == ["sub/a: it is a pipe"]


def test_a_file_that_grew_beyond_the_limit_after_the_walk_is_not_taken(root: Path) -> None:
    assert changes_with(root, lambda: (root / "sub" / "a").write_text("x" * 2000)).left == ["sub/a: it is too big (2,000 bytes)"]


def test_what_is_read_is_what_is_hashed(root: Path) -> None:
    index = Index()
    found = find_changes(root, None, {}, index, walk=walk, forbidden=lambda path: "", most_file=100, most_taken=100)
    taken = Taken(b"inside", digest("inside"), False)
    assert (found.contents, index.files["sub/a"].digest) == ({"sub/a": taken}, digest("inside"))


@pytest.mark.parametrize("path", ["sub/a", "new/b", "link/b", "link"])
def test_writing_stays_inside_whatever_lies_in_the_way(root: Path, path: str) -> None:
    (root / "link").symlink_to(root.parent / "outside")
    with open_tree(root) as tree:
        tree.write(path, b"new", is_executable=False)
        assert tree.read(path, 10)[0] == b"new"
    assert sorted(entry.name for entry in (root.parent / "outside").iterdir()) == ["a"]
    assert (root.parent / "outside" / "a").read_text() == "secret"


def test_removing_stays_inside(root: Path) -> None:
    (root / "link").symlink_to(root.parent / "outside")
    with open_tree(root) as tree:
        tree.remove("link/a")
        tree.remove("link")
        tree.remove("sub/a")
        tree.remove("not/there")
    assert (list(root.iterdir()), (root.parent / "outside" / "a").exists()) == ([], True)


def test_a_root_that_is_a_link_is_not_opened(root: Path) -> None:
    (root.parent / "alias").symlink_to(root)
    with pytest.raises(OSError, match="alias"), open_tree(root.parent / "alias"):
        pass


def test_reading_through_a_link_is_unfit(root: Path) -> None:
    (root / "link").symlink_to("sub/a")
    with open_tree(root) as tree, pytest.raises(Unfit):
        tree.read("link", 100)


def test_a_tree_without_rights_is_removed_all_the_same(root: Path) -> None:
    (root / "sub").chmod(0)
    remove_tree(root)
    remove_tree(root)
    assert not root.exists()
