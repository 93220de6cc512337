"""The engine of a house: what runs turns and bounds them, what asks people, and what carries answers out."""

import random
from collections.abc import Callable

from ostiary.adapters.store.snapshots import SnapshotCodec
from ostiary.assembly.circumstances import Circumstances
from ostiary.assembly.control import control_rules, engine_parts
from ostiary.assembly.delivering import manner_of, renderer
from ostiary.assembly.hands import Ground, Hands
from ostiary.assembly.newest import (
    Newest,
    NewestCatalogue,
    NewestModel,
    Verdicts,
    name_of,
    reset_reason,
    session_may_send,
    words_of,
)
from ostiary.assembly.prompting import HousePrompts
from ostiary.assembly.rules import Rules
from ostiary.contracts.messages import Address
from ostiary.contracts.records import dataclass
from ostiary.core.agent.run import Runner
from ostiary.core.agent.tool_calls import ToolCalls
from ostiary.core.agent.tool_hooks import ToolHooks
from ostiary.core.approvals.desk import Approvals
from ostiary.core.approvals.notice import Teller
from ostiary.core.control.control import Control
from ostiary.core.policy.secrets import Guard
from ostiary.core.routing.delivery import Delivery
from ostiary.core.routing.feed import Feed
from ostiary.core.routing.lanes import Lanes
from ostiary.core.routing.supervisor import Supervisor
from ostiary.core.sessions.pen import Sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class Works:
    """The engine and its parts. It takes messages once it has an intake."""

    engine: Supervisor
    sessions: Sessions
    delivery: Delivery
    lanes: Lanes
    catalogue: NewestCatalogue
    verdict: Verdicts
    approvals: Approvals
    control: Control

    def is_attended(self, address: Address) -> bool:
        """Whether somebody sits there: where an answer is fetched, not sent."""
        return not self.delivery.pushes(address)


def build_engine(ground: Ground, hands: Hands, guard: Guard, circumstances: Circumstances, *, first_session: str) -> Works:
    """`first_session` as `HousePrompts` has it. Nothing runs yet."""
    host, newest, clock = ground.host, ground.newest, ground.clock
    feed = Feed()
    sessions = Sessions(store=ground.store, feed=feed, clock=clock, codec=SnapshotCodec())
    delivery = _delivery(ground, sessions)
    verdict = Verdicts(host, newest)
    approvals = Approvals(sessions=sessions, clock=clock, ids=ground.ids)
    approvals.tell = Teller(pushes=delivery.pushes, rows=delivery.rows, send=delivery.send).tell
    calls = ToolCalls(
        sessions=sessions,
        tools=host.tools,
        decide=verdict.decide,
        clock=clock,
        limits=newest.rules.tool_limits,
        approvals=approvals,
        hooks=ToolHooks(host.hooks_of),
        redact=guard.redact,
        is_attended=lambda address: not delivery.pushes(address),
    )
    catalogue = NewestCatalogue(newest)
    runner = Runner(
        sessions=sessions,
        model=NewestModel(newest),
        catalogue=catalogue,
        prompts=_prompts(ground, first_session, lambda: control.generation),
        calls=calls,
        clock=clock,
        outgoing=delivery,
        rules=lambda: newest.rules.run,
        guard=guard,
    )
    lanes = _lanes(ground, sessions, runner, hands)
    engine = Supervisor(
        store=ground.store,
        sessions=sessions,
        lanes=lanes,
        delivery=delivery,
        feed=feed,
        clock=clock,
        channels=host.channels,
        approvals=approvals,
    )
    control = _control(ground, sessions, lanes, delivery, approvals, hands)
    engine.control = circumstances.control = control
    circumstances.sessions = sessions
    circumstances.has_way_out = hands.running.has_way_out
    _follow(newest, calls, engine)
    return Works(
        engine=engine,
        sessions=sessions,
        delivery=delivery,
        lanes=lanes,
        catalogue=catalogue,
        verdict=verdict,
        approvals=approvals,
        control=control,
    )


def pushing(ground: Ground) -> Callable[[str], bool]:
    """Whether answers on a channel are sent; where they are not, they are fetched."""

    def pushes(channel: str) -> bool:
        known = ground.host.channels.get(channel)
        return known is not None and known.capabilities.pushes

    return pushes


def _delivery(ground: Ground, sessions: Sessions) -> Delivery:
    newest, channels = ground.newest, ground.host.channels
    return Delivery(
        sessions=sessions,
        channels=channels,
        clock=ground.clock,
        may_send=lambda session, address: session_may_send(newest.rules, session, address),
        manner=lambda channel: manner_of(newest.live.current.config, channel),
        render=renderer(lambda: newest.live.current.config, channels),
        chance=random.random,
    )


def _prompts(ground: Ground, first_session: str, switches: Callable[[], int]) -> HousePrompts:
    newest = ground.newest
    return HousePrompts(
        documents=ground.store.documents,
        tools=ground.host.tools,
        clock=ground.clock,
        rules=lambda: newest.rules,
        names=lambda agent: name_of(newest, agent),
        pushes=pushing(ground),
        first_session=first_session,
        switches=switches,
    )


def _lanes(ground: Ground, sessions: Sessions, runner: Runner, hands: Hands) -> Lanes:
    newest, clock, pushes = ground.newest, ground.clock, pushing(ground)
    return Lanes(
        sessions=sessions,
        runner=runner,
        clock=clock,
        ids=ground.ids,
        caps=lambda: newest.rules.caps,
        reset_reason=lambda item, last: reset_reason(newest.rules, item, last, clock.now()),
        generation=lambda: newest.rules.generation,
        words=lambda item, previous: words_of(newest, item, previous, pushes),
        attach=hands.attach,
    )


def _control(ground: Ground, sessions: Sessions, lanes: Lanes, delivery: Delivery, approvals: Approvals, hands: Hands) -> Control:
    host, newest = ground.host, ground.newest
    return Control(
        commit=sessions.write,
        value=ground.store.value,
        clock=ground.clock,
        rules=lambda: control_rules(newest.live.current.config),
        parts=lambda: engine_parts(lanes, delivery, approvals, processes=(hands.running,)),
        is_busy=lambda: lanes.running > 0,
        has_questions=lambda: bool(approvals.pending),
        tools=lambda: tuple(host.tools),
        plugin_tools=lambda: host.plugin_tools,
    )


def _follow(newest: Newest, calls: ToolCalls, engine: Supervisor) -> None:
    def follow(rules: Rules) -> None:
        calls.limits = rules.tool_limits
        engine.drain_seconds = rules.drain_seconds

    newest.follow(follow)
