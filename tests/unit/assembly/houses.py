"""A small house with something in each of its databases, and what a reader can learn of one."""

import hashlib
import random
from pathlib import Path

from ostiary.adapters.credentials import Credential, CredentialStore, Secret, key_at
from ostiary.adapters.gateway_db import open_gateway_db
from ostiary.adapters.store.sqlite import open_store
from ostiary.adapters.store.sqlite.connection import connect_reader
from ostiary.assembly.audit import Auditor
from ostiary.assembly.config.paths import CREDENTIALS, CREDENTIALS_KEY
from ostiary.assembly.credential_key import credentials_key
from ostiary.assembly.keys import GATEWAY_DB, store_key
from ostiary.assembly.vault import STORE
from ostiary.contracts.store import Audit, Put, SetValue
from ostiary.kit.clock import ManualClock

NOTES = "notes"


def note(path: str, content: bytes) -> Put:
    return Put(collection=NOTES, path=path, content=content, at=1.0, author="owner")


async def make_house(home: Path, *, documents: int = 30) -> bytes:
    """Gives the vault's key."""
    _prepare(home)
    key = store_key(home)
    async with open_store(home / STORE, key, clock=ManualClock()) as store:
        await store.commit([note(f"{n}.md", random.Random(n).randbytes(3000)) for n in range(documents)])
        await store.commit([SetValue(space="test", key="a", value=b"1")])
        await store.commit([Audit(at=1.8e9, kind="login", actor="me", subject="here", outcome="ok", detail={})])
        await Auditor(store, ManualClock(), home)._begin()
    async with open_gateway_db(home / GATEWAY_DB, key):
        pass
    credentials = CredentialStore(home / CREDENTIALS, key_at(home / CREDENTIALS_KEY))
    credentials.set(Credential(name="provider", kind="api_key", value=Secret("sk-0123456789abcdef")))
    return key


def _prepare(home: Path) -> None:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "ostiary.json5").write_text("{\n  // mine\n  gateway: { port: 18790 },\n}\n")


async def write(home: Path, path: str, content: bytes) -> None:
    async with open_store(home / STORE, store_key(home), clock=ManualClock()) as store:
        await store.commit([note(path, content)])


def contents(home: Path) -> dict[str, str]:
    """A digest of every table of every database."""
    key = store_key(home)
    found: dict[str, str] = {}
    for path, its_key in (
        (home / STORE, key),
        (home / GATEWAY_DB, key),
        (home / CREDENTIALS, credentials_key(home, key)),
    ):
        connection = connect_reader(path, its_key)
        try:
            for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall():
                rows = sorted(repr(row) for row in connection.execute(f'SELECT * FROM "{table}"'))
                found[f"{path.name}.{table}"] = hashlib.sha256("\n".join(rows).encode()).hexdigest()
        finally:
            connection.close()
    return found
