"""The pages about threats: every line names what proves it, whatever is named exists, and nothing that is required is missing."""

import re
from pathlib import Path

import pytest

from ostiary.assembly.redteam.attacks import ATTACKS
from tests.security.red_team import BREAKS
from tests.security.requirements import REQUIREMENTS

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "threats").glob("*.md"))
PLACES = {"J:": "tests/journeys/memory/", "S:": "tests/security/", "U:": "tests/unit/", "journeys/": "tests/journeys/"}
# Where a page says that its tests lie.
BELOW = {"engine": "tests/unit/core/", "keys-and-backups": "tests/unit/"}
IDS = {attack.id for attack in ATTACKS}
SPAN = re.compile(r"`([^`]+)`")
REQUIREMENT = re.compile(r"[A-J]\d{1,2}")
ATTACK = re.compile(r"[A-J]\.[a-z][a-z0-9.-]*…?")
TEST = re.compile(r"(…|[\w:./]+)::(test_\w+)|([\w:./]*test_\w+\.py|tests/\w+)")


def rows(page: Path) -> list[list[str]]:
    """The cells of its tables, without heads and rules."""
    lines = [line for line in page.read_text().splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("| asset ")]


def cited(page: Path, row: list[str]) -> list[str]:
    """What a line gives as its proofs: names of attacks and tests, ids of requirements."""
    spans = [span for cell in row[3:] for span in SPAN.findall(cell)]
    return [*spans, *(cell for cell in row[3:] if REQUIREMENT.fullmatch(cell))]


def file_of(page: Path, name: str) -> Path:
    for short, place in PLACES.items():
        if name.startswith(short):
            return ROOT / (place + name.removeprefix(short))
    return ROOT / (name if name.startswith("tests/") else BELOW.get(page.stem, "tests/") + name)


def is_attack(name: str, before: str) -> bool:
    """By its id, by the beginning of several (`B.search-…`), or by another ending of the one before (`-daily`)."""
    if name.startswith("-"):
        return any(f"{before[:place]}{name}" in IDS for place in range(len(before) + 1))
    return name in IDS or (name.endswith("…") and any(each.startswith(name[:-1]) for each in IDS))


def is_test(page: Path, name: str, before: str) -> bool:
    found = TEST.fullmatch(name)
    if found is None:
        return False
    if found[3]:
        return file_of(page, found[3]).exists()
    path = file_of(page, before.partition("::")[0] if found[1] == "…" else found[1])
    return path.is_file() and f"def {found[2]}(" in path.read_text()


def unknown(page: Path, row: list[str]) -> list[str]:
    attack = test = ""
    wrong = []
    for name in cited(page, row):
        if ATTACK.fullmatch(name) or name.startswith("-"):
            wrong += [] if is_attack(name, attack) else [name]
            attack = attack if name.startswith("-") else name
        elif REQUIREMENT.fullmatch(name):
            wrong += [] if name in REQUIREMENTS else [name]
        else:
            wrong += [] if is_test(page, name, test) else [name]
            test = test if name.startswith("…") else name
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_line_names_its_asset_attacker_defence_and_what_proves_it(page: Path) -> None:
    assert rows(page)
    assert [row[:3] for row in rows(page) if not all(row[:3]) or not cited(page, row)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_everything_that_is_named_exists(page: Path) -> None:
    assert [name for row in rows(page) for name in unknown(page, row)] == []


def test_attacks_stand_beside_the_requirement_that_they_try_to_break() -> None:
    page = ROOT / "docs" / "threats" / "house-rules.md"
    breaks = {attack.id: BREAKS[attack.shape, attack.layer] for attack in ATTACKS}
    named = [(row[3], name) for row in rows(page) for name in SPAN.findall(row[4])]
    assert [(wanted, name) for wanted, name in named if breaks[name] != wanted] == []


def test_every_requirement_stands_in_a_line_of_some_page() -> None:
    found = {name for page in PAGES for row in rows(page) for name in cited(page, row)}
    assert set(REQUIREMENTS) - found == set()


def test_every_layer_that_stops_an_attack_is_shown_by_one_in_some_page() -> None:
    named = {name.rstrip("…") for page in PAGES for row in rows(page) for name in cited(page, row) if ATTACK.fullmatch(name)}
    shown = {attack.layer for attack in ATTACKS if any(attack.id.startswith(name) for name in named)}
    assert {attack.layer for attack in ATTACKS} - shown == set()
