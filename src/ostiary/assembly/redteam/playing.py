"""Plays attacks and tells what became of them; for a proof, again without the layer that stopped it."""

import logging
from collections.abc import AsyncIterator, Iterable, Sequence

import anyio

from ostiary.assembly.redteam.attack import Attack
from ostiary.assembly.redteam.ground import Ground
from ostiary.assembly.redteam.loosened import without
from ostiary.contracts.errors import OstiaryError
from ostiary.contracts.records import dataclass

log = logging.getLogger("ostiary.redteam")

SECONDS = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What became of an attack. `what` is what the witness saw if it was not stopped, else what the model was told. `proof` is
    empty if none was wanted, "shown", or why it was not."""

    id: str
    shape: str
    name: str
    layer: str
    stopped: bool
    what: str
    change: str
    proof: str = ""
    asked: int = 0


async def played(ground: Ground, attacks: Iterable[Attack], *, prove: bool = False) -> AsyncIterator[Row]:
    for attack in attacks:
        yield await played_one(ground, attack, prove=prove)


async def played_one(ground: Ground, attack: Attack, *, prove: bool = False) -> Row:
    """Raises StoreError if the ground itself is broken."""
    seen, told = await _seen(ground, attack)
    asked = len(ground.asked)
    return Row(
        id=attack.id,
        shape=attack.shape,
        name=attack.name,
        layer=attack.layer,
        stopped=not seen,
        what="; ".join(seen[:3]) if seen else told,
        change=attack.change if seen else "",
        proof=await proof(ground, attack) if prove else "",
        asked=asked,
    )


async def proof(ground: Ground, attack: Attack) -> str:
    """Whether the named layer stops it alone, and whether without it the attack gets through."""
    missing = [tool for tool in attack.needs if tool not in ground.house.host.tools]
    if missing:
        return f"not shown: there is no {', '.join(missing)}"
    if attack.behind:
        seen, _ = await _seen(ground, attack, attack.behind)
        if seen:
            return f"not shown: {attack.layer} alone does not stop it"
    seen, told = await _seen(ground, attack, (attack.layer, *attack.behind))
    return "shown" if seen else f"not shown: it does not get through without {attack.layer} either ({told})"


async def _seen(ground: Ground, attack: Attack, layers: Sequence[str] = ()) -> tuple[tuple[str, ...], str]:
    await ground.begin()
    told = ""
    try:
        with anyio.fail_after(SECONDS), without(ground, layers):
            await attack.play(ground)
    except (OstiaryError, TimeoutError) as error:
        told = str(error) or type(error).__name__
    return await ground.witness.look(), told or _told(ground)


def _told(ground: Ground) -> str:
    """The last refusal that the model read."""
    errors = [outcome.text for outcome in ground.puppet.outcomes if outcome.is_error]
    if errors:
        return " ".join(errors[-1].split())[:200]
    return "nothing got out" if ground.puppet.requests else "nobody heard it"
