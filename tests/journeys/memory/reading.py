"""What the databases of a house hold, decrypted, down to the last value: to see what is really gone."""

import zlib
from collections.abc import Iterator
from pathlib import Path

from ostiary.adapters.store.sqlite.connection import connect_reader, fetch
from ostiary.adapters.store.sqlite.key import load_or_create_key


def holders(home: Path, word: str) -> list[str]:
    """The tables in which the word stands, in any case, packed or not."""
    key = load_or_create_key(home / "keys" / "store.key")
    wanted = word.casefold().encode()
    found: list[str] = []
    for file in (*home.glob("bots/*/*.db"), *home.glob("gateway.db")):
        found.extend(f"{file.name}:{table}" for table, value in _values(file, key) if wanted in value.lower())
    return sorted(set(found))


def _values(path: Path, key: bytes) -> Iterator[tuple[str, bytes]]:
    connection = connect_reader(path, key)
    try:
        for (table,) in fetch(connection, "SELECT name FROM sqlite_master WHERE type = 'table'"):
            # Names come from the database itself.
            for row in fetch(connection, f'SELECT * FROM "{table}"'):
                for value in row:
                    yield table, _bytes(value)
    finally:
        connection.close()


def _bytes(value: object) -> bytes:
    content = value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
    try:
        return content + zlib.decompress(content)
    except zlib.error:
        return content
