"""What the configuration opens: who can reach the gateway, who is heard, what is done without asking."""

from collections.abc import Iterator

from ostiary.assembly.config.conversation import Channel
from ostiary.assembly.config.schema import Config
from ostiary.assembly.security_words import Finding, Severity
from ostiary.core.policy.names import PROFILES, NameSet

_EVERYBODY = frozenset({"*", "0.0.0.0/0", "::/0", "0.0.0.0", "::"})  # noqa: S104 - what is looked for
_ACTING = ("exec", "process", "write", "edit", "apply_patch", "browser", "message", "cron", "gateway", "nodes")
_LONG_TRIES = 50
_SHORT_LOCKOUT_MS = 60_000


def config_findings(config: Config) -> Iterator[Finding]:
    """Pure: the same findings for the same configuration."""
    yield from _gateway(config)
    yield from _tools(config)
    yield from _fence(config)
    for name, channel in sorted(config.channels.items()):
        if channel.enabled:
            yield from _channel(config, name, channel)
    yield from _people(config)
    yield from _rest(config)


def _gateway(config: Config) -> Iterator[Finding]:
    gateway = config.gateway
    if gateway.bind != "loopback":
        yield Finding(
            id="gateway.exposed",
            severity="warning",
            sentence=f"The gateway listens beyond this machine (gateway.bind is {gateway.bind}).",
            fix="ostiary config unset gateway.bind",
        )
        if not gateway.tls.enabled:
            yield Finding(
                id="gateway.no_tls",
                severity="critical",
                sentence="Tokens and messages cross the network unencrypted.",
                fix="ostiary config set gateway.tls.enabled true",
            )
        if gateway.auth.mode == "password":
            yield Finding(
                id="gateway.password",
                severity="warning",
                sentence="A password, which a person chose, is all that keeps the network out.",
                fix="ostiary config unset gateway.auth.mode",
            )
    if _EVERYBODY & set(gateway.trusted_proxies):
        yield Finding(
            id="gateway.any_proxy",
            severity="critical",
            sentence="Anyone may claim any address: X-Forwarded-For is believed from everywhere.",
            fix="ostiary config unset gateway.trustedProxies",
        )
    limit = gateway.auth.rate_limit
    if limit.max_attempts > _LONG_TRIES or limit.lockout_ms < _SHORT_LOCKOUT_MS:
        yield Finding(
            id="gateway.guessing",
            severity="warning",
            sentence=f"Guessing is cheap: {limit.max_attempts} tries, then {limit.lockout_ms // 1000} s of waiting.",
            fix="ostiary config unset gateway.auth.rateLimit",
        )
    if config.hooks.enabled and gateway.bind != "loopback":
        yield Finding(
            id="hooks.exposed",
            severity="info",
            sentence="Webhooks are served to the network; each needs its token.",
        )


def _tools(config: Config) -> Iterator[Finding]:
    tools = config.tools
    if tools.confirm == "never":
        yield Finding(
            id="tools.no_confirm",
            severity="critical",
            sentence="Nothing is asked: the model runs commands, sends and spends by itself.",
            fix="ostiary config set tools.confirm danger",
        )
    for role, mode in (("", tools.taint.mode), *sorted(tools.taint.by_role.items())):
        if mode == "off":
            whom = f" for the role {role}" if role else ""
            key = f"tools.taint.byRole.{role}" if role else "tools.taint.mode"
            yield Finding(
                id="tools.no_taint",
                severity="critical",
                sentence=f"Text from outside may drive actions on private data{whom}.",
                fix=f"ostiary config set {key} ask",
            )
    if config.channels and not tools.switches:
        yield Finding(
            id="tools.no_switches",
            severity="info",
            sentence="On channels, tools that act are there without /enable.",
            fix="ostiary config set tools.switches true",
        )
    if tools.elevated.enabled:
        anyone = any("*" in senders for senders in tools.elevated.allow_from.values())
        yield Finding(
            id="tools.elevated",
            severity="critical" if anyone else "warning",
            sentence=f"{'Everybody' if anyone else 'Some senders'} may run commands outside the sandbox.",
            fix="ostiary config unset tools.elevated",
        )
    if not tools.fs.workspace_only:
        yield Finding(
            id="tools.whole_disk",
            severity="warning",
            sentence="File tools are not kept inside the workspace.",
            fix="ostiary config unset tools.fs.workspaceOnly",
        )
    if tools.web.allow_private:
        listed = ", ".join(tools.web.allow_private[:5])
        yield Finding(
            id="tools.private_network",
            severity="critical" if _EVERYBODY & set(tools.web.allow_private) else "info",
            sentence=f"The assistant reaches private addresses: {listed}.",
            fix="ostiary config unset tools.web.allowPrivate",
        )
    for role, rules in sorted(tools.roles.items()):
        names = _granted(rules.profile, rules.allow, rules.also_allow, rules.deny)
        if role != "owner" and names:
            yield Finding(
                id="tools.role",
                severity="warning",
                sentence=f"The role {role} has tools that act: {', '.join(names)}.",
                fix=f"ostiary config set tools.roles.{role}.deny '{list(names)}'",
            )


def _granted(profile: str | None, allow: tuple[str, ...] | None, also: tuple[str, ...], deny: tuple[str, ...]) -> tuple[str, ...]:
    """Which of the acting tools these lists let through."""
    granted = NameSet((*PROFILES.get(profile or "full", ()), *also))
    allowed = NameSet(allow) if allow is not None else None
    denied = NameSet(deny)
    return tuple(name for name in _ACTING if name in granted and (allowed is None or name in allowed) and name not in denied)


def _fence(config: Config) -> Iterator[Finding]:
    settings = [("agents.defaults", config.agents.defaults.sandbox)]
    settings += [(f"agents.list of {agent.id}", agent.sandbox) for agent in config.agents.list if agent.sandbox is not None]
    for where, sandbox in settings:
        if sandbox.mode != "all":
            what = "no session's" if sandbox.mode == "off" else "the main session's"
            yield Finding(
                id="sandbox.off" if sandbox.mode == "off" else "sandbox.partial",
                severity="critical" if sandbox.mode == "off" else "warning",
                sentence=f"In {where} {what} commands {'are' if sandbox.mode == 'off' else 'are not'} fenced.",
                fix="ostiary config set agents.defaults.sandbox.mode all",
            )
        if sandbox.scope == "shared":
            yield Finding(
                id="sandbox.shared",
                severity="warning",
                sentence=f"In {where} all agents share one sandbox and see each other's files.",
                fix="ostiary config set agents.defaults.sandbox.scope agent",
            )


def _channel(config: Config, name: str, channel: Channel) -> Iterator[Finding]:
    tools = config.tools
    acting = _granted(tools.profile, tools.allow, tools.also_allow, tools.deny)
    has_roles = any(role != "owner" for role in tools.roles)
    grave: Severity = "critical" if acting and has_roles else "warning"
    if channel.dm_policy == "open" or "*" in channel.allow_from:
        yield Finding(
            id="channels.dm_open",
            severity=grave,
            sentence=f"Anybody may write to the assistant on {name}.",
            fix=f"ostiary config set channels.{name}.dmPolicy pairing",
        )
    if channel.group_policy == "open" or "*" in channel.group_allow_from:
        yield Finding(
            id="channels.group_open",
            severity=grave,
            sentence=f"On {name} the assistant speaks in any group and to anybody in it"
            + (f", with tools that act: {', '.join(acting)}." if acting and has_roles else "."),
            fix=f"ostiary config set channels.{name}.groupPolicy allowlist",
        )
        if not channel.require_mention:
            yield Finding(
                id="channels.no_mention",
                severity="warning",
                sentence=f"On {name} every message of an open group is read and answered.",
                fix=f"ostiary config unset channels.{name}.requireMention",
            )
    if config.session.dm_scope == "main" and (channel.dm_policy == "open" or len(channel.allow_from) > 1):
        yield Finding(
            id="channels.shared_talk",
            severity="warning",
            sentence=f"Several people on {name} share one conversation and read each other's words.",
            fix="ostiary config set session.dmScope per-channel-peer",
        )


def _people(config: Config) -> Iterator[Finding]:
    if not config.commands.use_access_groups:
        yield Finding(
            id="commands.anybody",
            severity="critical",
            sentence="Slash commands of people who may not talk are carried out.",
            fix="ostiary config unset commands.useAccessGroups",
        )
    if "*" in config.commands.owner_allow_from or any(each.endswith(":*") for each in config.commands.owner_allow_from):
        yield Finding(
            id="commands.any_owner",
            severity="critical",
            sentence="Everybody counts as the owner (commands.ownerAllowFrom).",
            fix="ostiary config unset commands.ownerAllowFrom",
        )
    if any(channel.enabled for channel in config.channels.values()) and not config.commands.owner_allow_from:
        yield Finding(
            id="commands.no_owner",
            severity="info",
            sentence="Nobody on a channel is known as the owner, so nobody there can approve or command.",
            fix="ostiary config set commands.ownerAllowFrom '[\"<channel>:<your id>\"]'",
        )


def _rest(config: Config) -> Iterator[Finding]:
    if config.logging.redact_sensitive != "all":
        yield Finding(
            id="logging.redaction",
            severity="warning",
            sentence="Secrets are taken out of the output of tools only.",
            fix="ostiary config unset logging.redactSensitive",
        )
    if config.logging.level == "debug":
        sentence = "The log says more than it needs to."
        yield Finding(id="logging.debug", severity="info", sentence=sentence, fix="ostiary config unset logging.level")
    if config.posture == "open":
        yield Finding(
            id="posture.open",
            severity="warning",
            sentence="The posture open asks nothing and fences little; it is meant for a machine that holds nothing else.",
            fix="ostiary config set posture personal",
        )
