"""Puts the models together: the catalogue of one generation, profiles, wires, fallback, prices, the embedded model."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ostiary.adapters.models.catalogue import AgentModels, Catalogue, CatalogueSettings
from ostiary.adapters.models.fallback import Fallback, Wire
from ostiary.adapters.models.metered import Metered
from ostiary.adapters.models.prices import Prices
from ostiary.adapters.models.profiles import CooldownRules, Profile, ProfileKind, Profiles
from ostiary.adapters.models.providers import (
    EMBEDDED,
    Cost,
    ModelSettings,
    ProviderSettings,
    canonical,
    environment_keys,
    fill_address,
)
from ostiary.assembly.config.secret import SecretSource, resolve
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import ConfigInvalid, ModelMisconfigured
from ostiary.contracts.model import ModelClient, ModelRef
from ostiary.contracts.records import dataclass

if TYPE_CHECKING:
    from ostiary.adapters.credentials import CredentialStore
    from ostiary.adapters.egress import Egress
    from ostiary.assembly.config.agents import ModelSetting
    from ostiary.assembly.config.providers import Provider
    from ostiary.assembly.config.schema import Config
    from ostiary.assembly.embedded import LazyEmbedded

Lend = Callable[[], str]


def _untold(name: str, purpose: str) -> None:
    """Nobody keeps a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What outlives a generation: where secrets come from, the one way out, the embedded model, remembered failures.

    `lent` is told the name of every key that is lent, and what for."""

    environ: Mapping[str, str]
    credentials: "CredentialStore"
    egress: "Egress"
    embedded: "LazyEmbedded"
    clock: Clock
    state: Path
    lent: Callable[[str, str], None] = _untold


class StateFile:
    """Standings of profiles in a small file; losing it costs a retry, so it is not synced. `save` raises OSError."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> bytes:
        try:
            return self._path.read_bytes()
        except OSError:
            return b""

    def save(self, state: bytes) -> None:
        fresh = self._path.with_name(f".{self._path.name}.new")
        fresh.touch(mode=0o600)
        fresh.write_bytes(state)
        fresh.replace(self._path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    catalogue: Catalogue
    client: ModelClient
    profiles: Profiles


def build_models(config: "Config", sources: Sources) -> Models:
    """Raises BadInput for settings that contradict each other; missing keys show when a model is used."""
    profiles = _profiles(config, sources)
    catalogue = Catalogue(_settings(config, profiles))
    cooldowns = config.auth.cooldowns
    standing = Profiles(
        profiles,
        sources.clock,
        order={canonical(provider): order for provider, order in config.auth.order.items()},
        state=StateFile(sources.state),
        rules=CooldownRules(
            billing=cooldowns.billing_backoff_hours * 3600,
            billing_limit=cooldowns.billing_max_hours * 3600,
            forgive_after=cooldowns.failure_window_hours * 3600,
            billing_by_provider={name: hours * 3600 for name, hours in cooldowns.billing_backoff_hours_by_provider.items()},
        ),
    )
    wires: dict[tuple[str, str, str], Wire] = {}

    def wire(ref: ModelRef) -> Wire:
        if ref.provider == EMBEDDED:
            return sources.embedded
        endpoint = catalogue.endpoint(ref)
        known = (ref.provider, endpoint.api, endpoint.base_url)
        found = wires.get(known)
        if found is None:
            from ostiary.adapters.models.wires import Compat, make_wire

            provider = config.models.providers.get(ref.provider)
            headers = {**endpoint.headers, **_headers(provider, sources)}
            address = fill_address(endpoint.base_url, sources.environ)
            compat = Compat(**endpoint.quirks) if endpoint.quirks else None  # type: ignore[arg-type]
            found = make_wire(endpoint.api, address, headers, sources.egress, catalogue.facts, compat=compat)
            wires[known] = found
        return found

    def lent(profile: str, provider: str) -> None:
        sources.lent(profile, f"model:{provider}")

    fallback = Fallback(wire=wire, profiles=standing, clock=sources.clock, keyless=catalogue.keyless, lent=lent)
    prices = Prices(own=catalogue.cost, table=catalogue.price_table, free=catalogue.free)
    return Models(catalogue=catalogue, client=Metered(fallback, prices, sources.clock), profiles=standing)


def _settings(config: "Config", profiles: list[Profile]) -> CatalogueSettings:
    defaults = config.agents.defaults
    return CatalogueSettings(
        providers=[_provider(name, provider) for name, provider in config.models.providers.items()],
        mode=config.models.mode,
        defaults=_choice(defaults.model, defaults.image_model),
        agents={agent.id: _choice(agent.model, agent.image_model) for agent in config.agents.list},
        allowed={ref: entry.alias for ref, entry in defaults.models.items()},
        keyed=frozenset(profile.provider for profile in profiles),
        profiles=frozenset(profile.id for profile in profiles),
    )


def _choice(model: "ModelSetting | None", image: "ModelSetting | None") -> AgentModels:
    return AgentModels(
        primary=model.primary if model else "",
        fallbacks=model.fallbacks or None if model else None,
        image=image.primary if image else "",
        image_fallbacks=image.fallbacks or None if image else None,
    )


def _provider(name: str, provider: "Provider") -> ProviderSettings:
    return ProviderSettings(
        name=canonical(name),
        base_url=provider.base_url,
        api=provider.api,
        local=provider.auth == "none",
        models=tuple(
            ModelSettings(
                id=model.id,
                name=model.name,
                context_window=model.context_window,
                max_tokens=model.max_tokens,
                sees_images="image" in model.input,
                reasons=model.reasoning,
                cost=None
                if model.cost is None
                else Cost(
                    input=model.cost.input,
                    output=model.cost.output,
                    cache_read=model.cost.cache_read,
                    cache_write=model.cost.cache_write,
                ),
            )
            for model in provider.models
        ),
    )


def _profiles(config: "Config", sources: Sources) -> list[Profile]:
    """Named profiles and stored keys; a provider with neither takes the key in the file, else that of the environment."""
    found: dict[str, Profile] = {}
    for name, named in config.auth.profiles.items():
        provider = canonical(named.provider)
        found[name] = Profile(id=name, provider=provider, kind=named.mode, secret=_stored(name, sources))
    for entry in sources.credentials.list():
        if entry.provider:
            profile = Profile(
                id=entry.name,
                provider=canonical(entry.provider),
                kind=entry.kind,
                secret=_stored(entry.name, sources),
                expires=entry.expires or None,
            )
            found.setdefault(entry.name, profile)
    # A key that merely lies about must not rotate with the profiles the owner made on purpose.
    chosen = {profile.provider for profile in found.values()}
    for name, settings in config.models.providers.items():
        provider = canonical(name)
        if settings.api_key is not None and provider not in chosen:
            secret = _configured(settings.api_key, sources)
            found[f"{provider}:config"] = Profile(id=f"{provider}:config", provider=provider, kind="api_key", secret=secret)
    chosen = {profile.provider for profile in found.values()}
    for provider, variable in environment_keys(sources.environ).items():
        if provider not in chosen:
            kind: ProfileKind = "token" if "TOKEN" in variable else "api_key"
            secret = _from_environment(variable, sources)
            found[f"{provider}:env"] = Profile(id=f"{provider}:env", provider=provider, kind=kind, secret=secret)
    return list(found.values())


def _stored(name: str, sources: Sources) -> Lend:
    def lend() -> str:
        secret = sources.credentials.reveal(name)
        if secret is None:
            raise ModelMisconfigured(f"there is no key for the profile {name}", hint=f"Run: ostiary models auth add {name}")
        return secret.reveal()

    return lend


def _configured(source: SecretSource, sources: Sources) -> Lend:
    def lend() -> str:
        try:
            return resolve(source, sources.environ, sources.credentials).reveal()
        except ConfigInvalid as error:
            raise ModelMisconfigured(str(error), hint=error.hint) from error

    return lend


def _from_environment(variable: str, sources: Sources) -> Lend:
    return lambda: sources.environ[variable].strip()


def _headers(provider: "Provider | None", sources: Sources) -> Mapping[str, str]:
    if provider is None:
        return {}
    return {name: resolve(source, sources.environ, sources.credentials).reveal() for name, source in provider.headers.items()}
