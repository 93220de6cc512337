"""Which models there are, which an agent uses, and which a person may switch to. Knows configuration, calls nobody."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Literal

from ostiary.adapters.models.names import Named, best_match, nearest
from ostiary.adapters.models.providers import (
    EMBEDDED,
    Cost,
    ModelSettings,
    ProviderSettings,
    builtin_providers,
    canonical,
    is_loopback,
    lay_over,
)
from ostiary.contracts.errors import BadInput, NotAllowed
from ostiary.contracts.model import ModelChoice, ModelFacts, ModelRef
from ostiary.contracts.records import dataclass

SMALLEST_WINDOW = 16_000
SMALL_WINDOW = 32_000
_FAMILY = re.compile(r"[^\d]*")
_SHOWN = 8
_REMEMBERED = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentModels:
    """What the owner chose. A text is a ref or an alias; empty or None is inherited, or nothing."""

    primary: str = ""
    fallbacks: tuple[str, ...] | None = None
    image: str = ""
    image_fallbacks: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueSettings:
    """`allowed` maps refs to aliases and, if not empty, is the allowlist. `keyed` names providers that have a key.

    `profiles` are the ids of auth profiles that may be pinned with `ref@profile`.
    """

    providers: Sequence[ProviderSettings] = ()
    mode: Literal["merge", "replace"] = "merge"
    defaults: AgentModels = AgentModels()
    agents: Mapping[str, AgentModels] = field(default_factory=dict)
    allowed: Mapping[str, str] = field(default_factory=dict)
    keyed: frozenset[str] = frozenset()
    profiles: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where and how a model is spoken to. `base_url` may still hold `{VARIABLE}`: see providers.fill_address."""

    api: str
    base_url: str
    headers: Mapping[str, str]
    quirks: Mapping[str, str | bool]


class Catalogue:
    """A ModelCatalogue of built-in providers with the configured ones laid over them; the embedded model is always there."""

    def __init__(self, settings: CatalogueSettings) -> None:
        self._settings = settings
        self._providers = _providers(settings)
        self._models = {
            ModelRef(provider.name, model.id): model for provider in self._providers.values() for model in provider.models
        }
        self._by_lower = {str(ref).lower(): ref for ref in self._models}
        self._allowed, self._unusable = self._read_allowed()
        # Every turn asks, and settings do not change during a catalogue's life.
        self._chosen: dict[tuple[str, str, bool], ModelChoice] = {}
        self._aliases = {alias.lower(): ref for ref, alias in self._allowed.items() if alias}

    @property
    def providers(self) -> Mapping[str, ProviderSettings]:
        return self._providers

    @property
    def aliases(self) -> Mapping[str, ModelRef]:
        """In lower case."""
        return self._aliases

    @property
    def allowed(self) -> bool:
        """Is there an allowlist?"""
        return bool(self._settings.allowed)

    def everything(self) -> tuple[ModelFacts, ...]:
        """Every model that was described, with a key or without."""
        return tuple(model.facts(ref.provider) for ref, model in self._models.items())

    def known(self, text: str) -> ModelRef:
        """The ref that the owner wrote, in canonical spelling. Raises BadInput for a provider that does not exist."""
        return self._aliases.get(text.strip().lower()) or self._ref(text)

    def facts(self, ref: ModelRef) -> ModelFacts:
        """Raises BadInput for a provider that does not exist. A model nobody described is taken for one of its family."""
        model = self._models.get(ref)
        if model is not None:
            return model.facts(ref.provider)
        family = _FAMILY.match(ref.model)
        alike = family[0] if family else ""
        kin = next((m for m in self._provider(ref.provider).models if len(alike) > 3 and m.id.startswith(alike)), None)
        return replace(kin or ModelSettings(id=ref.model), id=ref.model, name=ref.model).facts(ref.provider)

    def cost(self, ref: ModelRef) -> Cost | None:
        """The owner's own price."""
        model = self._models.get(ref)
        return model.cost if model is not None else None

    def endpoint(self, ref: ModelRef) -> Endpoint:
        """Raises BadInput for a provider that does not exist."""
        provider, model = self._provider(ref.provider), self._models.get(ref)
        return Endpoint(
            api=(model.api if model else "") or provider.api,
            base_url=(model.base_url if model else "") or provider.base_url,
            headers=provider.headers,
            quirks=provider.quirks,
        )

    def keyless(self, provider: str) -> bool:
        """It is asked without a key: a local one, or the owner's own server for which none was given."""
        found = self._providers.get(provider)
        if found is None:
            return False
        own = provider not in builtin_providers() or is_loopback(found.base_url)
        return found.local or (own and provider not in self._settings.keyed)

    def free(self, provider: str) -> bool:
        """A model server on this machine. A gateway there may pass on to one that asks for money, so only known ones count."""
        found = self._providers.get(provider)
        return found is not None and found.local and (provider == EMBEDDED or is_loopback(found.base_url))

    def price_table(self, provider: str) -> str:
        """The provider's name in the price table, "" if its prices are not known."""
        found = self._providers.get(provider)
        return found.prices if found is not None else ""

    def find(self, agent: str, text: str) -> ModelRef:
        """What `text` means, allowed or not, with a key or without. Raises BadInput."""
        return self._named(agent, text.strip())

    def choose(self, agent: str, override: str = "", *, with_images: bool = False) -> ModelChoice:
        """Raises BadInput (unknown, ambiguous, window too small) or NotAllowed (not on the allowlist)."""
        asked = (agent, override, with_images)
        chosen = self._chosen.get(asked)
        if chosen is None:
            chosen = self._choose(agent, override, with_images)
            if len(self._chosen) < _REMEMBERED:
                self._chosen[asked] = chosen
        return chosen

    def _choose(self, agent: str, override: str, with_images: bool) -> ModelChoice:
        primary, fallbacks = self._chain(agent)
        profile = ""
        if override.strip():
            usual = primary
            primary, profile = self._resolve(agent, override.strip())
            fallbacks = tuple(dict.fromkeys((*fallbacks, usual)))
        if with_images:
            primary, fallbacks = self._that_see(agent, primary, fallbacks)
        if problem := self._too_small(primary):
            raise BadInput(problem, hint="Choose another with /model, or correct its contextWindow.")
        roomy = tuple(ref for ref in fallbacks if ref != primary and not self._too_small(ref))
        return ModelChoice(primary=primary, fallbacks=roomy, profile=profile)

    def choices(self, agent: str) -> tuple[ModelFacts, ...]:
        """The agent's own models first, then the allowlist; without one, every model that can be called."""
        primary, fallbacks = self._chain(agent)
        image, image_fallbacks = self._image_chain(agent)
        own = (primary, *fallbacks, *((image,) if image else ()), *image_fallbacks)
        rest = self._allowed if self._settings.allowed else [ref for ref in self._models if self.can_call(ref.provider)]
        return tuple(self.facts(ref) for ref in dict.fromkeys((*own, *rest)))

    def problems(self, agents: Iterable[str]) -> tuple[str, ...]:
        """What the owner should know: models that are unknown, too small, small, or without a key."""
        found = list(self._unusable)
        for agent in agents:
            try:
                primary, fallbacks = self._chain(agent)
            except BadInput as error:
                found.append(f"{error}. {error.hint}")
                continue
            for ref in (primary, *fallbacks):
                window = self.facts(ref).context_window
                if problem := self._too_small(ref):
                    found.append(problem)
                elif window < SMALL_WINDOW and ref.provider != EMBEDDED:
                    found.append(f"{ref} holds only {window:,} tokens: long conversations will be cut often")
                if not self.can_call(ref.provider):
                    found.append(f"{ref} has no key: run ostiary models auth add {ref.provider}")
        return tuple(dict.fromkeys(found))

    def _ref(self, text: str) -> ModelRef:
        ref = ModelRef.parse(text)
        ref = ModelRef(canonical(ref.provider), ref.model)
        self._provider(ref.provider)
        return self._by_lower.get(str(ref).lower(), ref)

    def _read_allowed(self) -> tuple[Mapping[ModelRef, str], tuple[str, ...]]:
        """The allowlist, and the entries that name nothing; one of those narrows it and breaks nothing."""
        allowed: dict[ModelRef, str] = {}
        unusable: list[str] = []
        for text, alias in self._settings.allowed.items():
            try:
                allowed[self._ref(text)] = alias
            except BadInput as error:
                unusable.append(f"{text} is on the list of allowed models, but: {error}. {error.hint}")
        return allowed, tuple(unusable)

    def _provider(self, name: str) -> ProviderSettings:
        found = self._providers.get(name)
        if found is None:
            close = nearest(name, self._providers)
            hint = f"Did you mean {' or '.join(close)}?" if close else "See: ostiary models list --all"
            raise BadInput(f"There is no model provider {name[:60]!r}", hint=hint)
        return found

    def can_call(self, provider: str) -> bool:
        """It has a key, or needs none."""
        return provider in self._settings.keyed or self.keyless(provider)

    def _chain(self, agent: str) -> tuple[ModelRef, tuple[ModelRef, ...]]:
        own, shared = self._settings.agents.get(agent, AgentModels()), self._settings.defaults
        primary = own.primary or shared.primary
        fallbacks = own.fallbacks if own.fallbacks is not None else shared.fallbacks or ()
        return (self.known(primary) if primary else self._usual()), tuple(self.known(ref) for ref in fallbacks)

    def _image_chain(self, agent: str) -> tuple[ModelRef | None, tuple[ModelRef, ...]]:
        own, shared = self._settings.agents.get(agent, AgentModels()), self._settings.defaults
        image = own.image or shared.image
        fallbacks = own.image_fallbacks if own.image_fallbacks is not None else shared.image_fallbacks or ()
        return (self.known(image) if image else None), tuple(self.known(ref) for ref in fallbacks)

    def _usual(self) -> ModelRef:
        """Nothing was chosen: the first provider with a key and a model to name, else the embedded model."""
        configured = [canonical(provider.name) for provider in self._settings.providers]
        for name in dict.fromkeys((*configured, *(name for name in self._providers if name in self._settings.keyed))):
            provider = self._providers[name]
            model = provider.default or next((model.id for model in provider.models), "")
            if model and self.can_call(name):
                return ModelRef(name, model)
        return ModelRef(EMBEDDED, self._providers[EMBEDDED].default)

    def _that_see(self, agent: str, primary: ModelRef, fallbacks: tuple[ModelRef, ...]) -> tuple[ModelRef, tuple[ModelRef, ...]]:
        if self.facts(primary).sees_images:
            return primary, tuple(ref for ref in fallbacks if self.facts(ref).sees_images)
        image, image_fallbacks = self._image_chain(agent)
        return (image, image_fallbacks) if image is not None else (primary, fallbacks)

    def _too_small(self, ref: ModelRef) -> str:
        window = self.facts(ref).context_window
        # The embedded model has a prompt of its own that fits.
        if window >= SMALLEST_WINDOW or ref.provider == EMBEDDED:
            return ""
        return f"{ref} holds only {window:,} tokens, and at least {SMALLEST_WINDOW:,} are needed"

    def _resolve(self, agent: str, text: str) -> tuple[ModelRef, str]:
        text, profile = self._split_profile(text)
        ref = self._named(agent, text)
        own = [facts.ref for facts in self.choices(agent)]
        if self._settings.allowed and ref not in own:
            raise NotAllowed(f"{ref} is not allowed here; allowed are {_listed(own)}", hint="/models lists them with numbers.")
        if not self.can_call(ref.provider):
            raise BadInput(f"There is no key for {ref.provider}", hint=f"Run: ostiary models auth add {ref.provider}")
        return ref, profile

    def _split_profile(self, text: str) -> tuple[str, str]:
        """`ref@profile`; model names and profile ids may hold an @ themselves, so only a profile that exists counts."""
        for at in (index for index, letter in enumerate(text) if letter == "@" and index):
            head, tail = text[:at], text[at + 1 :]
            for profile in (tail, f"{canonical(head.partition('/')[0])}:{tail}"):
                if profile in self._settings.profiles:
                    return head, profile
        return text, ""

    def _named(self, agent: str, text: str) -> ModelRef:
        choices = self.choices(agent)
        if text.isdecimal() and len(text) < 6:
            if not 1 <= int(text) <= len(choices):
                raise BadInput(f"There is no model number {int(text)}", hint=f"/models lists 1 to {len(choices)}.")
            return choices[int(text) - 1].ref
        if alias := self._aliases.get(text.lower()):
            return alias
        provider, slash, model = text.partition("/")
        if slash and canonical(provider) in self._providers and model:
            return self._of_provider(canonical(provider), model)
        usual = choices[0].ref.provider
        exact = self._by_lower.get(f"{usual}/{text}".lower())
        if exact is not None:
            return exact
        return self._alike(text, choices, usual)

    def _of_provider(self, provider: str, model: str) -> ModelRef:
        found = self._by_lower.get(f"{provider}/{model}".lower())
        if found is not None:
            return found
        ref = ModelRef(provider, model)
        if self._providers[provider].open or ref in self._allowed:
            return ref
        pool = [self._as_named(ref) for ref in self._models if ref.provider == provider]
        match = best_match(model, pool)
        if match is None:
            raise self._unknown(str(ref), [str(named.ref) for named in pool])
        return match

    def _alike(self, text: str, choices: tuple[ModelFacts, ...], usual: str) -> ModelRef:
        match = best_match(text, [self._as_named(facts.ref) for facts in choices], prefer=usual)
        if match is None and canonical(text) in self._providers and (model := self._providers[canonical(text)].default):
            match = ModelRef(canonical(text), model)
        if match is None:
            match = best_match(text, [self._as_named(ref) for ref in self._models], prefer=usual)
        if match is None:
            raise self._unknown(text, [*self._aliases, *(str(facts.ref) for facts in choices)])
        return match

    def _as_named(self, ref: ModelRef) -> Named:
        return Named(ref=ref, name=self.facts(ref).name, alias=self._allowed.get(ref, ""))

    def _unknown(self, text: str, names: Sequence[str]) -> BadInput:
        close = nearest(text, names)
        hint = f"Did you mean {' or '.join(close)}?" if close else "/models lists what there is."
        return BadInput(f"There is no model {text[:80]!r}", hint=hint)


def _listed(refs: Sequence[ModelRef]) -> str:
    names = [str(ref) for ref in refs]
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _providers(settings: CatalogueSettings) -> Mapping[str, ProviderSettings]:
    builtin = builtin_providers()
    found = dict(builtin) if settings.mode == "merge" else {EMBEDDED: builtin[EMBEDDED]}
    for configured in settings.providers:
        name = canonical(configured.name)
        base = builtin.get(name)
        if base is not None and settings.mode == "replace":
            base = replace(base, models=(), default="")
        found[name] = lay_over(base, replace(configured, name=name))
    return found
