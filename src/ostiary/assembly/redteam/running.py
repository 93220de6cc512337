"""The whole red team on one configuration."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ostiary.assembly.redteam.attack import SHAPES, Attack
from ostiary.assembly.redteam.attacks import ATTACKS
from ostiary.assembly.redteam.errand import Errand, Ran, ran
from ostiary.assembly.redteam.errands import ERRANDS
from ostiary.assembly.redteam.ground import open_ground
from ostiary.assembly.redteam.playing import Row, played
from ostiary.assembly.redteam.reporting import Report
from ostiary.contracts.errors import BadInput

BENIGN = "benign"

Told = Callable[[Row | Ran], None]


def chosen(only: Sequence[str]) -> tuple[tuple[Attack, ...], tuple[Errand, ...]]:
    """Shapes by letter, attacks by id, `benign` for the errands; nothing means everything. Raises BadInput."""
    if not only:
        return ATTACKS, ERRANDS
    known = {*SHAPES, BENIGN, *(attack.id for attack in ATTACKS)}
    wanted = {each.upper() if len(each) == 1 else each for each in only}
    unknown = sorted(wanted - known)
    if unknown:
        raise BadInput(f"there is no shape or attack {unknown[0]!r}", hint="ostiary redteam --list shows them.")
    attacks = tuple(attack for attack in ATTACKS if attack.shape in wanted or attack.id in wanted)
    return attacks, ERRANDS if BENIGN in wanted else ()


async def red_team(
    home: Path,
    environ: Mapping[str, str],
    *,
    attacks: Sequence[Attack],
    errands: Sequence[Errand],
    prove: bool = False,
    told: Told = lambda row: None,
) -> Report:
    """Play all of it against a copy of that configuration. Raises ConfigInvalid, StoreError, Busy."""
    rows: list[Row] = []
    ran_all: list[Ran] = []
    async with open_ground(home, environ) as ground:
        async for row in played(ground, attacks, prove=prove):
            rows.append(row)
            told(row)
        async for errand in ran(ground, errands):
            ran_all.append(errand)
            told(errand)
    return Report(rows=tuple(rows), errands=tuple(ran_all))
