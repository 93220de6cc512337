from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.gateway.house import Home, config
from tests.journeys.gateway.model import Model, running


@pytest.fixture(scope="module")
def model_server() -> Iterator[Model]:
    with running() as model:
        yield model


@pytest.fixture
def model(model_server: Model) -> Model:
    model_server.begin()
    return model_server


@pytest.fixture
def home(tmp_path: Path, model: Model) -> Home:
    home = Home(tmp_path / "home")
    home.configure(config(model.url))
    return home
