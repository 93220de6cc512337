"""Secrets that stand in the file itself, and their way into the credential store."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ostiary.adapters.credentials import Credential, CredentialStore, Kind, Secret
from ostiary.assembly.config import edit, json5
from ostiary.assembly.config.change import change
from ostiary.assembly.config.edit import find
from ostiary.assembly.config.load import Loaded, examine
from ostiary.assembly.config.parse import keys_of
from ostiary.assembly.config.paths import config_path
from ostiary.assembly.config.problems import Path as KeyPath
from ostiary.assembly.config.problems import dotted, parse_path
from ostiary.assembly.config.schema import Config
from ostiary.assembly.config.secret import (
    CREDENTIAL,
    CredentialReference,
    LiteralSecret,
    Reference,
    holds_secret,
    is_sensitive,
    read_secret,
)

_SKIPPED = frozenset({"models", "providers", "channels", "accounts", "auth", "apiKey", "env", "plugins", "entries", "config"})
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_OTHER = re.compile(r"[^a-z0-9]+")


def literal_secrets(config: Config) -> tuple[tuple[KeyPath, Secret], ...]:
    """Where a secret is written out, and the secret."""
    return tuple(_sections(config))


def move_literals(home: Path, environ: Mapping[str, str], config: Config, store: CredentialStore) -> tuple[str, ...]:
    """Put every literal secret into the store and a reference into the file; the paths that were moved.

    The store is written first: a crash in between leaves a copy too many, never one too few.
    """
    moved: list[KeyPath] = []
    names: dict[KeyPath, str] = {}
    for path, secret in literal_secrets(config):
        names[path] = store_under_free_name(store, path, secret)
        moved.append(path)

    def edited(text: str) -> str:
        for path, name in names.items():
            text = edit.set_value(text, path, f"{CREDENTIAL}{name}")
        return text

    if moved:
        change(home, environ, edited)
    return tuple(dotted(path) for path in moved)


def set_key_privately(
    home: Path, environ: Mapping[str, str], path: KeyPath, value: object, store: CredentialStore
) -> tuple[Loaded, tuple[str, ...]]:
    """Set one key; a secret in `value` never reaches the file. Also gives the paths whose secret went to the store."""
    moved: list[str] = []

    def edited(text: str) -> str:
        current = find(json5.parse(text), path)
        text = edit.set_value(text, path, value)
        examined = examine(text, environ, source=config_path(home, environ))
        for where, secret in literal_secrets(examined.config) if examined.config else ():
            if where[: len(path)] != path:
                continue
            name = credential_name(where)
            if where == path and current is not None and current.value == f"{CREDENTIAL}{name}":
                store.set(Credential(name=name, kind=_kind(where), provider=_provider(where), value=secret))
            else:
                name = store_under_free_name(store, where, secret)
            text = edit.set_value(text, where, f"{CREDENTIAL}{name}")
            moved.append(dotted(where))
        return text

    loaded = change(home, environ, edited)
    return loaded, tuple(moved)


def store_under_free_name(store: CredentialStore, path: KeyPath, secret: Secret) -> str:
    """Keep the secret under a name made from its path, unless the same secret is there already."""
    base = credential_name(path)
    for number in range(1, 100):
        name = base if number == 1 else f"{base}-{number}"
        there = store.reveal(name)
        if there == secret:
            return name
        if there is None:
            store.set(Credential(name=name, kind=_kind(path), provider=_provider(path), value=secret))
            return name
    raise RuntimeError(f"a hundred credentials are called {base}")


def credential_name(path: KeyPath) -> str:
    """`models.providers.openai.apiKey` is `openai`; `channels.telegram.botToken` is `telegram-bot-token`."""
    words = [_HUMP.sub("-", str(step)).lower() for step in path if step not in _SKIPPED]
    return _OTHER.sub("-", "-".join(words)).strip("-")[:100] or "secret"


def _kind(path: KeyPath) -> Kind:
    return "api_key" if str(path[-1]).lower().endswith("key") else "token"


def _provider(path: KeyPath) -> str:
    return str(path[2]) if path[:2] == ("models", "providers") else ""


def _sections(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Secret]]:
    if isinstance(value, LiteralSecret):
        where = parse_path(value.path)
        if holds_secret(where):
            yield where, value.value
    elif dataclasses.is_dataclass(value):
        for name, each in keys_of(type(value)).items():
            yield from _sections(getattr(value, each.name), (*path, name))
        own = getattr(value, "open_keys", "")
        if own:
            yield from _sections(getattr(value, own), path)
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _sections(each, (*path, name))
    elif isinstance(value, (list, tuple)):
        for index, each in enumerate(value):
            yield from _sections(each, (*path, index))
    elif isinstance(value, str) and value.strip() and is_sensitive(str(path[-1])):
        source = read_secret(value, "")
        if isinstance(source, LiteralSecret):
            yield path, source.value


def references(config: Config) -> tuple[Reference | CredentialReference, ...]:
    """Every secret that is written as a reference, for doctor to try."""
    return tuple(_references(config))


def _references(value: Any, path: KeyPath = ()) -> Iterator[Reference | CredentialReference]:
    if isinstance(value, (Reference, CredentialReference)):
        yield value
    elif isinstance(value, str) and path and is_sensitive(str(path[-1])):
        # A channel's or plugin's own key: it is still as the file has it.
        source = read_secret(value, dotted(path))
        if not isinstance(source, LiteralSecret):
            yield source
    elif dataclasses.is_dataclass(value):
        for name, each in keys_of(type(value)).items():
            yield from _references(getattr(value, each.name), (*path, name))
        yield from _references(getattr(value, getattr(value, "open_keys", ""), None), path)
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _references(each, (*path, name))
    elif isinstance(value, (list, tuple)):
        for index, each in enumerate(value):
            yield from _references(each, (*path, index))
