"""A gateway to attack: the real process, reached as an attacker would reach it. Each test says which requirement it proves."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.gateway.house import Gateway, Home, config
from tests.journeys.gateway.model import Model, running


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "proves(id): the requirement of tests/security/requirements.py that this test attacks")


@pytest.fixture(scope="session")
def model_server() -> Iterator[Model]:
    with running() as model:
        yield model


@pytest.fixture
def model(model_server: Model) -> Model:
    model_server.begin()
    return model_server


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, model_server: Model) -> Iterator[Gateway]:
    home = Home(tmp_path_factory.mktemp("attacked") / "home")
    home.configure(config(model_server.url))
    with home.up() as gateway:
        yield gateway


@pytest.fixture
def home(tmp_path: Path, model: Model) -> Home:
    home = Home(tmp_path / "home")
    home.configure(config(model.url))
    return home
