"""Who came in at the vault's own door is in the audit log that it holds."""

from pathlib import Path

from ostiary.adapters.store.sqlite import open_reader
from ostiary.assembly.config.load import load
from ostiary.assembly.keys import store_key
from ostiary.assembly.vault import STORE
from ostiary.assembly.vault_serve import open_serving
from tests.unit.assembly.test_vault_serve import ENVIRON, call, made_token


async def logins(home: Path) -> list[tuple[str, str, str, str]]:
    async with open_reader(home / STORE, store_key(home)) as reader:
        entries = await reader.audit().entries(kind="login*")
        assert await reader.audit().verify() == ""
    return [(each.kind, each.actor, each.subject, each.outcome) for each in entries]


async def test_a_right_and_a_wrong_token_are_written_down(tmp_path: Path) -> None:
    async with open_serving(tmp_path, load(tmp_path, ENVIRON).config, ENVIRON, is_unix=False) as app:
        for token in ("wrong", made_token(tmp_path), made_token(tmp_path)):
            await call(app, "GET", "/v1/vault/status", token)
    (failed, came) = await logins(tmp_path)
    assert (failed[0], failed[2:]) == ("login.failed", ("vault gateway", "refused"))
    assert came == ("login", "token", "vault token", "ok")


async def test_whoever_opened_the_socket_is_written_down(tmp_path: Path) -> None:
    async with open_serving(tmp_path, load(tmp_path, ENVIRON).config, ENVIRON, is_unix=True) as app:
        await call(app, "GET", "/v1/vault/status", "")
        await call(app, "GET", "/v1/vault/status", "")
    assert [each[0] for each in await logins(tmp_path)] == ["login"]
