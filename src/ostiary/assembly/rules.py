"""From one generation of the configuration to the rules that core reads. Raises ConfigInvalid or BadInput; what is probably
not meant is logged."""

import logging
import os
from datetime import tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from ostiary.assembly.policies import judge_of
from ostiary.assembly.prompts import load_words
from ostiary.contracts.errors import ConfigInvalid
from ostiary.contracts.records import dataclass
from ostiary.core.agent.pruning import PruningRules
from ostiary.core.agent.room import CompactionRules, FlushRules
from ostiary.core.agent.run import RunRules
from ostiary.core.agent.tool_results import ToolLimits
from ostiary.core.policy.judge import Judge
from ostiary.core.policy.rules import Runtime
from ostiary.core.routing.access import GroupRule, SpeakPolicy
from ostiary.core.routing.bindings import AgentEntry, Binding, compile_bindings, default_agent, peer_from
from ostiary.core.routing.desk import DeskRules
from ostiary.core.routing.intake import IntakeRules
from ostiary.core.routing.lanes import LaneCaps
from ostiary.core.routing.people import parse_owners
from ostiary.core.routing.queue import QueueRules
from ostiary.core.routing.scopes import ScopeRules, compile_links
from ostiary.core.routing.sendpolicy import SendPolicy, SendRule
from ostiary.core.sessions.resets import ResetPolicy, ResetRules, policy_from

if TYPE_CHECKING:
    from ostiary.assembly.config.agents import AgentDefaults
    from ostiary.assembly.config.agents import Binding as ConfiguredBinding
    from ostiary.assembly.config.conversation import Channel, Group, Reset
    from ostiary.assembly.config.schema import Config

log = logging.getLogger("ostiary.policy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Everything core takes from one generation."""

    generation: int
    agents: tuple[str, ...]
    default_agent: str
    intake: IntakeRules
    desk: DeskRules
    run: RunRules
    caps: LaneCaps
    resets: ResetRules
    send: SendPolicy
    zone: tzinfo
    zone_name: str
    judge: Judge
    tool_limits: ToolLimits
    drain_seconds: float
    file_chars: int
    files_chars: int


def compile_rules(
    config: "Config", generation: int, *, plugin_tools: frozenset[str] = frozenset(), runtime: Runtime | None = None
) -> Rules:
    """`runtime` is what the judge asks while this generation is in force; None: nothing is switched on, nothing vouched for."""
    agents = tuple(AgentEntry(id=agent.id, default=agent.default) for agent in config.agents.list)
    zone_name, zone = _zone(config.agents.defaults.user_timezone)
    defaults = config.agents.defaults
    judge = judge_of(config, plugin_tools=plugin_tools, runtime=runtime)
    for warning in judge.warnings:
        log.warning("%s", warning)
    return Rules(
        generation=generation,
        agents=tuple(agent.id for agent in agents) or ("main",),
        default_agent=default_agent(agents),
        intake=_intake(config, agents),
        desk=DeskRules(reset_triggers=tuple(word for word in config.session.reset_triggers if word not in ("/new", "/reset"))),
        run=RunRules(
            timeout=float(defaults.timeout_seconds),
            thinking=defaults.thinking_default,
            history_messages=config.session.history_limit,
            history_turns={name: each.dm_history_limit for name, each in config.channels.items() if each.dm_history_limit},
            context_tokens=defaults.context_tokens,
            compaction=_compaction(defaults),
            pruning=_pruning(defaults),
        ),
        caps=LaneCaps(caps={"main": defaults.max_concurrent, "subagent": defaults.subagents.max_concurrent, "cron": 1}),
        resets=_resets(config),
        send=_send(config),
        zone=zone,
        zone_name=zone_name,
        judge=judge,
        tool_limits=ToolLimits(result_chars=config.tools.result_max_bytes),
        drain_seconds=float(config.gateway.drain_seconds),
        file_chars=defaults.bootstrap_max_chars,
        files_chars=defaults.bootstrap_total_max_chars,
    )


def _compaction(defaults: "AgentDefaults") -> CompactionRules:
    given = defaults.compaction
    flush = given.memory_flush
    return CompactionRules(
        mode=given.mode,
        prompt=load_words("compaction"),
        reserve=given.reserve_tokens_floor,
        at_tokens=given.at_tokens,
        flush=FlushRules(
            enabled=flush.enabled,
            soft=flush.soft_threshold_tokens,
            prompt=flush.prompt or load_words("flush"),
            system=flush.system_prompt,
        ),
    )


def _pruning(defaults: "AgentDefaults") -> PruningRules:
    given = defaults.context_pruning
    return PruningRules(
        enabled=given.mode == "cache-ttl",
        ttl=_seconds(given.ttl),
        keep_assistants=given.keep_last_assistants,
        soft=given.soft_trim_ratio,
        hard=given.hard_clear_ratio,
        clear_from=given.min_prunable_tool_chars,
        trim_from=given.soft_trim.max_chars,
        head=given.soft_trim.head_chars,
        tail=given.soft_trim.tail_chars,
        clears=given.hard_clear.enabled,
        placeholder=given.hard_clear.placeholder,
        allow=given.tools.allow,
        deny=given.tools.deny,
    )


def _seconds(span: str) -> float:
    unit = {"s": 1, "m": 60, "h": 3600}.get(span[-1:], 1)
    return float(span.rstrip("smh")) * unit


def _intake(config: "Config", agents: tuple[AgentEntry, ...]) -> IntakeRules:
    queue = config.messages.queue
    base = QueueRules(mode=queue.mode, debounce=queue.debounce_ms / 1000, cap=queue.cap, drop=queue.drop)
    debounce = {name: millis / 1000 for name, millis in config.messages.inbound.by_channel.items()}
    return IntakeRules(
        bindings=compile_bindings([_binding(each) for each in config.bindings], agents),
        scopes=ScopeRules(dm=config.session.dm_scope, links=compile_links(config.session.identity_links)),
        owners=parse_owners(config.commands.owner_allow_from),
        speak={name: _speak(channel) for name, channel in config.channels.items() if channel.enabled},
        queue=base,
        queue_by_channel={
            name: QueueRules(mode=mode, debounce=base.debounce, cap=base.cap, drop=base.drop)
            for name, mode in queue.by_channel.items()
        },
        inbound_debounce={**debounce, "": config.messages.inbound.debounce_ms / 1000},
    )


def _binding(each: "ConfiguredBinding") -> Binding:
    match = each.match
    peer, parent = match.peer, match.parent_peer
    return Binding(
        agent=each.agent_id,
        channel=match.channel,
        account=match.account_id,
        peer=peer_from(peer.kind, peer.id) if peer is not None else None,
        parent=peer_from(parent.kind, parent.id) if parent is not None else None,
        guild=match.guild_id,
        team=match.team_id,
        roles=match.roles,
    )


def _speak(channel: "Channel") -> SpeakPolicy:
    return SpeakPolicy(
        dm=channel.dm_policy,
        group=channel.group_policy,
        allow_from=frozenset(channel.allow_from),
        group_allow_from=frozenset(channel.group_allow_from) or None,
        groups={name: _group_rule(group) for name, group in channel.groups.items()},
        require_mention=channel.require_mention,
    )


def _group_rule(group: "Group") -> GroupRule:
    return GroupRule(
        require_mention=group.require_mention, allow_from=None if group.allow_from is None else frozenset(group.allow_from)
    )


def _resets(config: "Config") -> ResetRules:
    session = config.session
    return ResetRules(
        general=_reset(session.reset),
        by_type={name: _reset(rule) for name, rule in session.reset_by_type.items()},
        by_channel={name: _reset(rule) for name, rule in session.reset_by_channel.items()},
    )


def _reset(rule: "Reset") -> ResetPolicy:
    return policy_from("off" if rule.mode == "never" else rule.mode, rule.at_hour, rule.idle_minutes)


def _send(config: "Config") -> SendPolicy:
    policy = config.session.send_policy
    return SendPolicy(
        default=policy.default,
        rules=tuple(
            SendRule(
                action=rule.action,
                channel=rule.match.channel,
                chat_type=rule.match.chat_type or "",
                key_prefix=rule.match.key_prefix,
                raw_key_prefix=rule.match.raw_key_prefix,
            )
            for rule in policy.rules
        ),
    )


def _zone(name: str) -> tuple[str, tzinfo]:
    name = name or local_zone_name()
    try:
        return name, ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        sentence = f"agents.defaults.userTimezone: {name!r} is not a time zone"
        raise ConfigInvalid(sentence, problems=(sentence,), hint="Use a name such as Europe/Berlin.") from error


def local_zone_name() -> str:
    """The machine's zone by its lasting name: an offset alone would be wrong after the next change of the clocks."""
    named = os.environ.get("TZ", "").lstrip(":")
    if named and named in available_timezones():
        return named
    target = os.path.realpath("/etc/localtime")
    _, found, name = target.partition("zoneinfo/")
    return name if found else "UTC"
