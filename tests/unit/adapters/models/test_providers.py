import pytest

from ostiary.adapters.models.providers import builtin_providers, canonical, environment_keys, fill_address, is_loopback
from ostiary.adapters.models.wires import APIS, LONG_TAIL
from ostiary.adapters.models.wires.wire import Compat
from ostiary.contracts.errors import ModelMisconfigured

NAMED = [
    "anthropic",
    "openai",
    "openai-codex",
    "google",
    "google-vertex",
    "ollama",
    "openrouter",
    "amazon-bedrock",
    "mistral",
    "groq",
    "xai",
    "cerebras",
    "together",
    "huggingface",
    "moonshot",
    "kimi-coding",
    "minimax",
    "zai",
    "venice",
    "nvidia",
    "github-copilot",
    "vllm",
    "lmstudio",
    "vercel-ai-gateway",
    "cloudflare-ai-gateway",
    "opencode",
    "qwen-portal",
    "synthetic",
    "qianfan",
    "embedded",
]


def test_every_provider_that_is_promised_ships() -> None:
    assert set(NAMED) <= set(builtin_providers())


def test_every_provider_speaks_a_wire_that_exists() -> None:
    apis = {
        (provider.name, api)
        for provider in builtin_providers().values()
        for api in (provider.api, *(m.api for m in provider.models))
    }
    assert {
        (name, api) for name, api in apis if api and api not in (*APIS, "embedded") and not api.startswith(LONG_TAIL)
    } == set()


def test_every_default_is_a_model_of_its_provider() -> None:
    wrong = [
        provider.name
        for provider in builtin_providers().values()
        if provider.default and provider.default not in {model.id for model in provider.models}
    ]
    assert wrong == []


def test_every_provider_can_be_signed_in_to_or_needs_no_key() -> None:
    closed = [
        provider.name for provider in builtin_providers().values() if not (provider.env or provider.local or provider.oauth)
    ]
    assert closed == []


def test_names_and_aliases_belong_to_one_provider_each() -> None:
    names = [name for provider in builtin_providers().values() for name in (provider.name, *provider.aliases)]
    assert len(names) == len(set(names))


def test_secrets_travel_only_encrypted_or_within_this_machine() -> None:
    open_addresses = [
        provider.name
        for provider in builtin_providers().values()
        if provider.base_url and not provider.base_url.startswith("https://") and not is_loopback(provider.base_url)
    ]
    assert open_addresses == []


def test_quirks_are_what_the_wire_understands() -> None:
    assert [Compat(**provider.quirks) for provider in builtin_providers().values() if provider.quirks]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "meant"), [("Z.AI", "zai"), ("gemini", "google"), (" Bedrock ", "amazon-bedrock"), ("mine", "mine")]
)
def test_a_provider_has_one_name(written: str, meant: str) -> None:
    assert canonical(written) == meant


def test_a_key_in_the_environment_is_found_unless_it_is_blank() -> None:
    environ = {"ANTHROPIC_API_KEY": "sk-1", "OPENAI_API_KEY": "  ", "GOOGLE_API_KEY": "g"}
    assert environment_keys(environ) == {"anthropic": "ANTHROPIC_API_KEY", "google": "GOOGLE_API_KEY"}


def test_an_address_is_filled_from_the_environment() -> None:
    assert (
        fill_address("https://{AWS_REGION}.example.com/v1", {"AWS_REGION": " eu-central-1 "})
        == "https://eu-central-1.example.com/v1"
    )
    assert fill_address("https://example.com", {}) == "https://example.com"


def test_an_address_that_lacks_a_part_names_it() -> None:
    with pytest.raises(ModelMisconfigured) as raised:
        fill_address("https://{AWS_REGION}.example.com", {})
    assert "AWS_REGION" in raised.value.hint


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("http://127.0.0.1:11434", True),
        ("http://localhost/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://127.0.0.1.evil.com/v1", False),
        ("http://127.0.0.1@evil.com/v1", False),
        ("http://localhost@evil.com", False),
        ("https://api.openai.com/v1", False),
        ("", False),
    ],
)
def test_only_this_machine_is_this_machine(address: str, here: bool) -> None:
    assert is_loopback(address) is here
