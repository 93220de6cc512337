"""Errors across the wire: the class by its name, what it says, and what to do."""

from typing import Any

from ostiary.contracts.errors import (
    AlreadyAccepted,
    BadInput,
    Busy,
    Conflict,
    EmbedderUnavailable,
    NotAllowed,
    OstiaryError,
    QuotaExceeded,
    StaleLease,
    StoreError,
    StoreRefused,
    StoreUnavailable,
    UnknownSession,
)

_CLASSES: dict[str, type[OstiaryError]] = {
    each.__name__: each
    for each in (
        BadInput,
        Busy,
        Conflict,
        EmbedderUnavailable,
        NotAllowed,
        QuotaExceeded,
        StaleLease,
        StoreError,
        StoreRefused,
        StoreUnavailable,
        UnknownSession,
    )
}


def fault_of(error: OstiaryError) -> dict[str, object]:
    """The nearest class that the other side knows."""
    if isinstance(error, AlreadyAccepted):
        return {"error": "AlreadyAccepted", "text": str(error), "hint": error.hint, "item": error.item}
    name = next((cls.__name__ for cls in type(error).__mro__ if cls.__name__ in _CLASSES), "StoreError")
    return {"error": name, "text": str(error), "hint": error.hint}


def error_of(fault: Any) -> OstiaryError:
    """A class that is not known here is a StoreError: whatever it was, it was not done."""
    text, hint = str(fault.get("text", "")), str(fault.get("hint", ""))
    if fault.get("error") == "AlreadyAccepted":
        return AlreadyAccepted(text, item=int(fault["item"]))
    return _CLASSES.get(str(fault.get("error")), StoreError)(text, hint=hint)
