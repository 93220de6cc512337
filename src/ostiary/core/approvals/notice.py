"""The question as it is put to people on a channel, and what their answers are called there."""

from collections.abc import Callable
from dataclasses import replace

from ostiary.contracts.messages import Address
from ostiary.contracts.store import Enqueue, OutboxItem
from ostiary.core.approvals.desk import PendingApproval
from ostiary.core.approvals.wording import bound_lines, described, visible
from ostiary.core.sessions.pen import Pen

_FENCE = "```"


def question(pending: PendingApproval, now: float) -> str:
    """All of it, so that nobody says yes to a part."""
    asked = pending.asked
    minutes = max(1, round((asked.deadline - now) / 60))
    body = described(asked.name, pending.arguments)
    fence = _FENCE
    while fence in body:
        fence += "`"
    bound = "".join(f"\n{line}" for line in bound_lines(asked.bound))
    return (
        f"May I do this? {visible(asked.reason)}.\n{fence}\n{body}{bound}\n{fence}\n"
        f"/confirm {asked.approval} or /deny {asked.approval}, within {minutes} min."
    )


def choices(pending: PendingApproval) -> tuple[str, ...]:
    return (f"/confirm {pending.id}", f"/deny {pending.id}")


class Teller:
    """Puts questions where the turn's answer would go, in the unit that makes them durable."""

    def __init__(
        self,
        *,
        pushes: Callable[[Address], bool],
        rows: Callable[[str, str, str, Address, str], list[OutboxItem]],
        send: Callable[[list[OutboxItem]], None],
    ) -> None:
        self._pushes = pushes
        self._rows = rows
        self._send = send

    def tell(self, pen: Pen, address: Address, pending: PendingApproval, now: float) -> None:
        if not self._pushes(address):
            return
        rows = self._rows(pen.session.name, pending.turn, f"ask:{pending.turn}:{pending.id}", address, question(pending, now))
        if rows:
            last = rows[-1]
            rows[-1] = replace(last, message=replace(last.message, choices=choices(pending)))
        pen.also(*(Enqueue(item=row) for row in rows))
        pen.then(lambda: self._send(rows))
