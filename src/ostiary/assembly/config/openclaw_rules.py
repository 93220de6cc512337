"""What is known about OpenClaw's keys beyond the names that are the same."""

from collections.abc import Mapping

from ostiary.assembly.config import edit, json5
from ostiary.assembly.config.problems import Path

NOT_NEEDED: tuple[Path, ...] = (("meta",), ("wizard",), ("$schema",), ("gateway", "mode"), ("session", "scope"))
"""Housekeeping of the other program, or what is always so here: dropped without a word."""

REASONS: Mapping[str, str] = {
    "session.mainKey": "the shared conversation is always called main",
    "session.store": "sessions live in Ostiary's encrypted store",
    "env.shellEnv": "Ostiary never starts a shell to collect variables; name them in the service's environment",
    "plugins.load": "plugins are installed as Python packages",
    "plugins.installs": "plugins are installed as Python packages",
    "agents.defaults.memorySearch": "memory search is set up elsewhere",
    "agents.defaults.sandbox.docker": "the built-in sandbox needs no image",
    "agents.list.*.agentDir": "every agent's state lives in the store",
    "tools.elevated.enabled": "elevated mode exists only in the posture open (import again with --posture open)",
    "gateway.remote": "Ostiary's command line finds its gateway by the state directory",
    "gateway.auth.mode": "the gateway always asks for a token or a password",
    "logging.redactSensitive": "redaction cannot be switched off",
    "$include": "only one file is read; put the included parts into it",
}
"""Why a key stays behind, by its path with * for list entries."""

VALUES: Mapping[str, Mapping[str, str]] = {
    "logging.level": {"trace": "debug", "warn": "warning", "silent": "error", "fatal": "error"},
    "logging.redactSensitive": {"on": "all"},
}
"""Other words for the same value."""

_CHANNEL_MOVES = ((("dm", "policy"), ("dmPolicy",)), (("dm", "allowFrom"), ("allowFrom",)))


def settle(text: str, left: list[str]) -> str:
    """Apply what is known: drop housekeeping, unwrap `env.vars`, rename values, lift a channel's `dm` block."""
    for path in NOT_NEEDED:
        text = edit.unset(text, path)
    text = _env(text, left)
    root = json5.parse(text)
    for place, words in VALUES.items():
        path = tuple(place.split("."))
        node = edit.find(root, path)
        if node is not None and node.value in words:
            text = edit.set_value(text, path, words[str(node.value)])
    return _channels(text)


def _env(text: str, left: list[str]) -> str:
    block = edit.find(json5.parse(text), ("env", "vars"))
    for member in block.members if block is not None else ():
        text = edit.set_value(text, ("env", member.name), member.node.plain())
    text = edit.unset(text, ("env", "vars"))
    if edit.find(json5.parse(text), ("env", "shellEnv")) is not None:
        left.append(f"env.shellEnv: {REASONS['env.shellEnv']}")
        text = edit.unset(text, ("env", "shellEnv"))
    return text


def _channels(text: str) -> str:
    channels = edit.find(json5.parse(text), ("channels",))
    for channel in channels.members if channels is not None else ():
        base: Path = ("channels", channel.name)
        for old, new in _CHANNEL_MOVES:
            root = json5.parse(text)
            if edit.find(root, (*base, *old)) is not None and edit.find(root, (*base, *new)) is None:
                source = edit.source_at(text, (*base, *old))
                text = edit.set_source(text, (*base, *new), source or "null")
                text = edit.unset(text, (*base, *old))
        node = edit.find(json5.parse(text), (*base, "dm"))
        if node is not None and node.kind == "object" and not node.members:
            text = edit.unset(text, (*base, "dm"))
    return text
