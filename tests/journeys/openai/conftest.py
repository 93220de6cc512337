"""The official client against the gateway in a process of its own."""

from collections.abc import Iterator

import pytest
from openai import OpenAI

from tests.journeys.gateway.conftest import home, model, model_server
from tests.journeys.gateway.house import Gateway, Home, config
from tests.journeys.gateway.model import Model

__all__ = ["home", "model", "model_server"]

ON = {"chatCompletions": {"enabled": True}, "responses": {"enabled": True}}


def enabled(model_url: str) -> dict[str, object]:
    """A house that serves both interfaces, with a model that sees images."""
    content = config(model_url)
    gateway, providers = content["gateway"], content["models"]
    assert isinstance(gateway, dict)
    assert isinstance(providers, dict)
    gateway["http"] = {"endpoints": ON}
    providers["providers"]["kit"]["models"][0]["input"] = ["text", "image"]
    return content


def client_of(gateway: Gateway, **options: object) -> OpenAI:
    settings: dict[str, object] = {"max_retries": 0, "timeout": 30.0, **options}
    return OpenAI(base_url=f"{gateway.url}/v1", api_key=gateway.token, **settings)  # type: ignore[arg-type]


@pytest.fixture(scope="package")
def gateway(tmp_path_factory: pytest.TempPathFactory, model_server: Model) -> Iterator[Gateway]:
    """One running gateway for all; each test speaks as another `user` or statelessly."""
    house = Home(tmp_path_factory.mktemp("openai") / "home")
    house.configure(enabled(model_server.url))
    with house.up() as running:
        yield running


@pytest.fixture
def client(gateway: Gateway, model: Model) -> Iterator[OpenAI]:
    with client_of(gateway) as made:
        yield made
