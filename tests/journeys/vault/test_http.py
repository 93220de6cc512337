"""The vault's pages, at its own door and at the gateway's; both show the same."""

import json
from http.client import HTTPConnection
from pathlib import Path

from tests.journeys.gateway.house import Answer, Home, config, finished
from tests.journeys.gateway.model import Model
from tests.journeys.vault.process import TOKEN, VaultHome


def asked(url: str, method: str, path: str, body: bytes | None = None) -> Answer:
    host, _, port = url.removeprefix("http://").partition(":")
    connection = HTTPConnection(host, int(port), timeout=20)
    try:
        connection.request(method, path, body, {"Authorization": f"Bearer {TOKEN}"})
        return finished(connection.getresponse())
    finally:
        connection.close()


def test_what_is_put_at_one_door_is_found_at_the_other(tmp_path: Path, vault_home: VaultHome, model: Model) -> None:
    (vault_home.path / "ostiary.json5").write_text('{vault: {token: "${VAULT_TOKEN}"}}')
    (vault_home.path / "ostiary.json5").chmod(0o600)
    home = Home(tmp_path / "home", {"VAULT_TOKEN": TOKEN})
    with vault_home.serving("--port", "0") as vault:
        home.configure(config(model.url, vault={"mode": "remote", "url": vault.url, "token": "${VAULT_TOKEN}"}))
        with home.up() as gateway:
            put = gateway.call("PUT", "/v1/vault/raw/notes/plan.md", b"# Plan\n\nPaint the fence green.\n")
            assert (put.status, put.json["version"]) == (200, 1)
            assert asked(vault.url, "GET", "/v1/vault/raw/notes/plan.md").body.endswith(b"green.\n")
            assert asked(vault.url, "PUT", "/v1/vault/raw/notes/plan.md", b"# Plan\n\nPaint it blue.\n").json["version"] == 2
            rows = gateway.call("GET", "/v1/vault/history/notes/plan.md").json["versions"]
            assert [row["version"] for row in rows] == [1, 2]
            assert "+Paint it blue." in gateway.call("GET", "/v1/vault/diff/notes/plan.md").json["diff"]
            back = gateway.call("POST", "/v1/vault/restore", {"collection": "notes", "path": "plan.md", "version": 1})
            assert back.json["versions"] == {"plan.md": 3}
            found = gateway.call("POST", "/v1/vault/query", {"text": "which colour has the fence", "collections": ["notes"]})
            assert found.json["results"][0]["path"] == "plan.md"
            kept = gateway.call("POST", "/v1/vault/memory/write", {"text": "Anna likes green."})
            assert kept.json["path"] == "MEMORY.md"
            listed = asked(vault.url, "GET", "/v1/vault/list/_memory")
            assert "MEMORY.md" in [row["path"] for row in listed.json["documents"]]


def test_a_gateway_with_another_token_does_not_start(tmp_path: Path, vault_home: VaultHome, model: Model) -> None:
    home = Home(tmp_path / "home", {"VAULT_TOKEN": "tok-another-0123456789abcdef-0123456789"})
    with vault_home.serving("--port", "0") as vault:
        home.configure(config(model.url, vault={"mode": "remote", "url": vault.url, "token": "${VAULT_TOKEN}"}))
        done = home.run("up", "--port", "0")
    assert done.returncode == 1
    assert "does not accept the token" in done.stderr
    assert json.dumps("tok-another") not in done.stderr
