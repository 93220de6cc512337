from collections.abc import Mapping

import pytest

from ostiary.adapters.credentials import Secret
from ostiary.assembly.config.secret import (
    CredentialReference,
    LiteralSecret,
    Reference,
    SecretSource,
    environment,
    is_sensitive,
    read_secret,
    resolve,
)
from ostiary.contracts.errors import ConfigInvalid


class Shelf:
    def __init__(self, entries: Mapping[str, str]) -> None:
        self._entries = entries

    def reveal(self, name: str) -> Secret | None:
        return Secret(self._entries[name]) if name in self._entries else None


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("${KEY}", Reference("${KEY}")),
        ("Bearer ${KEY}", Reference("Bearer ${KEY}")),
        ("credential:openai", CredentialReference("openai")),
        ("credential:anthropic:default", CredentialReference("anthropic:default")),
        ("sk-1", LiteralSecret(Secret("sk-1"))),
        ("$${KEY}", LiteralSecret(Secret("$${KEY}"))),
    ],
)
def test_a_reference_is_told_from_a_literal(text: str, source: SecretSource) -> None:
    assert read_secret(text, "p") == source


def test_every_kind_resolves_at_the_moment_of_use() -> None:
    environ, shelf = {"KEY": "from-env"}, Shelf({"openai": "from-store"})
    assert resolve(Reference("Bearer ${KEY}"), environ, shelf).reveal() == "Bearer from-env"
    assert resolve(CredentialReference("openai"), environ, shelf).reveal() == "from-store"
    assert resolve(LiteralSecret(Secret("plain")), environ, shelf).reveal() == "plain"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            Reference("${A}${B}", "models.providers.x.apiKey"),
            r"models\.providers\.x\.apiKey: the environment variable A and B is not set",
        ),
        (CredentialReference("gone", "gateway.auth.token"), r"gateway\.auth\.token: the credential store has no entry 'gone'"),
    ],
)
def test_what_cannot_be_resolved_names_the_path_and_the_missing_thing(source: SecretSource, said: str) -> None:
    with pytest.raises(ConfigInvalid, match=said) as caught:
        resolve(source, {}, Shelf({}))
    assert caught.value.hint


@pytest.mark.parametrize("value", ["", "  ", "undefined", "null", "None", "changeme"])
def test_an_empty_or_placeholder_value_is_no_secret(value: str) -> None:
    for source in (Reference("${K}"), LiteralSecret(Secret(value)), CredentialReference("k")):
        with pytest.raises(ConfigInvalid):
            resolve(source, {"K": value}, Shelf({"k": value}))


def test_without_a_store_a_credential_is_missing() -> None:
    with pytest.raises(ConfigInvalid, match="no entry"):
        resolve(CredentialReference("x"), {})


def test_the_processes_own_environment_beats_the_env_block() -> None:
    block = {"A": read_secret("block", ""), "B": read_secret("credential:b", ""), "C": read_secret("${GONE}", "")}
    assert environment(block, {"A": "process"}, Shelf({"b": "stored"})) == {"A": "process", "B": "stored"}


def test_no_source_shows_a_literal_when_printed() -> None:
    assert "hunter2" not in repr(LiteralSecret(Secret("hunter2")))


@pytest.mark.parametrize(
    ("name", "sensitive"),
    [("botToken", True), ("apiKey", True), ("API_KEY", True), ("signingSecret", True), ("maxTokens", False), ("keyPath", False)],
)
def test_sensitive_names_are_known(name: str, sensitive: bool) -> None:
    assert is_sensitive(name) is sensitive
