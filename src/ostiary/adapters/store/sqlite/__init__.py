"""The store on SQLite: encrypted, one file, one writing thread with group commit, readers that never block."""

from ostiary.adapters.store.limits import StoreLimits
from ostiary.adapters.store.sqlite.audit import SqliteAudit
from ostiary.adapters.store.sqlite.key import load_or_create_key
from ostiary.adapters.store.sqlite.opening import open_reader, open_store
from ostiary.adapters.store.sqlite.store import SqliteDocuments, SqliteReader, SqliteStore

__all__ = [
    "SqliteAudit",
    "SqliteDocuments",
    "SqliteReader",
    "SqliteStore",
    "StoreLimits",
    "load_or_create_key",
    "open_reader",
    "open_store",
]
