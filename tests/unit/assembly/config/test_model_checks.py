import json
from pathlib import Path

import pytest

from ostiary.assembly.config.load import understand


def warnings(primary: str, *, fallbacks: tuple[str, ...] = (), mode: str = "merge", **kit: object) -> list[str]:
    provider = {"baseUrl": "http://127.0.0.1:1/v1", "apiKey": "${KEY}", **kit}
    content = {
        "agents": {"defaults": {"model": {"primary": primary, "fallbacks": list(fallbacks)}}},
        "models": {"mode": mode, "providers": {"kit": provider}},
    }
    loaded = understand(json.dumps(content), {"KEY": "k"}, source=Path("ostiary.json5"))
    return [warning for warning in loaded.warnings if "model" in warning]


@pytest.mark.parametrize(
    "primary", ["kit/anything", "anthropic/claude-sonnet-5", "anthropic/claude-of-tomorrow", "z.ai/glm-5", "fast", ""]
)
def test_what_may_well_be_there_is_not_warned_of(primary: str) -> None:
    assert warnings(primary) == []


@pytest.mark.parametrize(
    ("primary", "says"),
    [
        ("antropic/claude-sonnet-5", 'there is no provider "antropic"; did you mean "anthropic"?'),
        ("nobody/m", 'there is no provider "nobody"'),
        ("anthropic/claude-sonet-5", "did you mean"),
    ],
)
def test_a_provider_or_model_that_is_not_there_is_warned_of(primary: str, says: str) -> None:
    (warning,) = warnings(primary)
    assert warning.startswith("agents.defaults.model.primary: ")
    assert says in warning


def test_a_model_that_the_owners_own_list_lacks_is_warned_of() -> None:
    (warning,) = warnings("kit/two", models=[{"id": "one"}])
    assert 'kit lists no model "two"' in warning
    assert warnings("kit/one", models=[{"id": "one"}]) == []


def test_fallbacks_are_looked_at_too() -> None:
    (warning,) = warnings("kit/one", fallbacks=("kit/two", "nobody/m"))
    assert warning.startswith("agents.defaults.model.fallbacks[1]: ")


def test_where_only_the_owners_providers_count_others_are_not_there() -> None:
    (warning,) = warnings("anthropic/claude-sonnet-5", mode="replace")
    assert 'there is no provider "anthropic"' in warning


@pytest.mark.parametrize("api", ["openai-completions", "ollama", "pydantic-ai:groq", ""])
def test_a_protocol_that_is_spoken_is_not_warned_of(api: str) -> None:
    assert warnings("kit/one", api=api) == []


def test_a_protocol_that_nothing_speaks_is_warned_of_with_those_there_are() -> None:
    (warning,) = warnings("kit/one", api="openai-chat")
    assert warning.startswith("models.providers.kit.api: ")
    assert "openai-completions, openai-responses" in warning
