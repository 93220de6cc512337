"""The commands on the vault as people type them: without a gateway, through one, and through the vault's own process."""

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.gateway.house import Home, config
from tests.journeys.gateway.model import Model
from tests.journeys.vault.process import VaultHome


@pytest.fixture
def alone(tmp_path: Path, model: Model) -> Home:
    """A house that keeps its own vault."""
    home = Home(tmp_path / "alone")
    home.configure(config(model.url))
    return home


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "garden.md").write_text("# Garden\n\nThe gate is green.\nAna keeps its key in the shed.\n")
    (folder / "trip.md").write_text("# Trip\n\nThe night train to Lisbon leaves at nine.\n")
    return folder


def tour(home: Home, notes: Path, folder: Path) -> dict[str, Any]:
    """The same things, done in the same order; what came of them."""
    folder.mkdir()
    added = home.run_json("memory", "add", str(notes), "--as", "mine")
    found = home.run_json("memory", "search", "who keeps the key", "--limit", "1")
    home.run("vault", "put", "plan.md", stdin="one\n")
    home.run("vault", "append", "plan.md", stdin="two\n")
    (folder / "page.md").write_text("page\n")
    synced = home.run_json("vault", "sync", str(folder), "--collection", "_workspace")
    (folder / "plan.md").write_text("three\n")
    home.run("vault", "sync", str(folder))
    restored = home.run_json("vault", "restore", "plan.md", "--version", "1")
    lines = home.run("memory", "search", "--stdin", stdin='night train\n{"query": "gate", "limit": 1}\n').stdout.splitlines()
    kept = home.run_json("memory", "write", "Ana likes black tea")
    why = home.run_json("memory", "why", "black tea")
    return {
        "added": added["added"],
        "found": [(each["path"], each["start"], each["end"]) for each in found],
        "synced": (synced["toVault"], synced["toFolder"]),
        "restored": restored["restored"],
        "now": home.run("vault", "get", "plan.md").stdout,
        "versions": [(each["version"], each["author"]) for each in home.run_json("vault", "history", "plan.md")],
        "asked": [json.loads(line)[0]["path"] for line in lines],
        "kept": (kept["path"], why[0]["author"]),
        "forgotten": home.run_json("memory", "forget", "black tea", "--yes")["entries"],
        "refused": home.run("vault", "get", "nothing.md").returncode,
    }


EXPECTED = {
    "added": 2,
    "found": [("mine/garden.md", 1, 4)],
    "synced": (["create page.md"], ["create plan.md"]),
    "restored": ["plan.md"],
    "now": "one\n",
    "versions": [(1, "api:token"), (2, "api:token"), (3, "api:token"), (4, "api:token")],
    "asked": ["mine/trip.md", "mine/garden.md"],
    "kept": ("MEMORY.md", "api:token"),
    "forgotten": 1,
    "refused": 1,
}


@pytest.mark.parametrize("is_up", [False, True], ids=["without a gateway", "through it"])
def test_commands_do_the_same_with_and_without_a_gateway(alone: Home, notes: Path, tmp_path: Path, is_up: bool) -> None:
    running: AbstractContextManager[object] = alone.up() if is_up else nullcontext()
    with running:
        assert tour(alone, notes, tmp_path / "folder") == EXPECTED


def test_commands_do_the_same_on_the_vaults_own_process(home: Home, vault_home: VaultHome, notes: Path, tmp_path: Path) -> None:
    with vault_home.serving():
        assert tour(home, notes, tmp_path / "folder") == EXPECTED


def test_what_was_added_before_is_found_by_a_gateway_that_starts_after(alone: Home, notes: Path) -> None:
    alone.run_json("memory", "add", str(notes), "--as", "mine")
    with alone.up():
        (found,) = alone.run_json("memory", "search", "night train", "--limit", "1")
        again = alone.run_json("memory", "add", str(notes), "--as", "mine")
    assert found["path"] == "mine/trip.md"
    assert (again["added"], again["unchanged"]) == (0, 2)
