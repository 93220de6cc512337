"""The pages about threats name requirements and attacks that exist, and leave none of the red team's out."""

import re
from pathlib import Path

from ostiary.assembly.redteam.attacks import ATTACKS
from tests.security.red_team import BREAKS
from tests.security.requirements import REQUIREMENTS

PAGE = Path(__file__).parents[2] / "docs" / "threats" / "house-rules.md"
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.read_text().splitlines() if line.startswith("| ")]


def test_every_threat_names_asset_attacker_defence_and_a_requirement_that_exists() -> None:
    wrong = [row for row in ROWS[1:] if len(row) != 5 or not all(row[:4]) or row[3] not in REQUIREMENTS]
    assert wrong == []


def test_the_attacks_it_names_exist_and_try_that_requirement() -> None:
    known = {attack.id: BREAKS[attack.shape, attack.layer] for attack in ATTACKS}
    named = [(attack, row[3]) for row in ROWS[1:] for attack in re.findall(r"`([^`]+)`", row[4])]
    assert named
    assert [each for each in named if known.get(each[0]) != each[1]] == []


def test_every_requirement_that_the_red_team_tries_is_on_a_page() -> None:
    tried = {attack.id: BREAKS[attack.shape, attack.layer] for attack in ATTACKS}
    named = {name for page in PAGE.parent.glob("*.md") for name in re.findall(r"`([A-J]\.[a-z0-9.-]+)`", page.read_text())}
    assert set(BREAKS.values()) <= {row[3] for row in ROWS[1:]} | {tried[name] for name in named if name in tried}
