"""From one generation of the configuration to the judge of tool calls. Pure; raises ConfigInvalid or BadInput."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ostiary.contracts.errors import ConfigInvalid
from ostiary.core.policy.circumstances import DepthRules, SandboxRules
from ostiary.core.policy.judge import Judge
from ostiary.core.policy.layers import Lists
from ostiary.core.policy.places import GroupRules
from ostiary.core.policy.rules import AgentRules, Rules, Runtime, compile_rules
from ostiary.core.policy.taint import TaintRules

if TYPE_CHECKING:
    from ostiary.assembly.config.agents import Agent, Sandbox
    from ostiary.assembly.config.conversation import Channel
    from ostiary.assembly.config.schema import Config
    from ostiary.assembly.config.tools import AgentTools, ToolLists, ToolRules, Tools


def judge_of(config: "Config", *, plugin_tools: frozenset[str] = frozenset(), runtime: Runtime | None = None) -> Judge:
    """The whole built-in policy. `runtime` brings what changes while this generation is in force."""
    return compile_rules(tool_rules(config, plugin_tools), runtime)


def tool_rules(config: "Config", plugin_tools: frozenset[str] = frozenset()) -> Rules:
    """What the file says of tools, in core's words."""
    tools, defaults = config.tools, config.agents.defaults
    if tools.confirm == "never" and config.posture != "open":
        sentence = f'tools.confirm: found "never", but the posture "{config.posture}" asks before what cannot be taken back'
        raise ConfigInvalid(sentence, problems=(sentence,), hint="Use danger or always; only the posture open has never.")
    _check_fence(config)
    return Rules(
        lists=_rules(tools),
        by_provider=_each(tools.by_provider),
        agents={agent.id: _agent(agent, tools, defaults.sandbox) for agent in config.agents.list},
        groups={name: _groups(channel) for name, channel in config.channels.items()},
        roles=_each(tools.roles),
        sandbox=_sandbox(defaults.sandbox, tools.sandbox.tools),
        depth=DepthRules(max_depth=defaults.subagents.max_spawn_depth, lists=_lists(tools.subagents.tools)),
        has_switches=tools.switches,
        confirm=tools.confirm,
        taint=TaintRules(mode=tools.taint.mode, by_role=tools.taint.by_role, recipients=frozenset(tools.message.recipients)),
        plugin_tools=plugin_tools,
    )


def _check_fence(config: "Config") -> None:
    """Only the posture open may leave sessions out of the sandbox."""
    places = [("agents.defaults", config.agents.defaults.sandbox)]
    places += [(f"agents.list ({agent.id})", agent.sandbox) for agent in config.agents.list if agent.sandbox is not None]
    for place, sandbox in places:
        if sandbox.mode != "all" and config.posture != "open":
            sentence = f'{place}.sandbox.mode: found "{sandbox.mode}", but the posture "{config.posture}" fences every command'
            raise ConfigInvalid(sentence, problems=(sentence,), hint="Use all; only the posture open has off and non-main.")


def _agent(agent: "Agent", tools: "Tools", general: "Sandbox") -> AgentRules:
    own = agent.tools
    return AgentRules(
        lists=_rules(own),
        by_provider=_each(own.by_provider),
        sandbox=_sandbox(agent.sandbox or general, own.sandbox.tools or tools.sandbox.tools),
    )


def _sandbox(where: "Sandbox", lists: "ToolLists | None") -> SandboxRules:
    return SandboxRules(mode=where.mode, access=where.workspace_access, lists=None if lists is None else _lists(lists))


def _groups(channel: "Channel") -> Mapping[str, GroupRules]:
    return {
        name: GroupRules(
            tools=_lists(group.tools), senders={sender: _lists(lists) for sender, lists in group.tools_by_sender.items()}
        )
        for name, group in channel.groups.items()
    }


def _each(rules: "Mapping[str, ToolRules]") -> Mapping[str, Lists]:
    return {name: _rules(each) for name, each in rules.items()}


def _rules(rules: "ToolRules | AgentTools | Tools") -> Lists:
    return Lists(profile=rules.profile, allow=rules.allow, deny=rules.deny, also_allow=rules.also_allow)


def _lists(lists: "ToolLists") -> Lists:
    return Lists(allow=lists.allow, deny=lists.deny, also_allow=lists.also_allow)
