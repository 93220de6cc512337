import copy
import pickle
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ostiary.adapters.credentials import Credential, CredentialStore, Secret, key_at
from ostiary.contracts.errors import BadInput, StoreRefused


@pytest.fixture
def store(tmp_path: Path) -> CredentialStore:
    return CredentialStore(tmp_path / "credentials.db", key_at(tmp_path / "credentials.key"))


def entry(name: str = "openai", value: str = "sk-abcdefghijklmnopqrstuvwxyz") -> Credential:
    return Credential(name=name, kind="api_key", provider="openai", value=Secret(value), expires=12.5, metadata={"who": "me"})


def test_what_was_stored_comes_back_whole(store: CredentialStore) -> None:
    store.set(entry())
    assert store.get("openai") == entry()
    assert store.reveal("openai") == Secret("sk-abcdefghijklmnopqrstuvwxyz")


def test_a_second_value_replaces_the_first(store: CredentialStore) -> None:
    store.set(entry())
    store.set(entry(value="another-one"))
    assert store.reveal("openai") == Secret("another-one")
    assert len(store.list()) == 1


def test_a_missing_entry_is_none_and_makes_no_file(store: CredentialStore, tmp_path: Path) -> None:
    assert store.get("nobody") is None
    assert store.list() == ()
    assert store.delete("nobody") is False
    assert not (tmp_path / "credentials.db").exists()


def test_a_deleted_entry_is_gone(store: CredentialStore) -> None:
    store.set(entry())
    assert store.delete("openai") is True
    assert store.get("openai") is None


def test_no_way_of_showing_an_entry_shows_its_value(store: CredentialStore) -> None:
    store.set(entry())
    shown = f"{store.get('openai')!r} {store.get('openai')} {store.list()} {store!r} {Secret('hunter2')}"
    assert "abcdefgh" not in shown
    assert "hunter2" not in shown


def test_a_short_secret_is_masked_entirely() -> None:
    assert Secret("hunter2").masked() == "********"


@pytest.mark.parametrize("leak", [pickle.dumps, copy.deepcopy])
def test_a_secret_is_not_copied_or_pickled(leak: object) -> None:
    with pytest.raises(TypeError):
        leak(Secret("hunter2"))  # type: ignore[operator]


def test_the_files_are_private_and_the_value_is_encrypted(store: CredentialStore, tmp_path: Path) -> None:
    store.set(entry())
    for name in ("credentials.db", "credentials.key"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert b"abcdefgh" not in (tmp_path / "credentials.db").read_bytes()
    assert b"openai" not in (tmp_path / "credentials.db").read_bytes()


def test_another_key_opens_nothing_and_changes_nothing(store: CredentialStore, tmp_path: Path) -> None:
    store.set(entry())
    before = (tmp_path / "credentials.db").read_bytes()
    stranger = CredentialStore(tmp_path / "credentials.db", bytes(32))
    with pytest.raises(StoreRefused, match="cannot be opened with this key"):
        stranger.get("openai")
    with pytest.raises(StoreRefused, match="cannot be opened with this key"):
        stranger.set(entry("other"))
    assert (tmp_path / "credentials.db").read_bytes() == before


def test_a_file_of_a_newer_version_is_refused(store: CredentialStore, tmp_path: Path) -> None:
    import apsw

    store.set(entry())
    db = apsw.Connection(str(tmp_path / "credentials.db"))
    db.pragma("key", f"raw:{key_at(tmp_path / 'credentials.key').hex()}")
    db.pragma("user_version", 99)
    db.close()
    with pytest.raises(StoreRefused, match="newer version"):
        store.get("openai")


def test_an_empty_file_made_by_another_process_reads_as_empty(store: CredentialStore, tmp_path: Path) -> None:
    (tmp_path / "credentials.db").touch(mode=0o600)
    assert store.list() == ()
    store.set(entry())
    assert store.get("openai") is not None


def test_two_first_starts_agree_on_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: key_at(tmp_path / "new" / "k.key"), range(8)))
    assert len(keys) == 1
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["k.key"]


def test_a_cut_key_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "k").write_bytes(b"short")
    with pytest.raises(StoreRefused, match="does not hold a key"):
        key_at(tmp_path / "k")


def test_a_lost_key_is_not_replaced_while_its_store_is_there(store: CredentialStore, tmp_path: Path) -> None:
    store.set(entry())
    (tmp_path / "credentials.key").unlink()
    with pytest.raises(StoreRefused, match="is missing"):
        key_at(tmp_path / "credentials.key")
    assert not (tmp_path / "credentials.key").exists()


def test_writers_at_the_same_time_all_succeed(store: CredentialStore) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: store.set(entry(f"n{number}")), range(12)))
    assert [each.name for each in store.list()] == sorted(f"n{number}" for number in range(12))


@pytest.mark.parametrize(
    "bad",
    [
        Credential(name="", kind="api_key", value=Secret("x")),
        Credential(name="a b", kind="api_key", value=Secret("x")),
        Credential(name="x" * 200, kind="api_key", value=Secret("x")),
        Credential(name="a", kind="spell", value=Secret("x")),  # type: ignore[arg-type]
        Credential(name="a", kind="token", value=Secret("  ")),
        Credential(name="a", kind="token", value=Secret("x" * 70_000)),
    ],
)
def test_what_cannot_be_a_credential_is_refused(store: CredentialStore, bad: Credential) -> None:
    with pytest.raises(BadInput):
        store.set(bad)
    assert store.list() == ()
