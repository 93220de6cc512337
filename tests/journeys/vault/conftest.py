from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.gateway.house import Home, config
from tests.journeys.gateway.model import Model, running
from tests.journeys.vault.process import VaultHome


@pytest.fixture(scope="session")
def model_server() -> Iterator[Model]:
    with running() as model:
        yield model


@pytest.fixture
def model(model_server: Model) -> Model:
    model_server.begin()
    return model_server


@pytest.fixture
def vault_home(tmp_path: Path) -> VaultHome:
    return VaultHome(tmp_path / "vault")


@pytest.fixture
def home(tmp_path: Path, model: Model, vault_home: VaultHome) -> Home:
    """A gateway that keeps nothing itself."""
    home = Home(tmp_path / "home")
    home.configure(config(model.url, vault={"mode": "remote", "url": vault_home.url}))
    return home
