from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ostiary.adapters.credentials import Credential, CredentialStore, Secret
from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.assembly.audit_watch import Watch
from ostiary.assembly.config.load import Loaded, understand
from ostiary.kit.clock import ManualClock

KEY = bytes(range(32))


class Live:
    def __init__(self, loaded: Loaded) -> None:
        self.current = loaded


class Newest:
    """As much of the newest generation as is compared."""

    def __init__(self, text: str) -> None:
        self.live = Live(self.read(text, 1))

    def read(self, text: str, generation: int) -> Loaded:
        return understand(text, {}, source=Path("ostiary.json5"), generation=generation)

    def take(self, text: str) -> None:
        self.live = Live(self.read(text, self.live.current.generation + 1))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with open_store(tmp_path / "store.db", KEY, clock=ManualClock()) as opened:
        yield opened


@pytest.fixture
def credentials(tmp_path: Path) -> CredentialStore:
    return CredentialStore(tmp_path / "credentials.db", KEY)


def watch(store: SqliteStore, newest: Newest, credentials: CredentialStore) -> Watch:
    return Watch(store=store, newest=newest, credentials=credentials, clock=ManualClock())  # type: ignore[arg-type]


async def rows(store: SqliteStore) -> list[tuple[str, str, str, Any]]:
    return [(each.kind, each.subject, each.outcome, each.detail) for each in await store.audit().entries()]


def key(name: str, value: str = "a-secret-value") -> Credential:
    return Credential(name=name, kind="token", value=Secret(value))


async def test_the_first_look_has_nothing_to_compare_with(store: SqliteStore, credentials: CredentialStore) -> None:
    credentials.set(key("gateway.token"))
    await watch(store, Newest("{}"), credentials).look()
    assert await rows(store) == []


async def test_a_changed_setting_is_noted_by_its_name(store: SqliteStore, credentials: CredentialStore) -> None:
    newest = Newest("{}")
    watched = watch(store, newest, credentials)
    await watched.look()
    newest.take("{gateway: {port: 5}, tools: {confirm: 'always'}}")
    await watched.look()
    await watched.look()
    ((kind, subject, outcome, detail),) = await rows(store)
    assert (kind, subject, outcome) == ("config.changed", "ostiary.json5", "applied")
    assert detail == {"keys": ["gateway.port", "tools.confirm"], "generation": 2}


async def test_what_was_changed_while_nothing_ran_is_noted_at_the_next_start(
    store: SqliteStore, credentials: CredentialStore
) -> None:
    await watch(store, Newest("{}"), credentials).look()
    await watch(store, Newest("{gateway: {port: 5}}"), credentials).look()
    assert [row[0] for row in await rows(store)] == ["config.changed"]


async def test_what_changed_is_remembered_as_seen_only_together_with_its_entry(
    store: SqliteStore, credentials: CredentialStore
) -> None:
    await watch(store, Newest("{}"), credentials).look()
    commit, units = store.commit, list[list[str]]()

    async def seen(writes: Any, **how: Any) -> tuple[int, ...]:
        units.append([type(write).__name__ for write in writes])
        return await commit(writes, **how)

    store.commit = seen  # type: ignore[method-assign, assignment]
    await watch(store, Newest("{gateway: {port: 5}}"), credentials).look()
    assert units == [["Audit", "SetValue"]]


async def test_credentials_are_noted_by_name_and_never_by_value(store: SqliteStore, credentials: CredentialStore) -> None:
    credentials.set(key("one"))
    credentials.set(key("two"))
    watched = watch(store, Newest("{}"), credentials)
    await watched.look()
    credentials.set(key("one", "another-secret-value"))
    credentials.delete("two")
    credentials.set(key("three"))
    await watched.look()
    assert [row[:3] for row in await rows(store)] == [
        ("credential.changed", "one", "replaced"),
        ("credential.changed", "three", "added"),
        ("credential.changed", "two", "removed"),
    ]
    assert "secret-value" not in str([*await rows(store), dict(await store.values("audit"))])
