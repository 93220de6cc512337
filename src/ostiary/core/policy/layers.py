"""The built-in rules: pure functions over an action, compiled once per configuration generation.

One layer grants (the profile); every other layer can only narrow. A list that is absent says nothing; an empty allow list
allows nothing. Deny wins, so the order of rules within a layer never matters.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import translate

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.policy import Action, Allow, Ask, Decision, Deny
from ostiary.contracts.records import dataclass
from ostiary.contracts.tool import ToolSpec

Layer = Callable[[Action], Decision | None]
"""None means "nothing against it". The Allow of a narrowing layer counts as None: only the granting layer grants."""

Judge = Callable[[Action], Decision]

ALIASES: Mapping[str, str] = {"bash": "exec", "apply-patch": "apply_patch"}

GROUPS: Mapping[str, frozenset[str]] = {
    "fs": frozenset({"read", "write", "edit", "apply_patch", "grep", "find", "ls"}),
    "runtime": frozenset({"exec", "process"}),
    "web": frozenset({"web_search", "web_fetch"}),
    "memory": frozenset({"memory_search", "memory_get", "memory_write"}),
    "sessions": frozenset(
        {"sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "subagents", "session_status"}
    ),
    "ui": frozenset({"browser", "canvas"}),
    "automation": frozenset({"cron", "gateway"}),
    "messaging": frozenset({"message"}),
    "nodes": frozenset({"nodes"}),
}
_UNGROUPED = frozenset({"image", "pdf", "tts", "stt", "agents_list"})

PROFILES: Mapping[str, tuple[str, ...]] = {
    "minimal": ("session_status",),
    "coding": ("group:fs", "group:runtime", "group:sessions", "group:memory", "image"),
    "messaging": ("group:messaging", "sessions_list", "sessions_history", "sessions_send", "session_status"),
    "full": ("*",),
}
READERS = ("read", "ls", "find", "grep")

_GLOB_SIGNS = frozenset("*?[")
_REMEMBERED = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What configuration says of tools; the defaults are those of the posture `personal`.

    None means "not configured"; an empty `allow` allows nothing. `plugin_tools` are the names that came in from plugins,
    for `group:plugins`.
    """

    profile: str = "minimal"
    also_allow: tuple[str, ...] = READERS
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    plugin_tools: frozenset[str] = frozenset()


class NameSet:
    """Tool names by exact name, alias, group (`group:fs`) or glob. Raises BadInput for a group nobody knows:
    in a deny list it would silently let through what the owner meant to forbid."""

    __slots__ = ("_exact", "_follows", "_globs", "_known")

    def __init__(self, patterns: Iterable[str], *, plugin_tools: frozenset[str] = frozenset(), follows: bool = False) -> None:
        exact: set[str] = set()
        globs: list[str] = []
        for pattern in patterns:
            name = canonical(pattern)
            if name.startswith("group:"):
                exact |= _group(name.removeprefix("group:"), plugin_tools)
            elif _GLOB_SIGNS & set(name):
                globs.append(translate(name))
            elif name:
                exact.add(name)
        self._exact = frozenset(exact)
        self._globs = re.compile("|".join(globs)) if globs else None
        self._follows = follows
        self._known: dict[str, bool] = {}

    def __contains__(self, name: str) -> bool:
        known = self._known.get(name)
        if known is None:
            known = self._decide(canonical(name))
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[name] = known
        return known

    def _decide(self, name: str) -> bool:
        if name in self._exact or (self._globs is not None and self._globs.match(name) is not None):
            return True
        # Whoever may run commands may change files with them, so a patch asks for nothing more.
        return self._follows and name == "apply_patch" and self._decide("exec")


def canonical(name: str) -> str:
    """The one spelling a tool is judged by: lower case, aliases resolved."""
    lowered = name.strip().lower()
    return ALIASES.get(lowered, lowered)


def _group(name: str, plugin_tools: frozenset[str]) -> frozenset[str]:
    if name in GROUPS:
        return GROUPS[name]
    if name in ("ostiary", "openclaw"):
        return frozenset().union(_UNGROUPED, *GROUPS.values())
    if name == "plugins":
        return frozenset(canonical(tool) for tool in plugin_tools)
    known = ", ".join(f"group:{group}" for group in (*GROUPS, "ostiary", "plugins"))
    raise BadInput(f"group:{name} is not a group of tools", hint=f"Known groups: {known}.")


def profile_layer(profile: str, also_allow: Sequence[str] = (), *, plugin_tools: frozenset[str] = frozenset()) -> Layer:
    """The granting layer. A client's own tool is granted: it runs on the client's side. Raises BadInput if unknown."""
    if profile not in PROFILES:
        raise BadInput(f"{profile!r} is not a tool profile", hint=f"Profiles: {', '.join(PROFILES)}.")
    names = NameSet((*PROFILES[profile], *also_allow), plugin_tools=plugin_tools, follows=True)
    granted = Allow(layer="profile", reason=f"profile {profile}")
    brought = Allow(layer="profile", reason="the caller brought this tool and runs it")

    def grant(action: Action) -> Decision:
        tool = action.tool
        if tool.is_client:
            return brought
        if tool.name in names:
            return granted
        return Deny(layer="profile", reason=f"{tool.name} is not in the profile {profile}")

    return grant


def list_layer(
    name: str, *, allow: Sequence[str] | None, deny: Sequence[str] = (), plugin_tools: frozenset[str] = frozenset()
) -> Layer:
    """Narrow by lists of names. `allow` None: everything not denied passes."""
    allowed = None if allow is None else NameSet(allow, plugin_tools=plugin_tools, follows=True)
    denied = NameSet(deny, plugin_tools=plugin_tools)

    def narrow(action: Action) -> Decision | None:
        tool = action.tool.name
        if tool in denied:
            return Deny(layer=name, reason=f"{tool} is on the deny list")
        if allowed is not None and tool not in allowed and not action.tool.is_client:
            return Deny(layer=name, reason=f"{tool} is not on the allow list")
        return None

    return narrow


def owner_layer(action: Action) -> Decision | None:
    """Only the owner has tools; an owner-only tool says so in its own name, for when more people may have some."""
    if action.principal.is_owner:
        return None
    if action.tool.owner_only:
        return Deny(layer="owner", reason=f"{action.tool.name} is for the owner only")
    return Deny(layer="owner", reason=f"the role {action.principal.role} has no tools")


def combine(grant: tuple[str, Layer] | None, narrowing: Sequence[tuple[str, Layer]] = ()) -> Judge:
    """One function out of all layers: what the granting layer allows and no narrowing layer objects to.

    Denies without a granting layer. A layer that raises or answers with something unknown denies in its own name.
    """
    layers = tuple(narrowing)

    def judge(action: Action) -> Decision:
        if grant is None:
            return Deny(layer="verdict", reason="no policy is configured")
        strictest = _ask(grant, action)
        for named in layers:
            if type(strictest) is Deny:
                return strictest
            answer = _ask(named, action)
            if type(answer) is Deny or (type(answer) is Ask and type(strictest) is Allow):
                strictest = answer
        return strictest or Deny(layer=grant[0], reason=f"nothing allows {action.tool.name}")

    return judge


def _ask(named: tuple[str, Layer], action: Action) -> Decision | None:
    name, layer = named
    try:
        answer = layer(action)
    except Exception as error:  # noqa: BLE001 - a gate that breaks must not open
        return Deny(layer=name, reason=f"the layer failed ({type(error).__name__})")
    if answer is None or type(answer) in (Allow, Ask, Deny):
        return answer
    return Deny(layer=name, reason="the layer gave no decision")


def compile_rules(rules: Rules, narrowing: Sequence[tuple[str, Layer]] = ()) -> Judge:
    """The whole built-in policy of one configuration generation; `narrowing` are more layers (agents, groups, senders).
    Raises BadInput for an unknown profile or group."""
    plugins = rules.plugin_tools
    return combine(
        ("profile", profile_layer(rules.profile, rules.also_allow, plugin_tools=plugins)),
        (
            ("owner", owner_layer),
            ("tools", list_layer("tools", allow=rules.allow, deny=rules.deny, plugin_tools=plugins)),
            *narrowing,
        ),
    )


def visible_tools(
    specs: Iterable[ToolSpec], *, judge: Judge, principal: Principal, session: SessionKey, channel: str
) -> tuple[ToolSpec, ...]:
    """What the model is shown: a tool that would be denied whatever its arguments is not there. Sorted by name, so that
    the prompt stays the same whatever order plugins loaded in."""
    label = Label(trust=Trust.SYSTEM)
    shown = []
    for spec in specs:
        action = Action(principal=principal, session=session, channel=channel, tool=spec, arguments={}, label=label)
        if type(judge(action)) is not Deny:
            shown.append(spec)
    return tuple(sorted(shown, key=lambda spec: spec.name))
