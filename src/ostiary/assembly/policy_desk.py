"""Questions about the rules: what would be decided, and why. The same answers with a running gateway and without one."""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ostiary.assembly.policy_notes import change_of, doubts_of
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import OWNER, Principal, SessionKey, is_id
from ostiary.contracts.messages import Address, UserId
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.policy import Action, Allow, Ask, Deny, Policy
from ostiary.contracts.records import dataclass
from ostiary.contracts.tool import Effect, ToolSpec
from ostiary.core.policy.effects import effects_of
from ostiary.core.policy.judge import Step, settle
from ostiary.core.policy.names import canonical
from ostiary.core.policy.rules import Runtime
from ostiary.core.policy.verdict import Verdict
from ostiary.core.routing.bindings import AgentEntry, default_agent
from ostiary.core.routing.people import parse_owners, parse_user_id, resolve
from ostiary.core.routing.scopes import parse_key, place_of
from ostiary.gateway.protocol.policy import (
    Circumstances,
    ExplainPolicy,
    Explanation,
    ListTools,
    Outcome,
    PolicyStep,
    Standing,
    ToolRow,
    Tools,
)

if TYPE_CHECKING:
    from pathlib import Path

    from ostiary.assembly.config.schema import Config

PAGE = "webchat"
HERE = frozenset({PAGE, "api", "cli"})
"""Where the owner sits before the house. A channel of any other name is one that messages come from."""

_SOMEBODY = "somebody"
_PLAIN = Label(trust=Trust.SYSTEM)
# A message to where the answer goes is never asked about; what people want to know of the tool is the rest.
_TYPICAL: Mapping[str, Mapping[str, object]] = {"message": {"to": "another:person"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyAtDesk:
    """`steps` gives every layer's step; `specs` are the tools there are, by name; `warnings` are about rules that probably do
    not mean what they say."""

    config: "Callable[[], Config]"
    specs: Callable[[], Mapping[str, ToolSpec]]
    steps: Callable[[Action], Awaitable[Sequence[Step]]]
    warnings: Callable[[], Sequence[str]] = tuple

    async def explain(self, asked: ExplainPolicy) -> Explanation:
        spec = self._spec(asked)
        action = self._action(asked, spec, asked.arguments, self._label(asked))
        steps = await self.steps(action)
        decision = settle(steps)
        return Explanation(
            tool=spec.name,
            who=str(action.principal.user),
            role=action.principal.role,
            channel=action.channel,
            session=str(action.session),
            effects=sorted(effects_of(action)),
            visible=await self._is_visible(asked, spec),
            outcome=_outcome(decision),
            layer=decision.layer,
            reason=decision.reason,
            steps=_marked(steps),
            change=change_of(decision, action),
            notes=list(doubts_of(action, self.config(), HERE)),
        )

    async def tools(self, asked: ListTools) -> Tools:
        rows = [await self._row(asked, spec) for _, spec in sorted(self.specs().items())]
        return Tools(tools=rows)

    async def _row(self, asked: ListTools, spec: ToolSpec) -> ToolRow:
        typical = _TYPICAL.get(canonical(spec.name), {})
        plain = settle(await self.steps(self._action(asked, spec, {}, _PLAIN)))
        decision = plain if type(plain) is Deny else settle(await self.steps(self._action(asked, spec, typical, _PLAIN)))
        standing: Standing = "hidden" if type(plain) is Deny else "visible" if type(decision) is Allow else "asked"
        return ToolRow(
            name=spec.name,
            description=spec.schema.description,
            effects=sorted(spec.effects),
            undoable=spec.undoable,
            owner_only=spec.owner_only,
            standing=standing,
            layer=decision.layer,
            reason=decision.reason,
        )

    async def _is_visible(self, asked: ExplainPolicy, spec: ToolSpec) -> bool:
        return type(settle(await self.steps(self._action(asked, spec, {}, _PLAIN)))) is not Deny

    def _spec(self, asked: ExplainPolicy) -> ToolSpec:
        specs = self.specs()
        found = specs.get(asked.tool) or specs.get(canonical(asked.tool))
        if found is not None:
            return found
        if asked.effects is None:
            meant = get_close_matches(canonical(asked.tool), specs, n=1)
            hint = f"Did you mean {meant[0]}?" if meant else "`ostiary tools list` shows those there are."
            raise BadInput(f"there is no tool {asked.tool[:80]!r}", hint=f"{hint} For one that is not there, name its effects.")
        schema = ToolSchema(name=asked.tool, description="", parameters={"type": "object"})
        return ToolSpec(schema=schema, effects=frozenset(Effect(each) for each in asked.effects))

    def _label(self, asked: ExplainPolicy) -> Label:
        principal = self._principal(asked)
        own = Trust.OWNER if principal.is_owner else Trust.CONTACT
        return Label(
            trust=Trust.UNTRUSTED if asked.tainted else own,
            sources=("something from outside",) if asked.tainted else (),
            private=asked.private,
        )

    def _action(self, asked: Circumstances, spec: ToolSpec, arguments: Mapping[str, object], label: Label) -> Action:
        principal = self._principal(asked)
        channel = principal.user.channel if not asked.channel else asked.channel
        session = self._session(asked.session)
        attended = principal.is_owner and channel in HERE if asked.attended is None else asked.attended
        return Action(
            principal=principal,
            session=session,
            channel=channel,
            tool=spec,
            arguments=arguments,
            label=label,
            provider=asked.provider,
            model=asked.model,
            reply_to=Address(channel=channel, account="default", chat=_chat(session, principal)),
            is_attended=attended,
            depth=asked.depth,
        )

    def _principal(self, asked: Circumstances) -> Principal:
        """A person is who configuration says; a role is somebody of that role on the channel in question."""
        if ":" in asked.who:
            return resolve(parse_user_id(asked.who), parse_owners(self.config().commands.owner_allow_from))
        role = asked.who.strip().lower()
        if not is_id(role):
            raise BadInput(f"{asked.who[:80]!r} is neither a role nor a person", hint="Write owner, a role, or channel:id.")
        stable = OWNER if role == OWNER else _SOMEBODY
        return Principal(user=UserId(channel=asked.channel or PAGE, stable_id=stable), role=role)

    def _session(self, text: str) -> SessionKey:
        if text:
            return parse_key(text if text.startswith("agent:") else f"agent:{self._agent()}:{text}")
        return SessionKey(self._agent(), "main")

    def _agent(self) -> str:
        return default_agent(tuple(AgentEntry(id=each.id, default=each.default) for each in self.config().agents.list))


def desk_of_configuration(home: "Path", environ: Mapping[str, str] | None = None, runtime: Runtime | None = None) -> PolicyAtDesk:
    """The rules as the file says them, no gateway running: of what changes at run time only `runtime` is known, and the guard.
    Nothing is written. Raises ConfigInvalid, BadInput."""
    from ostiary.assembly.builtin import Host, register_strangers
    from ostiary.assembly.config.load import peek
    from ostiary.assembly.policies import judge_of
    from ostiary.core.agent.bootstrap import FILES
    from ostiary.core.policy.guard import guard_layer

    config = peek(home, os.environ if environ is None else environ).config
    specs = builtin_specs()
    policies: Sequence[tuple[str, Policy]] = ()
    plugin_tools: frozenset[str] = frozenset()
    if config.plugins.enabled:
        host = Host()
        switches = {name: entry.enabled for name, entry in config.plugins.entries.items()}
        register_strangers(host, allow=config.plugins.allow, deny=config.plugins.deny, own=switches)
        specs = {**specs, **{name: tool.spec for name, tool in host.tools.items()}}
        policies, plugin_tools = host.policies, host.plugin_tools
    runtime = replace(runtime or Runtime(), guard=guard_layer(state=(str(home),), owner_files=FILES))
    judge = judge_of(config, plugin_tools=plugin_tools, runtime=runtime)
    return PolicyAtDesk(
        config=lambda: config, specs=lambda: specs, steps=Verdict(policies, judge=judge).explain, warnings=lambda: judge.warnings
    )


def builtin_specs() -> dict[str, ToolSpec]:
    """What the tools of the house declare, without building them. One whose libraries are missing is left out."""
    from importlib import import_module
    from pkgutil import walk_packages

    from ostiary.adapters import tools

    found: dict[str, ToolSpec] = {}
    for module in walk_packages(tools.__path__, f"{tools.__name__}."):
        with suppress(ImportError):
            values = vars(import_module(module.name)).values()
            found.update({each.name: each for each in values if isinstance(each, ToolSpec)})
    return found


def _chat(session: SessionKey, principal: Principal) -> str:
    """Where the answer goes: to the group the session belongs to, else to the person."""
    if place_of(session.scope).source not in ("group", "channel"):
        return principal.user.stable_id
    parts = session.scope.split(":")
    at = 1 if parts[1] in ("group", "channel") else 2
    return unquote(parts[at + 1])


def _outcome(decision: object) -> Outcome:
    return "deny" if type(decision) is Deny else "ask" if type(decision) is Ask else "allow"


def _marked(steps: Sequence[Step]) -> list[PolicyStep]:
    """Deny: the first that denies decides. Ask: all that ask. Allow: the one that grants."""
    outcome = _outcome(settle(steps))
    deciding = [place for place, step in enumerate(steps) if step.outcome == outcome]
    places = set(deciding if outcome == "ask" else deciding[:1])
    if outcome == "deny" and not deciding:
        places = {0}
    return [
        PolicyStep(layer=step.layer, outcome=_word(step, place), reason=step.reason, decides=place in places)
        for place, step in enumerate(steps)
    ]


def _word(step: Step, place: int) -> Outcome:
    """Only the first layer grants; an Allow of another means that it has nothing against it."""
    if step.decision is None:
        return "pass"
    word = _outcome(step.decision)
    return "pass" if place and word == "allow" else word
