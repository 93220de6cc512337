import io
from collections.abc import Iterator
from pathlib import Path

import keyring as package
import pytest

from ostiary.adapters.keys import wrapping
from ostiary.adapters.keys.wrapping import Cost
from ostiary.assembly import keys
from ostiary.assembly.config.load import load
from ostiary.assembly.config.paths import CREDENTIALS_KEY
from ostiary.assembly.credential_key import SEALED, credentials_key, open_credentials
from ostiary.assembly.keys import IN_KEYRING, WRAPPED, Source, move_key, sources, store_key
from ostiary.assembly.rekey import rekey
from ostiary.assembly.vault import STORE, STORE_KEY
from ostiary.contracts.errors import BadInput, StoreRefused
from tests.unit.adapters.keys.test_keyring import InMemory
from tests.unit.assembly.houses import contents, make_house

PHRASE = "four random words"


class Asked:
    """Answers in turn, the last one for ever; notes what it was asked for."""

    def __init__(self, *answers: str, is_person: bool = False) -> None:
        self.answers = list(answers)
        self.questions: list[tuple[str, bool]] = []
        self._is_person = is_person

    def __call__(self, why: str, is_new: bool) -> str:
        self.questions.append((why, is_new))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def is_answered_by_a_person(self) -> bool:
        return self._is_person


@pytest.fixture(autouse=True)
def cheap_and_private(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemory]:
    """Tries cost little, and the keyring is not this machine's."""
    monkeypatch.setattr(wrapping, "Cost", lambda n=16, r=8, p=1: Cost(n=n, r=r, p=p))
    kept = package.get_keyring()
    ring = InMemory()
    package.set_keyring(ring)
    yield ring
    package.set_keyring(kept)


def configure(home: Path, source: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "ostiary.json5").write_text(f"{{ vault: {{ key: {{ source: '{source}' }} }} }}")


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    await make_house(tmp_path / "home")
    return tmp_path / "home"


def on_disk(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


def new_process(home: Path) -> None:
    """What one process knows the next does not."""
    keys.forget_known(home)


@pytest.mark.parametrize(("source", "place"), [("file", STORE_KEY), ("passphrase", WRAPPED), ("keyring", IN_KEYRING)])
def test_the_first_start_makes_a_key_where_the_configuration_says(tmp_path: Path, source: str, place: Path) -> None:
    configure(tmp_path / "h", source)
    key = store_key(tmp_path / "h", ask=Asked(PHRASE))
    new_process(tmp_path / "h")
    assert store_key(tmp_path / "h", ask=Asked(PHRASE)) == key
    assert sorted((tmp_path / "h" / "keys").iterdir()) == [tmp_path / "h" / place]
    assert (tmp_path / "h" / place).stat().st_mode & 0o777 == 0o600
    assert source == "file" or key not in (tmp_path / "h" / place).read_bytes()


@pytest.mark.parametrize("source", ["file", "passphrase", "keyring"])
async def test_no_key_is_made_over_a_store_that_needs_another(home: Path, source: str) -> None:
    configure(home, source)
    (home / STORE_KEY).unlink()
    with pytest.raises(StoreRefused, match="is missing"):
        store_key(home, ask=Asked(PHRASE))
    assert sources(home) == ()


def test_a_wrong_passphrase_is_refused_at_once_where_nobody_can_type_another(tmp_path: Path) -> None:
    configure(tmp_path, "passphrase")
    store_key(tmp_path, ask=Asked(PHRASE))
    new_process(tmp_path)
    wrong = Asked("another one")
    with pytest.raises(StoreRefused, match="does not open the vault"):
        store_key(tmp_path, ask=wrong)
    assert len(wrong.questions) == 1


def test_a_person_has_three_tries(tmp_path: Path) -> None:
    configure(tmp_path, "passphrase")
    key = store_key(tmp_path, ask=Asked(PHRASE))
    new_process(tmp_path)
    assert store_key(tmp_path, ask=Asked("wrong one", "wrong two", PHRASE, is_person=True)) == key
    new_process(tmp_path)
    wrong = Asked("wrong", is_person=True)
    with pytest.raises(StoreRefused, match="does not open"):
        store_key(tmp_path, ask=wrong)
    assert len(wrong.questions) == 3


def test_one_process_asks_for_the_passphrase_once(tmp_path: Path) -> None:
    configure(tmp_path, "passphrase")
    store_key(tmp_path, ask=Asked(PHRASE))
    new_process(tmp_path)
    asked = Asked(PHRASE)
    assert store_key(tmp_path, ask=asked) == store_key(tmp_path, ask=asked)
    assert len(asked.questions) == 1


def test_a_damaged_wrapped_key_is_said_to_be_damaged(tmp_path: Path) -> None:
    configure(tmp_path, "passphrase")
    store_key(tmp_path, ask=Asked(PHRASE))
    new_process(tmp_path)
    (tmp_path / WRAPPED).write_bytes(b"{")
    with pytest.raises(StoreRefused, match="damaged"):
        store_key(tmp_path, ask=Asked(PHRASE))


def test_a_keyring_without_the_entry_is_told(tmp_path: Path, cheap_and_private: InMemory) -> None:
    configure(tmp_path, "keyring")
    store_key(tmp_path)
    new_process(tmp_path)
    cheap_and_private.entries.clear()
    with pytest.raises(StoreRefused, match="has no entry"):
        store_key(tmp_path)


WAYS: tuple[tuple[Source, Source], ...] = (
    ("file", "passphrase"),
    ("file", "keyring"),
    ("passphrase", "file"),
    ("passphrase", "keyring"),
    ("keyring", "passphrase"),
    ("keyring", "file"),
)


@pytest.mark.parametrize(("before", "after"), WAYS)
async def test_a_key_moves_and_leaves_nothing_behind(
    tmp_path: Path, before: Source, after: Source, cheap_and_private: InMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    await make_house(home)
    ask = Asked(PHRASE)
    move_key(home, before, {}, ask=ask)
    key = store_key(home, ask=ask)
    assert move_key(home, after, {}, ask=ask) == (before,)
    new_process(home)
    assert store_key(home, ask=ask) == key
    assert sources(home) == (after,)
    assert load(home, {}).config.vault.key_.source == after
    assert len(cheap_and_private.entries) == (1 if after == "keyring" else 0)
    monkeypatch.setenv("OSTIARY_PASSPHRASE", PHRASE)
    assert contents(home)


async def test_a_passphrase_is_changed_by_moving_there_again(home: Path) -> None:
    key = store_key(home)
    move_key(home, "passphrase", {}, ask=Asked(PHRASE))
    move_key(home, "passphrase", {}, ask=Asked("another passphrase"))
    new_process(home)
    with pytest.raises(StoreRefused):
        store_key(home, ask=Asked(PHRASE))
    assert store_key(home, ask=Asked("another passphrase")) == key


async def test_a_move_that_fails_leaves_the_key_where_it_was(home: Path) -> None:
    key = store_key(home)
    with pytest.raises(BadInput):
        move_key(home, "passphrase", {}, ask=Asked("short"))
    assert (store_key(home), sources(home)) == (key, ("file",))


async def test_a_key_that_does_not_open_the_vault_removes_no_other(home: Path) -> None:
    (home / STORE).write_bytes(b"x" * 8192)
    with pytest.raises(StoreRefused):
        move_key(home, "passphrase", {}, ask=Asked(PHRASE))
    assert "file" in sources(home)
    assert load(home, {}).config.vault.key_.source == "file"


async def test_with_two_places_after_a_move_cut_short_the_configured_one_is_used(home: Path) -> None:
    keys.put_key(home, "passphrase", store_key(home), ask=Asked(PHRASE))
    asked = Asked(PHRASE)
    store_key(home, ask=asked)
    assert asked.questions == []
    configure(home, "passphrase")
    store_key(home, ask=asked)
    assert len(asked.questions) == 1


async def test_a_key_that_lies_elsewhere_than_configured_still_opens_and_a_warning_says_so(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    configure(home, "passphrase")
    store_key(home, load(home, {}).config)
    assert "ostiary vault key move --to passphrase" in caplog.text


async def test_where_the_vaults_key_is_no_file_the_credentials_key_is_none_either(home: Path) -> None:
    before, plain = contents(home), (home / CREDENTIALS_KEY).read_bytes()
    move_key(home, "passphrase", {}, ask=Asked(PHRASE))
    assert not (home / CREDENTIALS_KEY).exists()
    assert plain not in on_disk(home)
    assert contents(home) == before
    assert open_credentials(home).list()[0].name == "provider"


async def test_a_credentials_key_from_before_is_sealed_when_the_house_is_next_opened(home: Path) -> None:
    plain = (home / CREDENTIALS_KEY).read_bytes()
    move_key(home, "keyring", {})
    (home / SEALED).unlink()
    (home / CREDENTIALS_KEY).write_bytes(plain)
    assert credentials_key(home) == plain
    assert (home / SEALED).exists()
    assert not (home / CREDENTIALS_KEY).exists()
    assert credentials_key(home) == plain


async def test_a_sealed_credentials_key_stays_readable_wherever_the_vaults_key_goes(home: Path) -> None:
    before = contents(home)
    places: tuple[Source, ...] = ("passphrase", "keyring", "file", "passphrase")
    for place in places:
        move_key(home, place, {}, ask=Asked(PHRASE))
        new_process(home)
        assert credentials_key(home, store_key(home, ask=Asked(PHRASE))) is not None
    assert contents(home) == before


async def test_a_change_of_keys_seals_the_new_credentials_key_too(home: Path) -> None:
    move_key(home, "keyring", {})
    old, before = credentials_key(home), contents(home)
    rekey(home, ask=Asked(PHRASE), progress=lambda part, done, total: None)
    assert credentials_key(home) != old
    assert contents(home) == before
    assert not (home / CREDENTIALS_KEY).exists()


async def test_nobody_is_asked_for_a_passphrase_before_a_credential_is_needed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_key(home, "passphrase", {}, ask=Asked(PHRASE))
    new_process(home)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    store = open_credentials(home)
    with pytest.raises(StoreRefused, match="a passphrase is needed"):
        store.list()


async def test_a_plain_key_that_is_not_the_sealed_one_is_left_where_it_is(home: Path) -> None:
    move_key(home, "keyring", {})
    sealed = credentials_key(home)
    (home / CREDENTIALS_KEY).write_bytes(b"k" * 32)
    assert credentials_key(home) == sealed
    assert (home / CREDENTIALS_KEY).read_bytes() == b"k" * 32
