"""Patterns that are compiled when they are first used behave as those that were compiled at once."""

import re

import pytest

from ostiary.contracts.patterns import late


def test_a_late_pattern_finds_what_the_same_one_compiled_at_once_finds() -> None:
    source, text = r"(?P<name>[a-z]+)-(\d+)", "a-1 B-22 c"
    soon, then = re.compile(source, re.IGNORECASE), late(source, re.IGNORECASE)
    assert [found.groups() for found in then.finditer(text)] == [found.groups() for found in soon.finditer(text)]
    assert (then.sub("x", text), then.split(text), then.findall(text)) == (
        soon.sub("x", text),
        soon.split(text),
        soon.findall(text),
    )
    assert (then.fullmatch("a-1") is not None, then.match("-1"), then.search("-")) == (True, None, None)
    assert (then.pattern, then.groupindex) == (soon.pattern, soon.groupindex)


def test_a_late_pattern_is_compiled_with_its_first_use_and_not_before() -> None:
    broken = late("(")
    with pytest.raises(re.error):
        broken.search("x")
