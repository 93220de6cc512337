"""The providers known without configuration: where they are, what they speak, how their key is called.

Facts, defaults and quirks are data in `data/providers.json`; a configured provider is the same shape laid over it.
"""

import re
from collections.abc import Mapping
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from string import Formatter

import msgspec

from ostiary.adapters.models.embedded import catalogue as embeddable
from ostiary.contracts.errors import ModelMisconfigured
from ostiary.contracts.model import ModelFacts, ModelRef
from ostiary.contracts.records import dataclass

EMBEDDED = embeddable.PROVIDER


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """USD per million tokens, as the owner wrote it. A cache price that is absent means the input price."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """One model of a provider. Defaults are those of a custom entry; `api` and `base_url` win over the provider's."""

    id: str
    name: str = ""
    context_window: int = 200_000
    max_tokens: int = 8192
    sees_images: bool = False
    reasons: bool = False
    api: str = ""
    base_url: str = ""
    cost: Cost | None = None

    def facts(self, provider: str) -> ModelFacts:
        return ModelFacts(
            ref=ModelRef(provider, self.id),
            name=self.name or self.id,
            context_window=self.context_window,
            max_tokens=self.max_tokens,
            sees_images=self.sees_images,
            reasons=self.reasons,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSettings:
    """A provider, built in or configured.

    `env` names the variables its key may be in, `local` needs no key, `open` takes model names we have never heard of,
    `prices` is its name in the price table, `quirks` are fields of the wire's Compat. `base_url` may hold `{VARIABLE}`.
    """

    name: str
    base_url: str = ""
    api: str = ""
    label: str = ""
    env: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    default: str = ""
    local: bool = False
    open: bool = False
    oauth: bool = False
    prices: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    quirks: Mapping[str, str | bool] = field(default_factory=dict)
    models: tuple[ModelSettings, ...] = ()


@cache
def builtin_providers() -> Mapping[str, ProviderSettings]:
    """Every provider that ships, by name. Read on first use."""
    raw = (Path(__file__).with_name("data") / "providers.json").read_bytes()
    shipped = msgspec.json.decode(raw, type=list[ProviderSettings])
    return {provider.name: provider for provider in (*shipped, _embedded())}


def _embedded() -> ProviderSettings:
    models = tuple(
        ModelSettings(id=weights.model, name=weights.name, context_window=weights.context, max_tokens=weights.max_tokens)
        for weights in embeddable.CATALOGUE
    )
    return ProviderSettings(name=EMBEDDED, label="Embedded", api=EMBEDDED, local=True, default=models[0].id, models=models)


@cache
def _aliases() -> Mapping[str, str]:
    return {alias: provider.name for provider in builtin_providers().values() for alias in provider.aliases}


def canonical(name: str) -> str:
    """The one name of a provider: `z.ai` and `Z-AI` are `zai`."""
    name = name.strip().lower()
    return _aliases().get(name, name)


def lay_over(base: ProviderSettings | None, configured: ProviderSettings) -> ProviderSettings:
    """What the owner wrote wins, model by model; what is left blank comes from the built-in entry.

    A custom provider takes any model name: only its server knows which exist.
    """
    if base is None:
        return replace(configured, open=True, api=configured.api or "openai-completions")
    own = {model.id for model in configured.models}
    moved = bool(configured.base_url) and configured.base_url.rstrip("/") != base.base_url.rstrip("/")
    kept = tuple(model for model in base.models if model.id not in own)
    return replace(
        base,
        base_url=configured.base_url or base.base_url,
        api=configured.api or base.api,
        # Another server behind a known name: its models are its own, and our prices are not its prices.
        open=base.open or moved,
        local=base.local or configured.local,
        prices="" if moved else base.prices,
        headers={**base.headers, **configured.headers},
        quirks={**base.quirks, **configured.quirks},
        models=configured.models + kept,
    )


def environment_keys(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Provider to the name of the variable that holds its key, for every provider that has one set and not blank."""
    found: dict[str, str] = {}
    for provider in builtin_providers().values():
        variable = next((name for name in provider.env if environ.get(name, "").strip()), None)
        if variable is not None:
            found[provider.name] = variable
    return found


def is_loopback(base_url: str) -> bool:
    """Is the address on this machine?"""
    host = re.match(r"https?://(?:\[([^\]]*)\]|([^/:?#@]*))(?=[/:?#]|$)", base_url)
    name = (host[1] or host[2] or "").lower() if host else ""
    return name in ("localhost", "::1") or re.fullmatch(r"127(?:\.\d{1,3}){3}", name) is not None


def fill_address(base_url: str, environ: Mapping[str, str]) -> str:
    """Replace `{VARIABLE}` in an address. Raises ModelMisconfigured naming the variable that is not set."""
    names = [name for _, name, _, _ in Formatter().parse(base_url) if name]
    for name in names:
        if not environ.get(name, "").strip():
            raise ModelMisconfigured(f"The address {base_url} needs {name}", hint=f"Set {name}, or give the provider a baseUrl.")
    return base_url.format_map({name: environ[name].strip() for name in names}) if names else base_url
