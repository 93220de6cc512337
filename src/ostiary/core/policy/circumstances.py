"""Layers about who acts and in what circumstances: role, sandbox, sub-agent depth, the owner's switches."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Literal

from ostiary.contracts.identity import OWNER, SessionKey
from ostiary.contracts.policy import Action, Allow, Decision, Deny
from ostiary.contracts.records import dataclass
from ostiary.core.policy.effects import is_harmless
from ostiary.core.policy.judge import Layer
from ostiary.core.policy.layers import Lists, list_layer, lists_layer
from ostiary.core.policy.names import canonical

SandboxMode = Literal["off", "non-main", "all"]
Access = Literal["none", "ro", "rw"]

SANDBOX_DENY = ("browser", "cron", "canvas", "nodes", "gateway")
CHILDREN_DENY = (
    "gateway",
    "agents_list",
    "whatsapp_login",
    "session_status",
    "cron",
    "memory_search",
    "memory_get",
    "sessions_send",
)
LEAVES_DENY = ("sessions_list", "sessions_history", "sessions_spawn")
_WRITERS = ("write", "edit", "apply_patch", "vault_write", "vault_edit")
_MAIN = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxRules:
    """Where commands of an agent run, and the lists that hold for sessions in the sandbox. `lists` None: the usual ones."""

    mode: SandboxMode = "all"
    access: Access = "none"
    lists: Lists | None = None

    def holds(self, session: SessionKey) -> bool:
        """Whether this session's commands run in the sandbox."""
        return self.mode == "all" or (self.mode == "non-main" and session.scope != _MAIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthRules:
    """What sub-agents have. `lists.also_allow` and `lists.allow` take a tool off the usual deny lists."""

    max_depth: int = 1
    lists: Lists = field(default_factory=Lists)


def role_layer(roles: Mapping[str, Lists], *, plugin_tools: frozenset[str] = frozenset()) -> Layer:
    """The owner has every tool unless configuration says less; any other role has those that configuration gives it, and
    none if it says nothing of it. Raises BadInput."""
    layers = {
        role: lists_layer("role", lists, plugin_tools=plugin_tools, of_people=role != OWNER) for role, lists in roles.items()
    }

    def judge(action: Action) -> Decision | None:
        role = action.principal.role
        if role != OWNER and action.tool.owner_only:
            return Deny(layer="role", reason=f"{action.tool.name} is for the owner only")
        layer = layers.get(role)
        if layer is not None:
            return layer(action)
        if role == OWNER:
            return None
        return Deny(layer="role", reason=f"the role {role} has no tools")

    return judge


def sandbox_layer(rules: Callable[[str], SandboxRules], agents: tuple[str, ...], *, plugin_tools: frozenset[str]) -> Layer:
    """Narrow what sandboxed sessions have. `rules` are those of an agent, "" for one that is not listed. Raises BadInput."""
    known = {agent: (rules(agent), _sandboxed(rules(agent), plugin_tools)) for agent in ("", *agents)}

    def judge(action: Action) -> Decision | None:
        own, layer = known.get(action.session.agent, known[""])
        return layer(action) if own.holds(action.session) else None

    return judge


def _sandboxed(rules: SandboxRules, plugin_tools: frozenset[str]) -> Layer:
    lists = rules.lists or Lists(deny=SANDBOX_DENY)
    deny = (*lists.deny, *_WRITERS) if rules.access == "ro" else lists.deny
    # Looking at pictures needs nothing of the machine; it goes only by being denied.
    allow = None if lists.allow is None else (*lists.allow, "image")
    return list_layer("sandbox", allow=allow, deny=deny, plugin_tools=plugin_tools)


def depth_layer(rules: DepthRules, *, plugin_tools: frozenset[str] = frozenset()) -> Layer:
    """Narrow what sub-agents have; the deepest may start none of their own. Raises BadInput."""
    lists = rules.lists
    wanted = {canonical(name) for name in (*(lists.allow or ()), *lists.also_allow)}
    children = tuple(name for name in CHILDREN_DENY if name not in wanted)
    leaves = tuple(name for name in LEAVES_DENY if name not in wanted)
    inner = list_layer("depth", allow=lists.allow, deny=(*children, *lists.deny), plugin_tools=plugin_tools)
    leaf = list_layer("depth", allow=lists.allow, deny=(*children, *leaves, *lists.deny), plugin_tools=plugin_tools)

    def judge(action: Action) -> Decision | None:
        if action.depth <= 0:
            return None
        if action.depth > rules.max_depth and canonical(action.tool.name) == "sessions_spawn":
            return Deny(layer="depth", reason=f"sub-agents may be {rules.max_depth} deep, and this one is deeper already")
        return (leaf if action.depth >= rules.max_depth else inner)(action)

    return judge


def switch_layer(is_on: Callable[[str], bool], is_strict: Callable[[], bool]) -> Layer:
    """A tool that acts is off until the owner switches it on. Whoever sits before the house needs no switch, unless strict."""
    harmless = Allow(layer="switch", reason="it needs no switch: it only looks, or can be taken back")
    attended = Allow(layer="switch", reason="the owner is here and can be asked")
    on = Allow(layer="switch", reason="switched on")
    theirs = Allow(layer="switch", reason="it runs on the caller's side")

    def judge(action: Action) -> Decision:
        if action.tool.is_client:
            return theirs
        if is_harmless(action):
            return harmless
        if is_on(action.tool.name):
            return on
        if action.is_attended and not is_strict():
            return attended
        return Deny(layer="switch", reason=f"switched off; /enable {action.tool.name}")

    return judge
