"""Which attacks of `ostiary redteam` stand for which requirement, and how a test plays them: with proof that each is real."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from ostiary.assembly.redteam.attack import Attack
from ostiary.assembly.redteam.attacks import ATTACKS
from ostiary.assembly.redteam.ground import open_ground
from ostiary.assembly.redteam.playing import Row, played

# Shape and layer of an attack, and what it tries to break.
BREAKS: Mapping[tuple[str, str], str] = {
    ("A", "place"): "A1",
    ("B", "gate"): "B1",
    ("B", "memory places"): "B8",
    ("B", "memory reach"): "B8",
    ("B", "shelf"): "B9",
    ("B", "visibility"): "B8",
    ("C", "access"): "C1",
    ("C", "commands"): "C2",
    ("C", "control"): "C4",
    ("C", "role"): "C2",
    ("C", "taint"): "C3",
    ("D", "hooks"): "D3",
    ("D", "taint"): "C3",
    ("E", "binding"): "E2",
    ("E", "confirm"): "E1",
    ("E", "grants"): "E3",
    ("E", "switch"): "E4",
    ("F", "fence"): "F1",
    ("F", "processes"): "F3",
    ("F", "workspace"): "F2",
    ("G", "egress"): "G1",
    ("G", "leaks"): "G3",
    ("G", "taint"): "G2",
    ("H", "capture"): "H11",
    ("H", "diary"): "H10",
    ("H", "guard"): "H9",
    ("H", "memory labels"): "H11",
    ("H", "memory secrets"): "H12",
    ("H", "note ids"): "H10",
    ("H", "owner files"): "H9",
    ("H", "quarantine"): "H10",
    ("H", "quoting"): "H11",
    ("H", "redaction"): "H8",
    ("H", "calls"): "H8",
    ("H", "spotlight"): "H15",
    ("H", "taint"): "H11",
    ("H", "titles"): "H15",
    ("H", "vouching"): "H10",
    ("I", "confirm"): "I1",
    ("I", "sandbox"): "I2",
}


def attacks_on(requirement: str) -> tuple[Attack, ...]:
    return tuple(attack for attack in ATTACKS if BREAKS[attack.shape, attack.layer] == requirement)


async def rows_of(attacks: tuple[Attack, ...], home: Path | None = None) -> list[Row]:
    """All of them against the defaults, or the configuration in `home`, each with its proof."""
    nowhere = Path(tempfile.gettempdir()) / "ostiary-redteam-no-home"
    async with open_ground(home or nowhere, {"PATH": "/usr/local/bin:/usr/bin:/bin"}) as ground:
        return [row async for row in played(ground, attacks, prove=True)]


async def failures(requirement: str, home: Path | None = None) -> list[str]:
    """What got through, and what was not shown to be an attack at all."""
    rows = await rows_of(attacks_on(requirement), home)
    assert rows
    return [f"{row.id}: {row.what} ({row.proof})" for row in rows if not row.stopped or row.proof != "shown"]
