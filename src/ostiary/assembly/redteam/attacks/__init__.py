"""Every attack there is, by shape. An id never changes its meaning."""

from ostiary.assembly.redteam.attack import Attack
from ostiary.assembly.redteam.attacks import (
    box,
    clients,
    commands,
    crafted,
    grants,
    laundered,
    leaving,
    network,
    people,
    poisoned,
    recalled,
    remembered,
    supplied,
)

ATTACKS: tuple[Attack, ...] = tuple(
    sorted(
        (
            *clients.ATTACKS,
            *people.ATTACKS,
            *commands.ATTACKS,
            *grants.ATTACKS,
            *box.ATTACKS,
            *network.ATTACKS,
            *leaving.ATTACKS,
            *laundered.ATTACKS,
            *crafted.ATTACKS,
            *poisoned.ATTACKS,
            *remembered.ATTACKS,
            *recalled.ATTACKS,
            *supplied.ATTACKS,
        ),
        key=lambda attack: (attack.shape, attack.id),
    )
)
