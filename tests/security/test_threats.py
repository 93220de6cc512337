"""The pages about threats name tests and attacks that exist."""

import re
from pathlib import Path

import pytest

from ostiary.assembly.redteam.attacks import ATTACKS

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "threats").glob("*.md"))
FOLDERS = {"J:": "tests/journeys/memory/", "S:": "tests/security/", "U:": "tests/unit/"}
ATTACK = re.compile(r"`([A-J]\.[a-z][a-z0-9.-]*)`")
TEST = re.compile(r"`((?:[JSU]:|tests/)[a-z_/]+\.py)(?:::(test_\w+))?`")


def _attacks(page: Path) -> set[str]:
    return set(ATTACK.findall(page.read_text()))


def _tests(page: Path) -> set[tuple[str, str]]:
    return set(TEST.findall(page.read_text()))


def _exists(file: str, name: str) -> bool:
    place = FOLDERS.get(file[:2], "")
    path = ROOT / (place + file[2:] if place else file)
    return path.is_file() and (not name or f"def {name}(" in path.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_attack_that_is_named_exists(page: Path) -> None:
    assert _attacks(page) - {attack.id for attack in ATTACKS} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_test_that_is_named_exists(page: Path) -> None:
    assert [each for each in _tests(page) if not _exists(*each)] == []


def test_the_page_about_memory_names_many_of_both() -> None:
    page = ROOT / "docs" / "threats" / "memory-and-vault.md"
    assert len(_attacks(page)) > 20
    assert len(_tests(page)) > 15
