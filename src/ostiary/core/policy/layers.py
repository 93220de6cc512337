"""Layers made of lists of names, and what the model is shown of the tools.

One layer grants (the profile); every other layer can only narrow. A list that is absent says nothing; an empty allow list
allows nothing. Deny wins, so the order of rules within a layer never matters.
"""

from collections.abc import Callable, Iterable, Sequence

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import Address
from ostiary.contracts.policy import Action, Allow, Decision, Deny
from ostiary.contracts.records import dataclass
from ostiary.contracts.tool import ToolSpec
from ostiary.core.policy.judge import Layer
from ostiary.core.policy.names import PROFILES, NameSet, names_plugins_alone

__all__ = ["GRANTABLE", "Layer", "Lists", "list_layer", "lists_layer", "profile_layer", "visible_tools"]

GRANTABLE = frozenset({"confirm", "switch"})
"""Layers whose question a standing grant may answer. Every other Ask needs a person each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lists:
    """What configuration says of tools in one place. None means "not configured"; an empty `allow` allows nothing.

    `profile` with `also_allow` is where the place starts from; without a profile `also_allow` says nothing here."""

    profile: str | None = None
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    also_allow: tuple[str, ...] = ()

    @property
    def is_silent(self) -> bool:
        return self.profile is None and self.allow is None and not self.deny


def profile_layer(
    profile: str, also_allow: Sequence[str] = (), *, name: str = "profile", plugin_tools: frozenset[str] = frozenset()
) -> Layer:
    """What a profile holds is allowed, and nothing else. A client's own tool is: it runs on the client's side.
    Raises BadInput for a profile or group nobody knows."""
    names = profile_names(profile, also_allow, plugin_tools)
    granted = Allow(layer=name, reason=f"in the profile {profile}")
    brought = Allow(layer=name, reason="the caller brought this tool and runs it")

    def grant(action: Action) -> Decision:
        tool = action.tool
        if tool.is_client:
            return brought
        if tool.name in names:
            return granted
        return Deny(layer=name, reason=f"{tool.name} is not in the profile {profile}")

    return grant


def profile_names(profile: str, also_allow: Sequence[str], plugin_tools: frozenset[str]) -> NameSet:
    """Raises BadInput for a profile or group nobody knows."""
    if profile not in PROFILES:
        raise BadInput(f"{profile!r} is not a tool profile", hint=f"Profiles: {', '.join(PROFILES)}.")
    return NameSet((*PROFILES[profile], *also_allow), plugin_tools=plugin_tools, follows=True)


def list_layer(
    name: str,
    *,
    allow: Sequence[str] | None,
    deny: Sequence[str] = (),
    plugin_tools: frozenset[str] = frozenset(),
    of_people: bool = False,
) -> Layer:
    """Narrow by lists of names. `allow` None: everything not denied passes, as it does past a list of plugin tools alone,
    unless the list is `of_people`: who is given one tool must not get all of them. Raises BadInput for a group nobody knows."""
    if allow is not None and not of_people and names_plugins_alone(allow, plugin_tools):
        allow = None
    allowed = None if allow is None else NameSet(allow, plugin_tools=plugin_tools, follows=True)
    denied = NameSet(deny, plugin_tools=plugin_tools)
    passes = Allow(layer=name, reason="on the allow list") if allowed is not None else None

    def narrow(action: Action) -> Decision | None:
        tool = action.tool.name
        if tool in denied:
            return Deny(layer=name, reason=f"{tool} is on the deny list")
        if allowed is not None and tool not in allowed and not action.tool.is_client:
            return Deny(layer=name, reason=f"{tool} is not on the allow list")
        return passes

    return narrow


def lists_layer(name: str, lists: Lists, *, plugin_tools: frozenset[str] = frozenset(), of_people: bool = False) -> Layer:
    """A place with a profile and lists of its own: both must allow. Raises BadInput."""
    narrow = list_layer(name, allow=lists.allow, deny=lists.deny, plugin_tools=plugin_tools, of_people=of_people)
    if lists.profile is None:
        return narrow
    within = profile_layer(lists.profile, lists.also_allow, name=name, plugin_tools=plugin_tools)

    def both(action: Action) -> Decision | None:
        first = within(action)
        if type(first) is Deny:
            return first
        return narrow(action) or first

    return both


def visible_tools(
    specs: Iterable[ToolSpec],
    *,
    judge: Callable[[Action], Decision],
    principal: Principal,
    session: SessionKey,
    channel: str,
    provider: str = "",
    model: str = "",
    reply_to: Address | None = None,
    is_attended: bool = False,
    depth: int = 0,
) -> tuple[ToolSpec, ...]:
    """What the model is shown: a tool that would be denied whatever its arguments is not there. Sorted by name, so that
    the prompt stays the same whatever order plugins loaded in."""
    label = Label(trust=Trust.SYSTEM)
    shown = []
    for spec in specs:
        action = Action(
            principal=principal,
            session=session,
            channel=channel,
            tool=spec,
            arguments={},
            label=label,
            provider=provider,
            model=model,
            reply_to=reply_to,
            is_attended=is_attended,
            depth=depth,
        )
        if type(judge(action)) is not Deny:
            shown.append(spec)
    return tuple(sorted(shown, key=lambda spec: spec.name))
