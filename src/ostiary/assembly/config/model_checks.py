"""What can be said of models before any is asked: a protocol that nothing speaks, a model that no provider has.

Only warnings: a plugin may bring a protocol, and only a server knows which models it has.
"""

from collections.abc import Iterator

from ostiary.assembly.config.agents import ModelSetting
from ostiary.assembly.config.parse import Reading
from ostiary.assembly.config.problems import Path
from ostiary.assembly.config.schema import Config


def check_models(config: Config, reading: Reading) -> None:
    named = list(_named(config))
    if not named and not config.models.providers:
        return
    from ostiary.adapters.models.apis import APIS, LONG_TAIL

    for name, provider in config.models.providers.items():
        if provider.api and provider.api not in APIS and not provider.api.startswith(LONG_TAIL):
            known = ", ".join((*APIS, f"{LONG_TAIL}<provider>"))
            reading.warn(("models", "providers", name, "api"), f'nothing here speaks "{provider.api[:60]}"; it is one of {known}')
    for path, model in named:
        problem = _missing(config, model)
        if problem:
            reading.warn(path, problem)


def _named(config: Config) -> Iterator[tuple[Path, str]]:
    """Every model that an agent is to use, where it is written out: what has no slash is an alias."""
    settings: list[tuple[Path, ModelSetting | None]] = [(("agents", "defaults", "model"), config.agents.defaults.model)]
    settings += [(("agents", "list", index, "model"), agent.model) for index, agent in enumerate(config.agents.list)]
    for path, setting in settings:
        if setting is None:
            continue
        places: list[tuple[Path, str]] = [((*path, "primary"), setting.primary)]
        places += [((*path, "fallbacks", index), model) for index, model in enumerate(setting.fallbacks)]
        yield from ((place, model) for place, model in places if "/" in model)


def _missing(config: Config, text: str) -> str:
    """A sentence, or nothing."""
    from ostiary.adapters.models.providers import EMBEDDED, builtin_providers, canonical

    written, _, model = text.partition("/")
    name = canonical(written)
    shipped = builtin_providers() if config.models.mode == "merge" else {EMBEDDED: builtin_providers()[EMBEDDED]}
    configured = {canonical(each): provider for each, provider in config.models.providers.items()}
    if name not in shipped and name not in configured:
        return f'there is no provider "{written[:60]}"{_meant(name, [*shipped, *configured], 0.6)}'
    own = [each.id for each in configured[name].models] if name in configured else []
    known = [*own, *(each.id for each in shipped[name].models)] if name in shipped else own
    if model in known or not known:
        return ""
    meant = _meant(model, known, 0.85)
    # Providers bring out models faster than we list them.
    return f'{name} lists no model "{model[:80]}"{meant}' if meant or name not in shipped else ""


def _meant(word: str, known: list[str], likeness: float) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=1, cutoff=likeness)
    return f'; did you mean "{close[0]}"?' if close else ""
