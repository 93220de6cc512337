import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.adapters.store.paths import fold, folders_of, literal_prefix, matches, range_end
from ostiary.contracts.errors import BadInput


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("**", "a", True),
        ("**", "a/b/c", True),
        ("a/**", "a", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/b", "a/x/y/c", False),
        ("**/**", "a/b", True),
        ("*/b", "a/b", True),
        ("*", "a/b", False),
        ("a?c", "a/c", False),
        ("[!a]", "b", True),
        ("[!a]", "a", False),
        ("a**b", "axxb", True),
        ("a**b", "a/b", False),
        ("a.b", "axb", False),
    ],
)
def test_stars_stay_within_a_folder_and_double_stars_cross_them(pattern: str, path: str, expected: bool) -> None:
    assert matches(pattern, path) is expected


def test_a_hostile_pattern_takes_no_time() -> None:
    assert not matches("*a" * 400 + "b", "a" * 1000)
    assert not matches("**/" * 300 + "b", "a/" * 400 + "a")


@pytest.mark.parametrize("pattern", ["", "a" * 1025])
def test_a_pattern_of_no_or_too_many_characters_is_refused(pattern: str) -> None:
    with pytest.raises(BadInput):
        matches(pattern, "a")


@pytest.mark.parametrize(("pattern", "prefix"), [("**", ""), ("a/b*", "a/b"), ("a/b", "a/b"), ("x[ab]", "x"), ("a?", "a")])
def test_the_part_before_the_first_wildcard_is_literal(pattern: str, prefix: str) -> None:
    assert literal_prefix(pattern) == prefix


_UNICODE = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)


@given(_UNICODE, _UNICODE)
def test_everything_that_begins_with_a_prefix_sorts_before_the_end_of_its_range(prefix: str, rest: str) -> None:
    end = range_end(prefix)
    assert end is None or (prefix + rest).encode() < end.encode()


@given(_UNICODE.filter(bool), _UNICODE)
def test_what_does_not_begin_with_a_prefix_is_outside_its_range(prefix: str, other: str) -> None:
    end = range_end(prefix)
    inside = prefix.encode() <= other.encode() and (end is None or other.encode() < end.encode())
    assert inside is other.startswith(prefix) or end is None


@pytest.mark.parametrize(
    ("one", "other"),
    [("README.md", "readme.md"), ("Straße", "STRASSE"), ("\ufb01x", "FIX"), ("K", "\u212a"), ("\u00c5", "\u212b"), ("İx", "i̇x")],
)
def test_names_that_differ_by_case_or_form_alone_fold_to_the_same(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@given(st.text(max_size=8))
def test_folding_twice_says_no_more_than_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


def test_the_folders_of_a_path_come_outermost_first() -> None:
    assert folders_of("a/b/c.md") == ["a", "a/b"]
    assert folders_of("c.md") == []
