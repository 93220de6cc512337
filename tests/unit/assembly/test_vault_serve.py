"""The vault behind its own door: who is let in, and what is there."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ostiary.adapters.credentials import CredentialStore, key_at
from ostiary.assembly.config.load import load
from ostiary.assembly.config.paths import CREDENTIALS, CREDENTIALS_KEY
from ostiary.assembly.vault_serve import open_serving
from ostiary.contracts.errors import BadInput, StoreRefused
from tests.unit.gateway.fakes import Client, Reply

ENVIRON: Mapping[str, str] = {}


async def call(app: object, method: str, path: str, token: str) -> Reply:
    client = Client()
    client.app = app  # type: ignore[assignment]
    return await client.call(method, path, b"", {"authorization": f"Bearer {token}" if token else "(none)"})


def made_token(home: Path) -> str:
    secret = CredentialStore(home / CREDENTIALS, key_at(home / CREDENTIALS_KEY)).reveal("vault.token")
    return "" if secret is None else secret.reveal()


async def test_over_http_only_the_token_made_at_the_first_start_opens_it(tmp_path: Path) -> None:
    config = load(tmp_path, ENVIRON).config
    async with open_serving(tmp_path, config, ENVIRON, is_unix=False) as app:
        token = made_token(tmp_path)
        statuses = [(await call(app, "GET", "/v1/vault/status", given)).status for given in ("", "wrong", token)]
        rpc = [(await call(app, "POST", "/v1/vault/rpc", given)).status for given in ("", "wrong", token)]
    assert (statuses, rpc) == ([401, 401, 200], [401, 401, 200])
    async with open_serving(tmp_path, config, ENVIRON, is_unix=False):
        assert made_token(tmp_path) == token


async def test_on_the_unix_socket_the_system_has_asked_already(tmp_path: Path) -> None:
    async with open_serving(tmp_path, load(tmp_path, ENVIRON).config, ENVIRON, is_unix=True) as app:
        assert (await call(app, "GET", "/v1/vault/status", "")).json["process"] == "vault"


async def test_commands_and_memory_are_the_gateways(tmp_path: Path) -> None:
    async with open_serving(tmp_path, load(tmp_path, ENVIRON).config, ENVIRON, is_unix=True) as app:
        assert (await call(app, "GET", "/v1/vault/memory/list", "")).status == 501


async def test_a_placeholder_opens_no_vault(tmp_path: Path) -> None:
    (tmp_path / "ostiary.json5").write_text('{vault: {token: "${VAULT_TOKEN}"}}')
    environ = {"VAULT_TOKEN": "secret"}
    with pytest.raises(BadInput, match=r"vault\.token"):
        async with open_serving(tmp_path, load(tmp_path, environ).config, environ, is_unix=False):
            pass


async def test_a_vault_that_somebody_holds_is_not_opened_again(tmp_path: Path) -> None:
    config = load(tmp_path, ENVIRON).config
    async with open_serving(tmp_path, config, ENVIRON, is_unix=True):
        with pytest.raises(StoreRefused, match="in use"):
            async with open_serving(tmp_path, config, ENVIRON, is_unix=True):
                pass
