import re
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ostiary.adapters.tools.automaton import BadPattern, compile_glob, compile_regex

ATOMS = st.sampled_from(
    [
        "a",
        "b",
        "A",
        "é",
        "_",
        " ",
        "0",
        ".",
        r"\d",
        r"\w",
        r"\s",
        r"\W",
        "[ab]",
        "[^a]",
        "[a-c0]",
        r"\.",
        "-",
    ]
)
ANCHORS = st.sampled_from([r"\b", r"\B", "^", "$"])
REPEATS = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,3}", "{0,1}", "{2,}", "*?", "+?"])


def patterns() -> st.SearchStrategy[str]:
    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        grouped = st.tuples(st.sampled_from(["({})", "(?:{})"]), inner, REPEATS).map(lambda got: got[0].format(got[1]) + got[2])
        return st.lists(inner, max_size=3).map("".join) | grouped | st.tuples(inner, inner).map("|".join)

    return st.recursive(st.tuples(ATOMS, REPEATS).map("".join) | ANCHORS, grow, max_leaves=8)


# Not empty: older versions of the standard engine find no \B in an empty text.
TEXTS = st.text(alphabet="abcAB_é 0.-", min_size=1, max_size=12)


@given(patterns(), TEXTS, st.booleans())
@example(r"(a*)*b", "aaaa", False)
@example(r"a|", "b", False)
def test_it_finds_what_the_standard_engine_finds(pattern: str, text: str, ignore_case: bool) -> None:
    flags = re.IGNORECASE if ignore_case else 0
    ours = compile_regex(pattern, ignore_case=ignore_case)
    assert ours.search(text) == (re.search(pattern, text, flags) is not None)
    assert ours.fullmatch(text) == (re.fullmatch(pattern, text, flags) is not None)


@pytest.mark.parametrize(
    "pattern", [r"(a+)+$", r"(a|aa)+$", r"(a*)*b", r"(.*)*x", r"(\w+\s?)*!", ".*.*.*.*.*.*=x", r"(a?){40}a{40}b", "([a-z]+)*X"]
)
def test_a_catastrophic_pattern_costs_no_more_than_the_length_of_the_text(pattern: str) -> None:
    ours = compile_regex(pattern)
    assert ours.search("a" * 20_000 + "!?") == (pattern == r"(\w+\s?)*!")


def test_a_pattern_that_needs_ever_new_states_is_stopped() -> None:
    hard = compile_regex("(a|b)*a(a|b){90}(a|b){90}c")
    text = "".join(Random(1).choices("ab", k=50_000))
    with pytest.raises(BadPattern, match="too long"):
        hard.search(text)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(", "without its )"),
        (")", "without its ("),
        ("[a", "ends too early"),
        ("a\\", "ends too early"),
        ("*a", "nothing to repeat"),
        ("a**", "repetition"),
        ("a{2}{3}", "repetition"),
        ("a{3,2}", "at most n"),
        ("a{1000}", "more than 100"),
        ("((a{99}){99}){99}", "too large"),
        (r"(a)\1", "back references"),
        ("(?=a)", "look-around"),
        ("(?P<n>a)", "named groups"),
        (r"\p{L}", "not supported"),
        ("[z-a]", "not valid"),
        ("a" * 501, "501 characters"),
        ("(" * 60 + ")" * 60, "nested too deep"),
    ],
)
def test_a_pattern_it_cannot_serve_is_refused_with_the_reason(pattern: str, said: str) -> None:
    with pytest.raises(BadPattern) as caught:
        compile_regex(pattern)
    assert said in str(caught.value)


def test_a_flag_in_front_makes_letters_equal() -> None:
    assert compile_regex("(?i)straSSe").search("STRAsse")


@given(st.text(max_size=40), st.text(max_size=20))
def test_any_pattern_gives_an_answer_or_the_one_error(pattern: str, text: str) -> None:
    try:
        found = compile_regex(pattern).search(text)
    except BadPattern:
        found = False
    assert found in (True, False)


@pytest.mark.parametrize(
    ("glob", "path", "fits"),
    [
        ("*.md", "a.md", True),
        ("*.md", "notes/a.md", False),
        ("**/*.md", "a.md", True),
        ("**/*.md", "notes/deep/a.md", True),
        ("notes/**", "notes/deep/a.md", True),
        ("notes/?.md", "notes/a.md", True),
        ("notes/?.md", "notes/ab.md", False),
        ("[ab].md", "b.md", True),
        ("[!ab].md", "b.md", False),
        ("a+(b).md", "a+(b).md", True),
        ("[", "[", True),
        ("**", "x/y/z", True),
    ],
)
def test_globs_know_folders(glob: str, path: str, fits: bool) -> None:
    assert compile_glob(glob).fullmatch(path) is fits


def test_a_glob_of_many_stars_is_harmless() -> None:
    assert not compile_glob("*a" * 60 + "b").fullmatch("a" * 4000)
