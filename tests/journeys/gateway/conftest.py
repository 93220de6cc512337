from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.gateway.house import Gateway, Home, config
from tests.journeys.gateway.model import Model, running

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"

# Not collected, rather than skipped, where the library that moves the clock is not installed (Debian: faketime).
collect_ignore = [] if Path(FAKETIME).exists() else ["test_clock.py"]


@pytest.fixture(scope="session")
def model_server() -> Iterator[Model]:
    with running() as model:
        yield model


@pytest.fixture
def model(model_server: Model) -> Model:
    """Silent until told what to say."""
    model_server.begin()
    return model_server


@pytest.fixture
def home(tmp_path: Path, model: Model) -> Home:
    home = Home(tmp_path / "home")
    home.configure(config(model.url))
    return home


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, model_server: Model) -> Iterator[Gateway]:
    """One running gateway for the tests of a module; each uses a `user` of its own."""
    home = Home(tmp_path_factory.mktemp("shared") / "home")
    home.configure(config(model_server.url))
    with home.up() as gateway:
        yield gateway
