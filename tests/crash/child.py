"""The house that is killed: a real engine and store, a model and tools that do what the message says."""

import json
import os
import re
import signal
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from ostiary.adapters.store.sqlite import SqliteStore, open_store
from ostiary.assembly.machine import SortableIds, SystemClock
from ostiary.contracts.channel import Capabilities, Receive
from ostiary.contracts.content import AssistantMessage, Label, Text, ToolCall, ToolMessage, Trust, UserMessage
from ostiary.contracts.errors import OstiaryError
from ostiary.contracts.identity import Principal
from ostiary.contracts.messages import Address, InboundMessage, OutboundMessage, Receipt, UserId
from ostiary.contracts.model import Answered, ModelEvent, ModelRequest, TextDelta, ToolSchema, Usage
from ostiary.contracts.policy import Action, Allow, Ask, Decision
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec
from ostiary.core.routing.delivery import DeliveryRules, Manner
from ostiary.core.routing.queue import QueueRules
from ostiary.core.routing.scopes import ScopeRules
from ostiary.core.routing.streaming import StreamRules
from ostiary.kit.house import House, open_house
from tests.crash.ledger import Pencil

KEY = bytes(range(32))
LABEL = Label(trust=Trust.UNTRUSTED, sources=("model",))
PLAN = re.compile(r"(m\d+) plan=([a-z,]*)")
ACKNOWLEDGED = "acknowledged"
PARTS = 4
OWNER = Principal(user=UserId(channel="idem", stable_id="owner"), role="owner")
BLOCKS = Manner(stream=StreamRules(enabled=True, minimum=10, maximum=40, idle=600.0))


def part(name: str, number: int) -> str:
    """What leaves as one block of the long reply to a message."""
    return f"reply to {name} part {number} of {PARTS}."


async def decide(action: Action) -> Decision:
    """Paying waits for a person."""
    return Ask(layer="confirm", reason="it costs money") if action.tool.name == "pay" else Allow(layer="crash")


@dataclass(frozen=True, slots=True)
class Order:
    """What the parent wants: where the home is, at which point to die (0: never), how long each outside step takes."""

    home: str
    kill_at: int
    pause: float


class Points:
    """Places where the process may die. Counted, so that each can be struck exactly."""

    def __init__(self, kill_at: int, pencil: Pencil) -> None:
        self._kill_at = kill_at
        self._pencil = pencil
        self.passed = 0

    def reach(self, name: str) -> None:
        self.passed += 1
        if self.passed == self._kill_at:
            self._pencil.note("killed", at=name)
            os.kill(os.getpid(), signal.SIGKILL)


class Store:
    """The real store with a place to die on either side of every commit; notes how long the log was when it returned."""

    def __init__(self, inner: SqliteStore, points: Points, home: Path) -> None:
        self._inner = inner
        self._points = points
        self._log = home / "store.db-wal"
        self._acknowledged = os.open(home / ACKNOWLEDGED, os.O_RDWR | os.O_CREAT)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def commit(self, writes: Sequence[Any], **rest: Any) -> tuple[int, ...]:
        names = "+".join(sorted({_name(write) for write in writes}))
        self._points.reach(f"before {names}")
        numbers = await self._inner.commit(writes, **rest)
        os.pwrite(self._acknowledged, self._log.stat().st_size.to_bytes(8), 0)
        self._points.reach(f"after {names}")
        return numbers


def _name(write: Any) -> str:
    return type(getattr(write, "event", write)).__name__


class Model:
    """Calls the tools of the plan one after the other, then answers with the message's name."""

    def __init__(self, pencil: Pencil, points: Points, pause: float) -> None:
        self._pencil = pencil
        self._points = points
        self._pause = pause

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        yield self._answer(request)

    async def _answer(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        place = max(index for index, message in enumerate(request.messages) if isinstance(message, UserMessage))
        said = request.messages[place]
        assert isinstance(said, UserMessage)
        text = "".join(part.text for part in said.parts if isinstance(part, Text))
        found = PLAN.search(text)
        assert found is not None, text
        name, plan = found[1], [step for step in found[2].split(",") if step]
        step = sum(isinstance(message, AssistantMessage) for message in request.messages[place:]) + 1
        self._pencil.note("model", message=name, step=step)
        self._points.reach("model asked")
        await anyio.sleep(self._pause)
        answer: tuple[Text | ToolCall, ...]
        if step <= len(plan):
            arguments = json.dumps({"message": name})
            answer = (ToolCall(id=f"{name}-{step}", name=plan[step - 1], arguments=arguments),)
        else:
            results = [o.text for m in request.messages[place:] if isinstance(m, ToolMessage) for o in m.outcomes]
            said_so = [part(name, number + 1) for number in range(PARTS)] if " long" in text else []
            whole = "\n\n".join(said_so) or f"reply to {name} after {len(results)} results"
            answer = (Text(text=whole, label=LABEL),)
            yield TextDelta("" if said_so else "reply ")
            for each in said_so:
                yield TextDelta(f"{each}\n\n")
                self._points.reach("model writes")
        self._points.reach("model answered")
        yield Answered(parts=answer, stop="stop", usage=Usage(input=1, output=1), model="kit/scripted")


class Tool:
    def __init__(self, name: str, pencil: Pencil, points: Points, pause: float, *, repeatable: bool) -> None:
        parameters = {"type": "object", "properties": {"message": {"type": "string"}}}
        self.spec = ToolSpec(
            schema=ToolSchema(name=name, description="Has an effect.", parameters=parameters),
            effects=frozenset({Effect.READ if repeatable else Effect.SPEND}),
            repeatable=repeatable,
        )
        self._pencil = pencil
        self._points = points
        self._pause = pause

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        self._points.reach("tool begins")
        await anyio.sleep(self._pause)
        self._pencil.note("tool", name=self.spec.name, message=arguments["message"], key=context.call_key)
        self._points.reach("tool acted")
        return ToolResult(text="done")


class Channel:
    """Deliveries go to the ledger; what comes in is told by the parent."""

    def __init__(self, name: str, pencil: Pencil, points: Points, pause: float, *, idempotent: bool) -> None:
        self.name = name
        self.capabilities = Capabilities(idempotent_send=idempotent)
        self._pencil = pencil
        self._points = points
        self._pause = pause

    async def listen(self, receive: Receive) -> None:
        await anyio.sleep_forever()

    async def send(self, message: OutboundMessage) -> Receipt:
        self._points.reach("send begins")
        await anyio.sleep(self._pause)
        kind = "question" if message.choices else "send"
        self._pencil.note(kind, channel=self.name, key=message.key, text=message.text, marked=message.possible_duplicate)
        self._points.reach("sent")
        return Receipt(message_id=message.key)


def inbound(told: Mapping[str, str]) -> InboundMessage:
    return InboundMessage(
        id=told["id"],
        address=Address(channel=told["channel"], account="default", chat=told["sender"]),
        sender=UserId(channel=told["channel"], stable_id=told["sender"]),
        text=told["text"],
        at=0.0,
    )


async def live(order: Order) -> None:
    """Serve until killed. Control lines come in on `control`, answers go back on it."""
    home = Path(order.home)
    pencil = Pencil(home / "ledger")
    points = Points(order.kill_at, pencil)
    control = socket.socket(socket.AF_UNIX)
    control.connect(str(home / "control"))
    control.setblocking(False)
    stream = await anyio.abc.SocketStream.from_socket(control)
    common = (pencil, points, order.pause)
    async with open_store(home / "store.db", KEY, clock=SystemClock()) as store:
        house = House(
            store=Store(store, points, home),
            model=Model(*common),
            clock=SystemClock(),
            ids=SortableIds(),
            channels={
                "idem": Channel("idem", *common, idempotent=True),
                "plain": Channel("plain", *common, idempotent=False),
                "blocks": Channel("blocks", *common, idempotent=False),
            },
            manners={"blocks": BLOCKS},
            tools={
                "look": Tool("look", *common, repeatable=True),
                "spend": Tool("spend", *common, repeatable=False),
                "pay": Tool("pay", *common, repeatable=False),
            },
            decide=decide,
            scopes=ScopeRules(dm="per-channel-peer"),
            queue=QueueRules(mode="followup"),
            delivery=DeliveryRules(first_wait=0.02, longest_wait=0.1),
        )
        speaking, agreeing = anyio.Lock(), anyio.Lock()
        async with open_house(house) as engine, anyio.create_task_group() as group:

            async def accept(told: dict[str, str]) -> None:
                try:
                    accepted = await engine.receive(inbound(told))
                    answer = {"id": told["id"], "status": accepted.status}
                except OstiaryError as error:
                    answer = {"id": told["id"], "status": "refused", "why": str(error)}
                async with speaking:
                    await stream.send(json.dumps(answer).encode() + b"\n")

            async def agree() -> None:
                assert engine.approvals is not None
                async with agreeing:
                    for pending in engine.approvals.pending:
                        pencil.note("allow", call=pending.asked.call_id)
                        try:
                            await engine.approvals.answer(pending.id, True, by=OWNER)
                        except OstiaryError:
                            continue
                        pencil.note("allowed", call=pending.asked.call_id)

            await stream.send(json.dumps({"status": "ready"}).encode() + b"\n")
            buffered = b""
            async for chunk in stream:
                *lines, buffered = (buffered + chunk).split(b"\n")
                for line in lines:
                    told = json.loads(line)
                    if told.get("stop"):
                        pencil.note("points", passed=points.passed)
                        group.cancel_scope.cancel()
                        break
                    if told.get("agree"):
                        group.start_soon(agree)
                        continue
                    group.start_soon(accept, told)
            group.cancel_scope.cancel()
