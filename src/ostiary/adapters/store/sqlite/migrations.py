"""The schema, as numbered steps. `PRAGMA user_version` says how many were taken; a file from the future is refused.

A step is never edited once released: a change is a new step at the end.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import apsw

from ostiary.adapters.store.paths import fold
from ostiary.adapters.store.sqlite.key import sync_folder
from ostiary.contracts.errors import StoreRefused

_FIRST = """
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    updated_at REAL NOT NULL,
    ephemeral INTEGER NOT NULL DEFAULT 0,
    record BLOB
) STRICT;
CREATE INDEX sessions_recent ON sessions (updated_at) WHERE record IS NOT NULL AND ephemeral = 0;

CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (id),
    seq INTEGER NOT NULL,
    turn TEXT NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    at REAL NOT NULL,
    erased INTEGER NOT NULL DEFAULT 0,
    digest BLOB NOT NULL,
    chain BLOB NOT NULL,
    UNIQUE (session, seq)
) STRICT;
CREATE INDEX events_turn ON events (turn);

CREATE TABLE payloads (
    event INTEGER PRIMARY KEY REFERENCES events (id),
    salt BLOB NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE snapshots (
    session INTEGER PRIMARY KEY REFERENCES sessions (id),
    seq INTEGER NOT NULL,
    schema TEXT NOT NULL,
    state BLOB NOT NULL
) STRICT;

CREATE TABLE inbox (
    id INTEGER PRIMARY KEY,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat TEXT NOT NULL,
    thread TEXT NOT NULL,
    message TEXT NOT NULL,
    state TEXT NOT NULL,
    turn TEXT NOT NULL,
    accepted_at REAL NOT NULL,
    ready_at REAL NOT NULL,
    kept BLOB NOT NULL,
    spoken BLOB,
    UNIQUE (channel, account, chat, thread, message)
) STRICT;
CREATE INDEX inbox_open ON inbox (id) WHERE spoken IS NOT NULL;

CREATE TABLE turns (
    turn TEXT PRIMARY KEY,
    place INTEGER NOT NULL,
    session TEXT NOT NULL,
    lane TEXT NOT NULL,
    state TEXT NOT NULL,
    deadline REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
    place INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    turn TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    next_at REAL NOT NULL,
    error TEXT NOT NULL,
    receipt TEXT NOT NULL,
    message BLOB NOT NULL
) STRICT;
CREATE INDEX outbox_open ON outbox (place) WHERE state IN ('pending', 'sending');

CREATE TABLE leases (
    lane TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    token INTEGER NOT NULL,
    until REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE vals (
    space TEXT NOT NULL,
    key TEXT NOT NULL,
    value BLOB NOT NULL,
    expires_at REAL NOT NULL,
    PRIMARY KEY (space, key)
) STRICT;
CREATE INDEX vals_expiring ON vals (expires_at) WHERE expires_at > 0;

CREATE TABLE blobs (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    content BLOB NOT NULL
) STRICT;

CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    collection TEXT NOT NULL,
    path TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    size INTEGER NOT NULL,
    at REAL NOT NULL,
    author TEXT NOT NULL,
    turn TEXT NOT NULL,
    label BLOB,
    UNIQUE (collection, path, version)
) STRICT;
"""

_AUDIT = """
CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    actor TEXT NOT NULL,
    subject TEXT NOT NULL,
    outcome TEXT NOT NULL,
    detail BLOB NOT NULL,
    chain BLOB NOT NULL
) STRICT;
CREATE INDEX documents_turn ON documents (turn) WHERE turn <> '';
"""

# `documents` has one row per path, so that the newest versions are found without walking the older ones; `head` is the id of
# the newest version and `folded` the path as a careless disk sees it, where that differs. The ids of `versions` are their
# places in the order of commits. `held` says who needs a blob: `uses` counts the kept versions, `pinned` is set where it was
# put for its own sake. A large blob has no content of its own but pieces, which blobs share; `staged` ones wait for their blob.
_VAULT = """
ALTER TABLE documents RENAME TO old_documents;
DROP INDEX documents_turn;
CREATE INDEX old_digests ON old_documents (digest);

CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    collection TEXT NOT NULL,
    path TEXT NOT NULL,
    folded TEXT,
    newest INTEGER NOT NULL,
    head INTEGER NOT NULL,
    size INTEGER NOT NULL,
    living INTEGER NOT NULL,
    UNIQUE (collection, path)
) STRICT;
CREATE INDEX documents_folded ON documents (collection, folded) WHERE folded IS NOT NULL;

CREATE TABLE versions (
    id INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES documents (id),
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    size INTEGER NOT NULL,
    at REAL NOT NULL,
    author TEXT NOT NULL,
    turn TEXT NOT NULL,
    label BLOB,
    executable INTEGER NOT NULL DEFAULT 0,
    erased INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO documents (collection, path, folded, newest, head, size, living)
    SELECT collection, path, nullif(fold(path), path), max(version), id, size, digest <> ''
    FROM old_documents GROUP BY collection, path;
INSERT INTO versions (id, document, version, digest, size, at, author, turn, label)
    SELECT o.id, d.id, o.version, o.digest, o.size, o.at, o.author, o.turn, o.label
    FROM old_documents o JOIN documents d ON d.collection = o.collection AND d.path = o.path ORDER BY o.id;
CREATE UNIQUE INDEX versions_order ON versions (document, version, at);
CREATE INDEX versions_turn ON versions (turn) WHERE turn <> '';

CREATE TABLE held (
    blob INTEGER PRIMARY KEY REFERENCES blobs (id),
    size INTEGER NOT NULL,
    uses INTEGER NOT NULL,
    pinned INTEGER NOT NULL,
    is_split INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO held (blob, size, uses, pinned)
    SELECT id, length(content), (SELECT count(*) FROM old_documents o WHERE o.digest = b.digest),
        NOT EXISTS (SELECT 1 FROM old_documents o WHERE o.digest = b.digest)
    FROM blobs b;

CREATE TABLE pieces (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    content BLOB NOT NULL
) STRICT;
CREATE TABLE blob_pieces (
    blob INTEGER NOT NULL REFERENCES blobs (id),
    place INTEGER NOT NULL,
    piece INTEGER NOT NULL REFERENCES pieces (id),
    PRIMARY KEY (blob, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_pieces_piece ON blob_pieces (piece);
CREATE TABLE staged (
    piece INTEGER PRIMARY KEY REFERENCES pieces (id),
    at REAL NOT NULL
) STRICT;

CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counters (name, value) SELECT 'stored', coalesce(sum(size), 0) FROM held;
INSERT INTO counters (name, value) SELECT 'events', coalesce(max(id), 0) FROM events;
DROP TABLE old_documents;
"""

# Which turn an audit entry tells about; whoever asks must write it the same way, or the index is not used. Of damaged detail
# there is none: reading the log says what is wrong with it.
AUDIT_TURN = "CASE WHEN json_valid(CAST(detail AS TEXT)) THEN json_extract(CAST(detail AS TEXT), '$.turn') END"

_TURNS = f"CREATE INDEX audit_turn ON audit ({AUDIT_TURN}) WHERE {AUDIT_TURN} IS NOT NULL;"

MIGRATIONS: Sequence[str] = (_FIRST, _AUDIT, _VAULT, _TURNS)


def version_of(connection: apsw.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").get)


def check_version(path: Path, found: int, known: int) -> None:
    if found > known:
        raise StoreRefused(
            f"{path} was written by a newer release (format {found}, this one knows {known})",
            hint="Run the newer release, or restore the backup made before the update.",
        )


def check_current(connection: apsw.Connection, path: Path) -> None:
    """Raises StoreRefused for a file that this release must migrate first or does not know yet."""
    found = version_of(connection)
    check_version(path, found, len(MIGRATIONS))
    if found < len(MIGRATIONS):
        raise StoreRefused(f"{path} was written by an older release", hint="Start the gateway once; it brings it up to date.")


def migrate(connection: apsw.Connection, path: Path, migrations: Sequence[str] = MIGRATIONS) -> Path | None:
    """Bring the file to the newest version in one transaction; gives the backup that was made of an older one.

    Raises StoreRefused for a newer file, apsw.Error if a step fails; the file is then as it was.
    """
    found = version_of(connection)
    check_version(path, found, len(migrations))
    if found == len(migrations):
        return None
    is_empty = connection.execute("SELECT count(*) FROM sqlite_master").get == 0
    backup = None if is_empty else _back_up(connection, path, found)
    connection.create_scalar_function("fold", lambda *paths: fold(str(paths[0])), 1, deterministic=True)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        for step in migrations[found:]:
            connection.execute(step).fetchall()
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return backup


def _back_up(connection: apsw.Connection, path: Path, version: int) -> Path:
    """A compact copy under the same key. An earlier copy of the same version is replaced only by a finished one."""
    backup = path.with_name(f"{path.name}.v{version}.bak")
    part = path.with_name(f"{path.name}.v{version}.part")
    part.unlink(missing_ok=True)
    handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        connection.execute("VACUUM INTO ?", (str(part),)).fetchall()
        os.fsync(handle)
    finally:
        os.close(handle)
    part.replace(backup)
    sync_folder(path.parent)
    return backup
