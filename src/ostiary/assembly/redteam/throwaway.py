"""A copy of the owner's configuration to attack: the same rules, but other secrets, other models, other channels, another state.

Nothing of the real state is opened for writing; of the credential store only the names are read.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ostiary.adapters.credentials import Credential, CredentialStore, Secret, key_at
from ostiary.assembly.config.files import read_text
from ostiary.assembly.config.load import understand, upgraded
from ostiary.assembly.config.paths import CREDENTIALS, CREDENTIALS_KEY, FILE, config_path
from ostiary.assembly.config.secret import CREDENTIAL, is_sensitive, variables
from ostiary.contracts.records import dataclass

CHANNEL = "redteam"
FRIEND = "friend"
OWNER_ID = "owner"
SECRET_NAME = "REDTEAM_API_KEY"  # noqa: S105 - a variable's name
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ")
_GONE = ("auth", "env", "logging", "telemetry", "models")


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """`environ` holds canary secrets under the real names; `channels` are those the owner's rules speak of, and our own."""

    tree: Mapping[str, Any]
    environ: Mapping[str, str]
    channels: tuple[str, ...]


def copy_of(home: Path, environ: Mapping[str, str], *, outside: int, canary: str) -> Copy:
    """`outside` is the port of the attacker's server, which counts as public. Raises ConfigInvalid."""
    path = config_path(home, environ)
    text = read_text(path)
    written: Mapping[str, Any] = {}
    if text is not None:
        written = understand(upgraded(text, path).text, environ, source=path).written
    names: set[str] = set()
    tree = _replaced({name: value for name, value in written.items() if name not in _GONE}, names)
    _set_model(tree)
    _set_door(tree)
    _set_web(tree, outside)
    channels = _set_channels(tree)
    _set(tree, ("messages", "inbound"), {"debounceMs": 0, "byChannel": {}})
    _set(tree, ("messages", "queue", "debounceMs"), 0)
    _set(tree, ("control", "startAwake"), True)
    secrets = dict.fromkeys((*names, SECRET_NAME, "REDTEAM_TOKEN", "REDTEAM_HOOK_TOKEN"), canary)
    secrets["REDTEAM_TOKEN"], secrets["REDTEAM_HOOK_TOKEN"] = f"gate-{canary}", f"hook-{canary}"
    kept = {name: environ[name] for name in _KEPT if name in environ}
    return Copy(tree=tree, environ={**kept, **secrets}, channels=channels)


def write_copy(copy: Copy, into: Path, credentials: tuple[str, ...], canary: str) -> None:
    """The state directory to attack."""
    into.mkdir(mode=0o700, parents=True)
    file = into / FILE
    file.touch(mode=0o600)
    file.write_text(json.dumps(copy.tree))
    store = CredentialStore(into / CREDENTIALS, key_at(into / CREDENTIALS_KEY))
    for name in (*credentials, "redteam.canary"):
        store.set(Credential(name=name, kind="token", value=Secret(f"{canary}-stored")))


def credential_names(home: Path) -> tuple[str, ...]:
    """Of the real store, if there is one. Raises StoreError."""
    from ostiary.assembly.credential_key import open_credentials

    return tuple(entry.name for entry in open_credentials(home).list())


def _replaced(value: Any, names: set[str], name: str = "") -> Any:
    """The same with every secret that stands in the file itself made a reference to a canary."""
    if isinstance(value, Mapping):
        return {each: _replaced(inner, names, str(each)) for each, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(each, names, name) for each in value]
    if isinstance(value, str):
        names.update(variables(value))
        if is_sensitive(name) and not variables(value) and not value.startswith(CREDENTIAL):
            return f"${{{SECRET_NAME}}}"
    return value


def _set(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for step in path[:-1]:
        inner = tree.get(step)
        tree[step] = dict(inner) if isinstance(inner, Mapping) else {}
        tree = tree[step]
    tree[path[-1]] = value


def _get(tree: Mapping[str, Any], *path: str) -> Any:
    found: Any = tree
    for step in path:
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def _set_model(tree: dict[str, Any]) -> None:
    model = {"id": "hostile", "input": ["text", "image"], "contextWindow": 200_000}
    provider = {
        "baseUrl": "http://127.0.0.1:9/v1",
        "api": "openai-completions",
        "apiKey": f"${{{SECRET_NAME}}}",
        "models": [model],
    }
    tree["models"] = {"providers": {CHANNEL: provider}}
    defaults = dict(_get(tree, "agents", "defaults") or {})
    defaults = {name: value for name, value in defaults.items() if name not in ("models", "imageModel")}
    _set(tree, ("agents", "defaults"), {**defaults, "model": {"primary": f"{CHANNEL}/hostile"}})
    own = _get(tree, "agents", "list")
    if isinstance(own, list):
        kept = [{name: value for name, value in agent.items() if name not in ("model", "imageModel")} for agent in own]
        _set(tree, ("agents", "list"), kept)


def _set_door(tree: dict[str, Any]) -> None:
    gateway = dict(tree.get("gateway") or {})
    gateway.pop("tls", None)
    tree["gateway"] = {**gateway, "bind": "loopback", "drainSeconds": 1, "auth": {"token": "${REDTEAM_TOKEN}"}}
    _set(tree, ("gateway", "http", "endpoints", "chatCompletions"), {"enabled": True})
    hooks = dict(tree.get("hooks") or {})
    tree["hooks"] = {**hooks, "enabled": True, "token": "${REDTEAM_HOOK_TOKEN}"}


def _set_web(tree: dict[str, Any], outside: int) -> None:
    given = _get(tree, "tools", "web", "allowPrivate") or []
    _set(tree, ("tools", "web", "allowPrivate"), [*given, f"127.0.0.1:{outside}"])
    engine = {"provider": "searxng", "searxng": {"baseUrl": f"http://127.0.0.1:{outside}/page"}}
    _set(tree, ("tools", "web", "search"), engine)


def _set_channels(tree: dict[str, Any]) -> tuple[str, ...]:
    channels = dict(tree.get("channels") or {})
    theirs = tuple(name for name, entry in channels.items() if isinstance(entry, Mapping) and entry.get("enabled", True))
    own = {"dmPolicy": "allowlist", "allowFrom": [FRIEND], "groupPolicy": "allowlist", "groupAllowFrom": [FRIEND]}
    tree["channels"] = {**channels, CHANNEL: own}
    owners = list(_get(tree, "commands", "ownerAllowFrom") or [])
    _set(tree, ("commands", "ownerAllowFrom"), [*owners, *(f"{name}:{OWNER_ID}" for name in (*theirs, CHANNEL))])
    return (*theirs, CHANNEL)
