"""The whole built-in policy of one configuration generation, compiled: fifteen layers in one order.

    profile > provider profile > tools > provider > agent > agent provider > group > sender > role > sandbox > depth > switch
    > guard > confirm > taint

The first grants, the others narrow. Up to the switch they look at names and circumstances, so they also say which tools the
model is shown; the last three look at arguments and at what the conversation holds.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace

from ostiary.contracts.identity import OWNER
from ostiary.contracts.policy import Action, Allow, Decision, Deny
from ostiary.contracts.records import dataclass
from ostiary.core.policy.circumstances import DepthRules, SandboxRules, depth_layer, role_layer, sandbox_layer, switch_layer
from ostiary.core.policy.confirm import Confirm, confirm_layer
from ostiary.core.policy.judge import Judge, Layer
from ostiary.core.policy.layers import Lists, list_layer, lists_layer, profile_layer
from ostiary.core.policy.names import CORE_TOOLS, NameSet, misspelt, names_plugins_alone
from ostiary.core.policy.places import Groups, group_layer, sender_layer
from ostiary.core.policy.taint import TaintRules, never_watched, taint_layer

LAYERS = (
    "profile",
    "provider profile",
    "tools",
    "provider",
    "agent",
    "agent provider",
    "group",
    "sender",
    "role",
    "sandbox",
    "depth",
    "switch",
    "guard",
    "confirm",
    "taint",
)

ByProvider = Mapping[str, Lists]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRules:
    """What configuration says of one agent. `sandbox` None: as for all."""

    lists: Lists = field(default_factory=Lists)
    by_provider: ByProvider = field(default_factory=dict)
    sandbox: SandboxRules | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What configuration says of tools. `plugin_tools` are the names that came in from plugins, for `group:plugins`.

    `lists.profile` and `lists.also_allow` grant; an agent's `also_allow` grants to that agent. `has_switches`: what acts is
    off until it is switched on. Maps are by provider or provider/model, agent, channel and group, role."""

    lists: Lists = field(default_factory=lambda: Lists(profile="minimal"))
    by_provider: ByProvider = field(default_factory=dict)
    agents: Mapping[str, AgentRules] = field(default_factory=dict)
    groups: Groups = field(default_factory=dict)
    roles: Mapping[str, Lists] = field(default_factory=dict)
    sandbox: SandboxRules = field(default_factory=SandboxRules)
    depth: DepthRules = field(default_factory=DepthRules)
    has_switches: bool = False
    confirm: Confirm = "danger"
    taint: TaintRules = field(default_factory=TaintRules)
    plugin_tools: frozenset[str] = frozenset()

    def sandbox_of(self, agent: str) -> SandboxRules:
        own = self.agents.get(agent)
        return self.sandbox if own is None or own.sandbox is None else own.sandbox


def nothing_on(tool: str) -> bool:
    """No tool is switched on."""
    return False


def not_strict() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """What changes while a generation is in force. `is_on` tells whether the owner switched a tool on; `is_strict` whether
    even the owner before the house needs a switch. `guard` keeps secrets. The other three: see TaintRules."""

    is_on: Callable[[str], bool] = nothing_on
    is_strict: Callable[[], bool] = not_strict
    guard: Layer | None = None
    is_known_url: Callable[[Action, str], bool] | None = None
    is_named: Callable[[Action, str], bool] | None = None
    is_watched: Callable[[Action], bool] = never_watched


def compile_rules(rules: Rules, runtime: Runtime | None = None) -> Judge:
    """Raises BadInput for a profile or group nobody knows and for a sender named otherwise than by a stable id."""
    runtime = runtime or Runtime()
    plugins = rules.plugin_tools
    lists = rules.lists
    agents = {agent: own.lists for agent, own in rules.agents.items()}
    narrowing: list[tuple[str, Layer | None]] = [
        ("provider profile", _by_provider("provider profile", _profiles(rules.by_provider), plugins)),
        ("tools", list_layer("tools", allow=lists.allow, deny=lists.deny, plugin_tools=plugins)),
        ("provider", _by_provider("provider", _without_profiles(rules.by_provider), plugins)),
        ("agent", _by_agent({agent: lists_layer("agent", own, plugin_tools=plugins) for agent, own in agents.items()})),
        ("agent provider", _by_agent(_agents_by_provider(rules, plugins))),
        ("group", group_layer(rules.groups, plugin_tools=plugins)),
        ("sender", sender_layer(rules.groups, plugin_tools=plugins)),
        ("role", role_layer(rules.roles, plugin_tools=plugins)),
        ("sandbox", sandbox_layer(rules.sandbox_of, tuple(rules.agents), plugin_tools=plugins)),
        ("depth", depth_layer(rules.depth, plugin_tools=plugins)),
        ("switch", switch_layer(runtime.is_on, runtime.is_strict) if rules.has_switches else None),
        ("guard", runtime.guard),
        ("confirm", confirm_layer(rules.confirm)),
        ("taint", taint_layer(_taint(rules, runtime))),
    ]
    return Judge(
        ("profile", _grant(rules)),
        [(name, layer or _silent) for name, layer in narrowing],
        warnings=tuple(_doubts(rules)),
    )


def _silent(action: Action) -> Decision | None:
    """A layer that is not configured has nothing against anything."""
    return None


def _grant(rules: Rules) -> Layer:
    general = profile_layer(rules.lists.profile or "minimal", rules.lists.also_allow, plugin_tools=rules.plugin_tools)
    own = {
        agent: NameSet(each.lists.also_allow, plugin_tools=rules.plugin_tools, follows=True)
        for agent, each in rules.agents.items()
    }

    def grant(action: Action) -> Decision | None:
        decision = general(action)
        if type(decision) is not Deny or action.tool.name not in own.get(action.session.agent, ()):
            return decision
        return Allow(layer="profile", reason=f"given to the agent {action.session.agent} besides its profile")

    return grant


def _taint(rules: Rules, runtime: Runtime) -> TaintRules:
    def is_fenced(action: Action) -> bool:
        return rules.sandbox_of(action.session.agent).holds(action.session)

    taint = replace(rules.taint, is_fenced=is_fenced, is_watched=runtime.is_watched)
    if runtime.is_known_url is not None:
        taint = replace(taint, is_known_url=runtime.is_known_url)
    return taint if runtime.is_named is None else replace(taint, is_named=runtime.is_named)


def _profiles(by_provider: ByProvider) -> ByProvider:
    return {
        name: Lists(profile=each.profile, also_allow=each.also_allow)
        for name, each in by_provider.items()
        if each.profile is not None
    }


def _without_profiles(by_provider: ByProvider) -> ByProvider:
    kept = {name: Lists(allow=each.allow, deny=each.deny) for name, each in by_provider.items()}
    return {name: each for name, each in kept.items() if not each.is_silent}


def _by_provider(name: str, by_provider: ByProvider, plugins: frozenset[str]) -> Layer | None:
    """Of a provider/model and a provider the more specific entry counts, as far as it says anything in this layer."""
    if not by_provider:
        return None
    layers = {key.strip().lower(): lists_layer(name, lists, plugin_tools=plugins) for key, lists in by_provider.items()}

    def judge(action: Action) -> Decision | None:
        provider = action.provider.lower()
        full = f"{provider}/{action.model.lower().removeprefix(f'{provider}/')}"
        layer = layers.get(full) or layers.get(provider)
        return None if layer is None else layer(action)

    return judge


def _by_agent(layers: Mapping[str, Layer | None]) -> Layer:
    def judge(action: Action) -> Decision | None:
        layer = layers.get(action.session.agent)
        return None if layer is None else layer(action)

    return judge


def _agents_by_provider(rules: Rules, plugins: frozenset[str]) -> Mapping[str, Layer | None]:
    return {agent: _by_provider("agent provider", own.by_provider, plugins) for agent, own in rules.agents.items()}


def _doubts(rules: Rules) -> Iterator[str]:
    """Rules that probably do not mean what they say, as sentences for the owner."""
    for place, lists in _of_the_house(rules):
        if lists.allow is not None and names_plugins_alone(lists.allow, rules.plugin_tools):
            yield (
                f"{place}.allow names tools of plugins alone; the tools of the house stay as they are. "
                f"Use {place}.alsoAllow to give a plugin's tool besides them"
            )
    known = CORE_TOOLS | rules.plugin_tools
    for place, lists in (*_of_the_house(rules), *_of_people(rules), *_of_circumstances(rules)):
        for key, names in (("allow", lists.allow or ()), ("deny", lists.deny), ("alsoAllow", lists.also_allow)):
            for name in names:
                meant = misspelt(name, known)
                if meant:
                    yield f"{place}.{key} names {name[:80]!r}, and no tool is called that. Did you mean {meant}?"


def _of_the_house(rules: Rules) -> Iterator[tuple[str, Lists]]:
    yield "tools", rules.lists
    yield from ((f"tools.byProvider.{name}", lists) for name, lists in rules.by_provider.items())
    yield from ((f"tools.roles.{role}", lists) for role, lists in rules.roles.items() if role == OWNER)
    for agent, own in rules.agents.items():
        yield f"agents.list.{agent}.tools", own.lists
        yield from ((f"agents.list.{agent}.tools.byProvider.{name}", lists) for name, lists in own.by_provider.items())
    for channel, groups in rules.groups.items():
        yield from ((f"channels.{channel}.groups.{group}.tools", of_group.tools) for group, of_group in groups.items())


def _of_people(rules: Rules) -> Iterator[tuple[str, Lists]]:
    yield from ((f"tools.roles.{role}", lists) for role, lists in rules.roles.items() if role != OWNER)
    for channel, groups in rules.groups.items():
        for group, of_group in groups.items():
            place = f"channels.{channel}.groups.{group}.toolsBySender"
            yield from ((f"{place}.{sender}", lists) for sender, lists in of_group.senders.items())


def _of_circumstances(rules: Rules) -> Iterator[tuple[str, Lists]]:
    yield "tools.sandbox.tools", rules.sandbox.lists or Lists()
    yield "tools.subagents.tools", rules.depth.lists
