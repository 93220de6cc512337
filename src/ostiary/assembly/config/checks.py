"""Rules between keys that no single key can show."""

import re
from collections.abc import Iterable

from ostiary.assembly.config.model_checks import check_models
from ostiary.assembly.config.parse import Reading
from ostiary.assembly.config.problems import Path
from ostiary.assembly.config.schema import Config
from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import SessionKey

_OWN_PATHS = frozenset({"", "v1", "ws", "auth", "healthz", "readyz", "metrics"})


def check(config: Config, reading: Reading) -> None:
    """Add what is contradictory to the problems, and what is probably not meant to the warnings."""
    _agents(config, reading)
    _gateway(config, reading)
    _hooks(config, reading)
    _limits_of_postures(config, reading)
    _patterns(config, reading)
    _time_zones(config, reading)
    _people(config, reading)
    check_models(config, reading)


def _agents(config: Config, reading: Reading) -> None:
    ids = [agent.id for agent in config.agents.list]
    for index, name in enumerate(ids):
        if name in ids[:index]:
            reading.refuse(("agents", "list", index, "id"), f'found "{name}", which another agent has already')
    defaults = [index for index, agent in enumerate(config.agents.list) if agent.default]
    for index in defaults[1:]:
        reading.refuse(("agents", "list", index, "default"), "only one agent can be the default")
    known = ids or ["main"]
    for index, binding in enumerate(config.bindings):
        if binding.agent_id not in known:
            reading.warn(
                ("bindings", index, "agentId"), f'no agent is called "{binding.agent_id}"; its messages go to the default agent'
            )
    for provider, names in config.auth.order.items():
        for index, name in enumerate(names):
            if config.auth.profiles and name not in config.auth.profiles:
                reading.warn(("auth", "order", provider, index), f'auth.profiles has no "{name}"')


def _gateway(config: Config, reading: Reading) -> None:
    gateway = config.gateway
    if gateway.auth.mode == "password" and gateway.auth.password is None:
        reading.refuse(("gateway", "auth", "password"), "is missing, but gateway.auth.mode is password")
    if bool(gateway.tls.cert_path) != bool(gateway.tls.key_path):
        reading.refuse(("gateway", "tls"), "certPath and keyPath belong together; with neither, a certificate is made")
    if gateway.bind != "loopback" and not gateway.tls.enabled:
        reading.warn(("gateway", "bind"), "others on the network can read what is sent; enable gateway.tls or stay on loopback")


def _hooks(config: Config, reading: Reading) -> None:
    hooks = config.hooks
    if hooks.enabled and hooks.token is None:
        reading.refuse(("hooks", "token"), "is missing, and without a token no hook is served")
    if hooks.path.strip("/").partition("/")[0] in _OWN_PATHS:
        reading.refuse(("hooks", "path"), f'found "{hooks.path}", where the gateway has pages of its own')
    known = [agent.id for agent in config.agents.list] or ["main"]
    _session_key(hooks.default_session_key, ("hooks", "defaultSessionKey"), reading)
    seen: set[str] = {"wake", "agent"}
    for index, mapping in enumerate(hooks.mappings):
        path: Path = ("hooks", "mappings", index)
        if mapping.id in seen:
            reading.refuse((*path, "id"), f'found "{mapping.id}", which another hook has already')
        seen.add(mapping.id)
        if mapping.agent_id and mapping.agent_id not in known:
            reading.refuse((*path, "agentId"), f'no agent is called "{mapping.agent_id}"')
        if mapping.deliver and not (mapping.channel and mapping.to):
            reading.refuse((*path, "deliver"), "needs channel and to")
        _session_key(mapping.session_key, (*path, "sessionKey"), reading)
        _template(mapping.message_template, (*path, "messageTemplate"), reading)
        _template(mapping.text_template, (*path, "textTemplate"), reading)


def _session_key(text: str, path: Path, reading: Reading) -> None:
    if "{{" in text:
        reading.refuse(path, "is a template, but a payload never chooses its session")
        return
    try:
        SessionKey.parse(text if text.startswith("agent:") else f"agent:main:{text or 'main'}")
    except BadInput as error:
        reading.refuse(path, str(error))


def _template(text: str, path: Path, reading: Reading) -> None:
    if not text:
        return
    from ostiary.gateway.hooks.template import compile_template

    try:
        compile_template(text)
    except BadInput as error:
        reading.refuse(path, str(error))


def _limits_of_postures(config: Config, reading: Reading) -> None:
    if config.tools.elevated.enabled and config.posture != "open":
        reading.refuse(("tools", "elevated", "enabled"), f'the posture "{config.posture}" has no elevated mode; only open has')
    if config.tools.confirm == "never" and config.posture != "open":
        reading.refuse(
            ("tools", "confirm"), f'the posture "{config.posture}" asks before what cannot be taken back; only open may not'
        )
    if config.posture not in ("team", "vault"):
        return
    places: list[tuple[Path, str]] = [(("agents", "defaults", "sandbox", "mode"), config.agents.defaults.sandbox.mode)]
    places += [
        (("agents", "list", index, "sandbox", "mode"), agent.sandbox.mode)
        for index, agent in enumerate(config.agents.list)
        if agent.sandbox is not None
    ]
    for path, mode in places:
        if mode != "all":
            reading.refuse(path, f'found "{mode}", but the posture "{config.posture}" keeps every session in the sandbox')


def _patterns(config: Config, reading: Reading) -> None:
    _compile(config.messages.group_chat.mention_patterns, ("messages", "groupChat", "mentionPatterns"), reading)
    for index, agent in enumerate(config.agents.list):
        _compile(agent.group_chat.mention_patterns, ("agents", "list", index, "groupChat", "mentionPatterns"), reading)


def _compile(patterns: Iterable[str], path: Path, reading: Reading) -> None:
    for index, pattern in enumerate(patterns):
        try:
            re.compile(pattern)
        except re.error as error:
            reading.refuse((*path, index), f"is not a regular expression: {error}")


def _time_zones(config: Config, reading: Reading) -> None:
    defaults = config.agents.defaults
    _time_zone(defaults.user_timezone, ("agents", "defaults", "userTimezone"), reading)
    if defaults.envelope_timezone not in ("local", "utc", "user"):
        _time_zone(defaults.envelope_timezone, ("agents", "defaults", "envelopeTimezone"), reading)


def _time_zone(name: str, path: Path, reading: Reading) -> None:
    if not name:
        return
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        reading.refuse(path, f'found "{name[:60]}", but a time zone such as Europe/Berlin is allowed')


def _people(config: Config, reading: Reading) -> None:
    for name, channel in config.channels.items():
        if channel.dm_policy == "open" and channel.enabled:
            reading.warn(("channels", name, "dmPolicy"), "anybody who finds this channel can talk to the assistant")
        if channel.dm_policy == "allowlist" and not channel.allow_from:
            reading.warn(("channels", name, "allowFrom"), "is empty, so nobody can write to it directly")
    for person, links in config.session.identity_links.items():
        for index, link in enumerate(links):
            if ":" not in link:
                reading.refuse(("session", "identityLinks", person, index), f'found "{link}", but channel:id is allowed')
