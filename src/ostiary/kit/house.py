"""A whole engine around fakes at the ports: what plugin authors and our own tests drive."""

import hashlib
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from ostiary.contracts.channel import Channel
from ostiary.contracts.clock import Clock, Ids
from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import InboundMessage, UserId
from ostiary.contracts.model import ModelChoice, ModelClient, ModelFacts, ModelRef
from ostiary.contracts.policy import Action, Allow, Decision
from ostiary.contracts.store import InboxItem, Store
from ostiary.contracts.tool import Tool
from ostiary.core.agent.context import Prepared
from ostiary.core.agent.run import Runner, RunRules
from ostiary.core.agent.tool_calls import Decide, ToolCalls
from ostiary.core.agent.tool_hooks import ToolHooks
from ostiary.core.agent.tool_results import ToolLimits
from ostiary.core.approvals.desk import Approvals
from ostiary.core.approvals.notice import Teller
from ostiary.core.policy.secrets import Guard
from ostiary.core.routing.access import SpeakPolicy
from ostiary.core.routing.bindings import AgentEntry, compile_bindings
from ostiary.core.routing.delivery import Delivery, DeliveryRules, Manner, Render
from ostiary.core.routing.feed import Feed
from ostiary.core.routing.intake import Desk, Handled, Intake, IntakeRules
from ostiary.core.routing.lanes import LaneCaps, Lanes
from ostiary.core.routing.queue import QueueRules
from ostiary.core.routing.scopes import ScopeRules
from ostiary.core.routing.supervisor import Supervisor
from ostiary.core.sessions.pen import Sessions
from ostiary.core.sessions.session import SYSTEM_LABEL, Session, Turn

FACTS = ModelFacts(ref=ModelRef("kit", "scripted"), name="scripted")


class OneModel:
    """A catalogue of a single model; anything else is unknown."""

    def __init__(self, facts: ModelFacts = FACTS) -> None:
        self._facts = facts

    def facts(self, ref: ModelRef) -> ModelFacts:
        return replace(self._facts, ref=ref)

    def choose(self, agent: str, override: str = "", *, with_images: bool = False) -> ModelChoice:
        if override not in ("", str(self._facts.ref)):
            raise BadInput(f"there is no model {override!r}", hint="Use /models to see the models.")
        return ModelChoice(primary=self._facts.ref)

    def choices(self, agent: str) -> tuple[ModelFacts, ...]:
        return (self._facts,)


class PlainPrompts:
    """The same short prefix and the same tools for everybody."""

    def __init__(self, tools: Iterable[Tool] = (), prefix: str = "You are a test.") -> None:
        self._tools = tuple(tool.spec for tool in tools)
        self.prefix = prefix

    async def prepare(self, *, session: Session, turn: Turn, facts: ModelFacts) -> Prepared:
        schemas = json.dumps([[spec.name, spec.schema.description] for spec in self._tools]).encode()
        return Prepared(
            prefix=self.prefix,
            digest=hashlib.sha256(self.prefix.encode()).hexdigest(),
            tools=self._tools,
            schemas=schemas,
            schemas_digest=hashlib.sha256(schemas).hexdigest(),
            report={"prompt": {"characters": len(self.prefix), "tokens": 4}},
            label=SYSTEM_LABEL,
        )


class NoCommands:
    """Everything is for the model."""

    def looks_like_command(self, text: str) -> bool:
        return False

    def is_command(self, text: str) -> bool:
        return False

    async def handle(self, message: InboundMessage, *, principal: Principal, session: SessionKey) -> Handled:
        return Handled(text=message.text)


async def allow_everything(action: Action) -> Decision:
    return Allow(layer="kit", reason="a test allows everything")


@dataclass(slots=True, kw_only=True)
class House:
    """Parts to set before `open_house`; what is not set is a harmless default.

    `made` is told of the engine before it runs: for a desk whose commands act on it."""

    store: Store
    model: ModelClient
    clock: Clock
    ids: Ids
    channels: Mapping[str, Channel] = field(default_factory=dict)
    tools: Mapping[str, Tool] = field(default_factory=dict)
    decide: Decide = allow_everything
    catalogue: OneModel = field(default_factory=OneModel)
    desk: Desk = field(default_factory=NoCommands)
    run: RunRules = field(default_factory=RunRules)
    queue: QueueRules = field(default_factory=QueueRules)
    caps: Mapping[str, int] = field(default_factory=lambda: {"main": 4, "subagent": 8, "cron": 1})
    limits: ToolLimits = field(default_factory=ToolLimits)
    delivery: DeliveryRules = field(default_factory=DeliveryRules)
    manners: Mapping[str, Manner] = field(default_factory=dict)
    render: Render = lambda channel, text: None
    owners: frozenset[UserId] = frozenset({UserId(channel="memory", stable_id="owner")})
    scopes: ScopeRules = field(default_factory=ScopeRules)
    inbound_debounce: Mapping[str, float] = field(default_factory=dict)
    drain_seconds: float = 5.0
    made: Callable[[Supervisor], None] = lambda engine: None
    hooks: ToolHooks = field(default_factory=ToolHooks)
    redact: Callable[[str], str] = lambda text: text
    guard: Guard | None = None


@asynccontextmanager
async def open_house(house: House) -> AsyncIterator[Supervisor]:
    """The engine, running; leaving drains it."""
    feed = Feed()
    sessions = Sessions(store=house.store, feed=feed, clock=house.clock)
    delivery = Delivery(
        sessions=sessions,
        channels=house.channels,
        clock=house.clock,
        rules=house.delivery,
        manner=lambda channel: house.manners.get(channel) or Manner(),
        render=house.render,
    )
    approvals = Approvals(sessions=sessions, clock=house.clock, ids=house.ids)
    approvals.tell = Teller(pushes=delivery.pushes, rows=delivery.rows, send=delivery.send).tell
    calls = ToolCalls(
        sessions=sessions,
        tools=house.tools,
        decide=house.decide,
        clock=house.clock,
        limits=house.limits,
        approvals=approvals,
        hooks=house.hooks,
        redact=house.redact,
        is_attended=lambda address: not delivery.pushes(address),
    )
    runner = Runner(
        sessions=sessions,
        model=house.model,
        catalogue=house.catalogue,
        prompts=PlainPrompts(house.tools.values()),
        calls=calls,
        clock=house.clock,
        outgoing=delivery,
        rules=lambda: house.run,
        guard=house.guard,
    )
    lanes = Lanes(
        sessions=sessions,
        runner=runner,
        clock=house.clock,
        ids=house.ids,
        caps=lambda: LaneCaps(caps=house.caps),
        reset_reason=_never_reset,
    )
    supervisor = Supervisor(
        store=house.store,
        sessions=sessions,
        lanes=lanes,
        delivery=delivery,
        feed=feed,
        clock=house.clock,
        channels=house.channels,
        drain_seconds=house.drain_seconds,
        approvals=approvals,
    )
    rules = IntakeRules(
        bindings=compile_bindings((), (AgentEntry(id="main"),)),
        scopes=house.scopes,
        owners=house.owners,
        speak={name: SpeakPolicy(dm="open", group="open", require_mention=False) for name in house.channels},
        queue=house.queue,
        inbound_debounce=house.inbound_debounce,
    )
    supervisor.intake = Intake(
        sessions=sessions,
        lanes=lanes,
        delivery=delivery,
        channels=house.channels,
        desk=house.desk,
        clock=house.clock,
        rules=lambda: rules,
    )
    house.made(supervisor)
    async with supervisor.running():
        yield supervisor


def _never_reset(item: InboxItem, last_input_at: float) -> str:
    return ""
