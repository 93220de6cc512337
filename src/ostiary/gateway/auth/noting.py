"""What the gate tells the audit log: who came in, who was turned away, what became of devices."""

from collections.abc import Mapping
from typing import Protocol

from ostiary.gateway.auth.callers import Caller, Holder


class Noted(Protocol):
    """`ostiary.assembly.audit` writes it down; it does not wait."""

    def __call__(
        self, kind: str, actor: str, subject: str, outcome: str, detail: Mapping[str, object] | None = None, /
    ) -> None: ...


def unnoted(kind: str, actor: str, subject: str, outcome: str, detail: Mapping[str, object] | None = None, /) -> None:
    """Where there is no log."""


def name_of(by: Holder) -> str:
    """Callers have an id; whoever holds the books themselves is the owner at the machine."""
    return by.id if isinstance(by, Caller) else f"device:{by.device}" if by.device else "owner"
