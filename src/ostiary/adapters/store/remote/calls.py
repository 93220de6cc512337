"""The calls that cross: each is a method of a contract, with what it takes and gives read by that method's own types."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from ostiary.adapters.store.remote.shapes import Reader, hints_of, reader_of
from ostiary.contracts.audit import AuditHead, AuditLog
from ostiary.contracts.records import dataclass
from ostiary.contracts.search import Search
from ostiary.contracts.store import Documents, Store

PATH = "/v1/vault/rpc"
FORMAT = 1

_STORE = (
    *("claim", "renew", "release", "pending", "inbox_item", "read", "events_after", "session_of", "verify"),
    *("snapshot", "session", "sessions", "value", "values", "blob", "outbox_item", "sweep"),
)
_DOCUMENTS = ("get", "list", "collections", "changes", "history", "changed_by")
_SEARCH = ("query", "status", "forget")
_AUDIT = ("entries", "head", "verify")
# What the embedded store takes besides.
_FURTHER: Mapping[str, Mapping[str, Any]] = {
    "audit.verify": {"heads": tuple[AuditHead, ...]},
    "store.sweep": {"keep_keys": float, "limit": int},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """`part` says whose method it is: the store's own, its documents', its audit log's, or the search's."""

    part: str
    method: str
    arguments: Mapping[str, Reader]
    result: Reader


def _methods() -> dict[str, Callable[..., Any]]:
    methods = {f"store.{name}": getattr(Store, name) for name in _STORE}
    methods |= {f"documents.{name}": getattr(Documents, name) for name in _DOCUMENTS}
    methods |= {f"search.{name}": getattr(Search, name) for name in _SEARCH}
    return methods | {f"audit.{name}": getattr(AuditLog, name) for name in _AUDIT}


@cache
def call_of(name: str) -> Call | None:
    """None for a name that is no call; nothing but this table can be reached. Compiled at its first use."""
    method = _methods().get(name)
    if method is None:
        return None
    hints = hints_of(method)
    result = reader_of(hints.pop("return"))
    arguments = {argument: reader_of(hint) for argument, hint in hints.items()}
    arguments |= {argument: reader_of(hint) for argument, hint in _FURTHER.get(name, {}).items()}
    part, _, own = name.partition(".")
    return Call(part=part, method=own, arguments=arguments, result=result)
