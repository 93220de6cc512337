from collections.abc import Iterator

import keyring as package
import keyring.backend
import keyring.backends.fail
import pytest

from ostiary.adapters.keys import keyring
from ostiary.contracts.errors import StoreRefused


class InMemory(package.backend.KeyringBackend):
    priority = 1.0  # type: ignore[assignment]

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.entries[service, username]


class Forgetful(InMemory):
    def set_password(self, service: str, username: str, password: str) -> None:
        return None


class Broken(InMemory):
    def get_password(self, service: str, username: str) -> str | None:
        raise RuntimeError("the session bus is away")


@pytest.fixture(autouse=True)
def before() -> Iterator[None]:
    kept = package.get_keyring()
    package.set_keyring(InMemory())
    yield
    package.set_keyring(kept)


def test_a_key_is_kept_found_and_removed() -> None:
    keyring.write("a", b"k" * 32)
    assert keyring.read("a") == b"k" * 32
    keyring.remove("a")
    assert keyring.read("a") is None
    keyring.remove("a")


@pytest.mark.parametrize(
    ("backend", "said"), [(package.backends.fail.Keyring(), "none that keeps secrets"), (Broken(), "session bus is away")]
)
def test_a_machine_without_a_keyring_is_told_what_to_do(backend: package.backend.KeyringBackend, said: str) -> None:
    package.set_keyring(backend)
    with pytest.raises(StoreRefused, match=said) as caught:
        keyring.read("a")
    assert "passphrase" in caught.value.hint


def test_a_keyring_that_keeps_nothing_is_found_out() -> None:
    package.set_keyring(Forgetful())
    with pytest.raises(StoreRefused, match="did not keep"):
        keyring.write("a", b"k" * 32)


def test_an_entry_that_is_no_key_is_refused() -> None:
    package.set_password("ostiary", "a", "hello")
    with pytest.raises(StoreRefused, match="holds no key"):
        keyring.read("a")
