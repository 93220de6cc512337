"""What people want to know beside a decision: what would change it, and what in their question was probably not meant."""

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ostiary.contracts.identity import EXTERNAL, OWNER
from ostiary.contracts.policy import Action, Allow, Decision
from ostiary.core.agent.arguments import validate

if TYPE_CHECKING:
    from ostiary.assembly.config.schema import Config

_PLUGIN = "the policy {layer} of a plugin decides; that plugin's own settings"
_CHANGES: Mapping[str, str] = {
    "profile": "tools.alsoAllow gives {tool} besides the profile",
    "provider profile": "profile and alsoAllow in tools.byProvider.{provider}",
    "tools": "tools.allow and tools.deny",
    "provider": "allow and deny in tools.byProvider.{provider}",
    "agent": "tools of the agent {agent} in agents.list",
    "agent provider": "tools.byProvider of the agent {agent} in agents.list",
    "group": "tools of the group in channels.{channel}.groups",
    "sender": "toolsBySender of the group in channels.{channel}.groups",
    "role": "tools.roles.{role}",
    "sandbox": "tools.sandbox.tools, and workspaceAccess in agents.defaults.sandbox",
    "depth": "tools.subagents.tools",
    "switch": "ostiary enable {tool}, or /enable {tool} in a chat",
    "guard": "nothing: secrets and the owner's own files are kept from every tool",
    "confirm": "a yes for a time, when you are asked: ostiary approvals allow <id> --for 8h",
    "taint": "a new conversation, which holds nothing from outside; tools.message.recipients; tools.taint",
}


def change_of(decision: Decision, action: Action) -> str:
    """Where to turn for another decision; empty for what is allowed."""
    if isinstance(decision, Allow):
        return ""
    return _CHANGES.get(decision.layer, _PLUGIN).format(
        layer=decision.layer,
        tool=action.tool.name,
        provider=action.provider or "<provider>",
        agent=action.session.agent,
        channel=action.channel,
        role=action.principal.role,
    )


def doubts_of(action: Action, config: "Config", here: Collection[str]) -> Iterator[str]:
    """Sentences about names that nothing in the house has, and arguments that no call could have. `here` are the places
    where the owner sits, which are no configured channels."""
    roles = {OWNER, EXTERNAL, *config.tools.roles, *config.tools.taint.by_role}
    if action.principal.role not in roles:
        yield f"no rule names the role {action.principal.role}{_meant(action.principal.role, roles)}"
    channels = {*here, *config.channels}
    if action.channel not in channels:
        yield f"no channel {action.channel} is configured{_meant(action.channel, channels)}"
    problems = validate(action.arguments, action.tool.schema.parameters) if action.arguments else ()
    if problems:
        yield f"a call with these arguments is refused before any rule is asked: {'; '.join(problems)}"


def _meant(name: str, known: Collection[str]) -> str:
    close = get_close_matches(name, sorted(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""
