"""The same fact is not kept twice, and its opposite is not taken for it."""

import pytest

from ostiary.core.memory.entries import entries
from ostiary.core.memory.merging import merge


@pytest.mark.parametrize(
    ("known", "text", "kind"),
    [
        ("- Ana is my sister.", "ana is MY sister", "known"),
        ("- **Family:** Ana is my sister", "Family Ana is my sister", "known"),
        ("- Ana is my sister, born in 1990", "Ana is my sister", "known"),
        ("- Ana is my sister", "Ana is my sister, born in 1990", "replaces"),
        ("- I like tea", "It is not true that I like tea", "replaces"),
        ("- It is not true that I like tea", "I like tea", "new"),
        ("- I like tea no longer", "I like tea", "new"),
        ("- Ich mag Tee nicht mehr so", "Ich mag Tee", "new"),
        ("- I like tea", "I like coffee", "new"),
        ("- Tea", "Tea at five with Ben", "new"),
        ("# Ana is my sister", "Ana is my sister", "new"),
        ("Ana is my sister, somebody wrote", "Ana is my sister, somebody wrote and more", "new"),
        ("- x", "!!!", "new"),
    ],
)
def test_a_fact_is_known_fuller_or_new(known: str, text: str, kind: str) -> None:
    assert merge(entries(known), text).kind == kind


def test_the_same_question_has_the_same_answer() -> None:
    known = entries("- Ana is my sister\n- Ana is my sister, and lives in Rome\n")
    assert merge(known, "Ana is my sister").entry == known[0]
    fuller = merge(known, "Ana is my sister, and lives in Rome with Ben")
    assert (fuller.kind, fuller.entry) == ("replaces", known[1])
