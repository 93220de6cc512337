"""`doctor` and `security audit` of a house whose vault is another process: they look where the house's things are."""

import json
from typing import Any

from ostiary.adapters.store.sqlite.connection import connect_writer
from ostiary.assembly.keys import store_key
from ostiary.assembly.vault import STORE
from tests.journeys.gateway.house import Home
from tests.journeys.gateway.model import Model
from tests.journeys.vault.process import VaultHome


def doctor(home: Home) -> dict[str, dict[str, str]]:
    """Its findings by title."""
    found: list[dict[str, str]] = json.loads(home.run("doctor", "--json").stdout)["findings"]
    return {each["title"]: each for each in found}


def security(home: Home) -> dict[str, Any]:
    """Its findings by id."""
    found: list[dict[str, str]] = json.loads(home.run("security", "audit", "--json").stdout)["findings"]
    return {each["id"]: each for each in found}


def test_the_vaults_own_store_is_what_is_examined(home: Home, vault_home: VaultHome, model: Model) -> None:
    model.begin("hello")
    where = f"The vault at {vault_home.url}"
    with vault_home.serving():
        with home.up() as gateway:
            assert gateway.say("hi", "anna").text == "hello"
        found = doctor(home)
        assert found[f"{where} opens and holds 1 session"]["level"] == "ok"
        assert [each["level"] for title, each in found.items() if title.startswith("The audit log holds")] == ["ok"]
        assert {"audit.broken", "audit.unreadable"}.isdisjoint(security(home))
    assert doctor(home)[f"{where} cannot be used"]["level"] == "error"
    assert "does not answer" in security(home)["audit.unreadable"]["sentence"]
    connection = connect_writer(vault_home.path / STORE, store_key(vault_home.path))
    connection.execute("UPDATE audit SET actor = 'nobody' WHERE seq = 1").fetchall()
    connection.close()
    with vault_home.serving():
        assert "Entry 1" in doctor(home)["The audit log does not hold"]["detail"]
        assert "Entry 1" in security(home)["audit.broken"]["sentence"]
    assert not (home.path / STORE).exists()
