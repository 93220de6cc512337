import os
from pathlib import Path

import pytest

from ostiary.adapters.backup.sealing import Seal
from ostiary.adapters.credentials import CredentialStore, key_at
from ostiary.adapters.store.sqlite import open_store
from ostiary.adapters.store.sqlite.connection import connect_reader
from ostiary.adapters.store.sqlite.lock import hold_writer_lock
from ostiary.assembly.backup_key import keep_backup_key, new_backup_key, own_backup_key
from ostiary.assembly.config.paths import CREDENTIALS, CREDENTIALS_KEY
from ostiary.assembly.keys import GATEWAY_DB, store_key
from ostiary.assembly.passphrase import ask_passphrase
from ostiary.assembly.rekey import STAGE, rekey
from ostiary.assembly.vault import SEARCH, STORE
from ostiary.contracts.errors import StoreRefused, StoreUnavailable
from ostiary.kit.clock import ManualClock
from tests.unit.assembly.houses import contents, make_house


def quiet(part: str, done: int, total: int) -> None:
    return None


def opens(path: Path, key: bytes) -> bool:
    try:
        connect_reader(path, key).close()
    except Exception:
        return False
    return True


def left_over(home: Path) -> list[str]:
    return [path.name for path in home.rglob("*") if "rekey" in path.name]


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    await make_house(tmp_path / "home")
    return tmp_path / "home"


async def test_everything_has_a_new_key_and_the_old_ones_open_nothing(home: Path) -> None:
    old, old_credentials, before = store_key(home), key_at(home / CREDENTIALS_KEY), contents(home)
    (home / STORE).with_name("store.db.v2.bak").write_bytes((home / STORE).read_bytes())
    done = rekey(home, ask=ask_passphrase, progress=quiet)
    new = store_key(home)
    assert new != old
    assert done.files == ("bots/main/store.db", "bots/main/store.db.v2.bak", "gateway.db", "credentials.db")
    databases = [home / "bots/main/store.db", home / "bots/main/store.db.v2.bak", home / GATEWAY_DB]
    assert [opens(path, old) for path in databases] == [False] * 3
    assert [opens(path, new) for path in databases] == [True] * 3
    assert not opens(home / CREDENTIALS, old_credentials)
    assert contents(home) == before
    assert left_over(home) == []
    assert {path.stat().st_mode & 0o777 for path in databases} == {0o600}


async def test_the_house_is_used_afterwards_as_before(home: Path) -> None:
    rekey(home, ask=ask_passphrase, progress=quiet)
    async with open_store(home / STORE, store_key(home), clock=ManualClock()) as store:
        assert len(await store.documents.list("notes")) == 30
    found = CredentialStore(home / CREDENTIALS, key_at(home / CREDENTIALS_KEY)).reveal("provider")
    assert found is not None
    assert found.reveal() == "sk-0123456789abcdef"


async def test_backups_go_on_with_their_own_key(home: Path) -> None:
    made, _ = new_backup_key()
    keep_backup_key(home, store_key(home), made)
    rekey(home, ask=ask_passphrase, progress=quiet)
    found = own_backup_key(home, store_key(home))
    assert found is not None
    assert Seal(found.key).house == made.seal.house


async def test_a_search_index_gets_the_new_key_too(home: Path) -> None:
    (home / SEARCH).write_bytes((home / GATEWAY_DB).read_bytes())
    rekey(home, ask=ask_passphrase, progress=quiet)
    assert opens(home / SEARCH, store_key(home))


async def test_nothing_changes_while_a_gateway_runs(home: Path) -> None:
    before = store_key(home)
    lock = hold_writer_lock(home / STORE)
    with pytest.raises(StoreRefused, match="in use by another process"):
        rekey(home, ask=ask_passphrase, progress=quiet)
    os.close(lock)
    assert (store_key(home), (home / STAGE).exists()) == (before, False)


async def test_a_failure_before_the_point_of_no_return_takes_everything_back(home: Path) -> None:
    before, told = store_key(home), contents(home)

    def fail(part: str, done: int, total: int) -> None:
        if part == "credentials.db":
            raise StoreUnavailable("the disk is full")

    with pytest.raises(StoreUnavailable):
        rekey(home, ask=ask_passphrase, progress=fail)
    assert (store_key(home), contents(home)) == (before, told)
    assert left_over(home) == []


async def test_a_damaged_store_is_not_carried_over(home: Path) -> None:
    path = home / STORE
    content = bytearray(path.read_bytes())
    content[9000:9100] = bytes(100)
    path.write_bytes(content)
    with pytest.raises((StoreRefused, StoreUnavailable)):
        rekey(home, ask=ask_passphrase, progress=quiet)
    assert opens(path, store_key(home))
