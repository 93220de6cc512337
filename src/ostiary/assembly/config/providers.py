"""Model providers and how to sign in to them."""

from collections.abc import Mapping
from typing import Literal

from ostiary.assembly.config.agents import ID
from ostiary.assembly.config.secret import SecretSource
from ostiary.assembly.config.section import key, section


@section
class Cost:
    """US dollars for a million tokens."""

    input: float = key(0.0, "Read.", minimum=0)
    output: float = key(0.0, "Written.", minimum=0)
    cache_read: float = key(0.0, "Read from the provider's cache.", minimum=0)
    cache_write: float = key(0.0, "Written to the provider's cache.", minimum=0)


@section
class ProviderModel:
    """A model the provider offers."""

    id: str = key(help="The provider's own name for it.")
    name: str = key("", "What people see.")
    reasoning: bool = key(False, "It can think before it answers.")
    input: tuple[Literal["text", "image"], ...] = key(("text",), "What it reads.")
    cost: Cost | None = key(None, "Prices, where the built-in list has none.")
    context_window: int = key(200_000, "Tokens it can hold.", minimum=256, maximum=100_000_000)
    max_tokens: int = key(8192, "Tokens of one answer.", minimum=1, maximum=10_000_000)


@section
class Provider:
    """Where to send requests and in which protocol."""

    base_url: str = key(
        "", "The address. Empty: the built-in one.", placeholder="https://api.example.com/v1", pattern=r"https?://\S+|"
    )
    api_key: SecretSource | None = key(None, "The key: ${NAME}, credential:<name>, or the key itself (not advised).")
    api: str = key("", "The protocol. Empty: the built-in one.", placeholder="openai-completions")
    auth: Literal["api-key", "oauth", "token", "none"] = key("api-key", "How it signs in.")
    headers: Mapping[str, SecretSource] = key(factory=dict, help="Sent with every request.", advanced=True)
    models: tuple[ProviderModel, ...] = key((), "Models the built-in list lacks.")


@section
class Models:
    """Providers beside the built-in ones."""

    mode: Literal["merge", "replace"] = key("merge", "Add to the built-in providers, or use only these.")
    providers: Mapping[str, Provider] = key(factory=dict, help="By name.", keys=ID)


@section
class AuthProfile:
    """A way to sign in. The secret is the entry of the same name in the credential store."""

    provider: str = key(help="The provider's name.", pattern=ID)
    mode: Literal["api_key", "oauth", "token"] = key("api_key", "What the secret is.")
    email: str = key("", "Whose account it is.")


@section
class Cooldowns:
    """How long a profile rests after a failure."""

    billing_backoff_hours: float = key(5.0, "After the first billing failure; doubles each time.", minimum=0.1, maximum=720)
    billing_backoff_hours_by_provider: Mapping[str, float] = key(
        factory=dict, help="The same for one provider.", minimum=0.1, maximum=720
    )
    billing_max_hours: float = key(24.0, "At most.", minimum=0.1, maximum=720)
    failure_window_hours: float = key(24.0, "A profile without failures for this long starts anew.", minimum=0.1, maximum=720)


@section
class Auth:
    """Ways to sign in to providers, and their order."""

    profiles: Mapping[str, AuthProfile] = key(factory=dict, help="By name, such as anthropic:default.")
    order: Mapping[str, tuple[str, ...]] = key(factory=dict, help="For a provider: which profiles, in which order.")
    cooldowns: Cooldowns = key(factory=Cooldowns)
