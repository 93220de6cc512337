"""A finding of the security audit."""

from typing import Literal

from ostiary.contracts.records import dataclass

Severity = Literal["critical", "warning", "info"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`id` is stable, for programs. `fix` is what to type or read, empty where nothing closes it."""

    id: str
    severity: Severity
    sentence: str
    fix: str = ""
