"""An assembled house in this process, people on a channel of it, and a model that does what the test says."""

import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream

from ostiary.assembly.house import House, open_house
from ostiary.contracts.content import Label, ToolMessage, ToolOutcome, Trust
from ostiary.contracts.engine import Outcome, Submission
from ostiary.contracts.identity import OWNER, Principal, SessionKey
from ostiary.contracts.messages import Address, InboundMessage, UserId
from ostiary.contracts.model import ModelRequest
from ostiary.contracts.store import Put
from ostiary.core.approvals.desk import PendingApproval
from ostiary.core.memory.diary import PLACE, SPACE
from ostiary.core.sessions.pen import Pen
from ostiary.kit.channels import MemoryChannel
from ostiary.kit.models import ScriptedModel, Step, say

CHANNEL = "post"
ME = Principal(user=UserId(channel=CHANNEL, stable_id="owner"), role=OWNER)
ENVIRON = {"KIT_KEY": "sk-kit-0123456789abcdef", "PATH": "/usr/local/bin:/usr/bin:/bin"}
SECONDS = 30.0


def configuration(**more: Any) -> dict[str, Any]:
    """Everybody on the channel has every tool: what is kept from them is kept by memory itself."""
    model = {"id": "scripted", "contextWindow": 200_000}
    provider = {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "${KIT_KEY}", "models": [model]}
    open_to_all = {"dmPolicy": "open", "allowFrom": ["*"], "groupPolicy": "open", "requireMention": False}
    return {
        "models": {"providers": {"kit": provider}},
        "agents": {"defaults": {"model": {"primary": "kit/scripted"}}, "list": [{"id": "main"}, {"id": "work"}]},
        "channels": {CHANNEL: open_to_all},
        "commands": {"ownerAllowFrom": [f"{CHANNEL}:owner"]},
        "session": {"dmScope": "per-channel-peer"},
        "messages": {"inbound": {"debounceMs": 0}, "queue": {"debounceMs": 0}},
        "control": {"startAwake": True},
        "tools": {"roles": {"external": {"allow": ["*"]}}, "switches": False},
        **more,
    }


@dataclass(slots=True, kw_only=True)
class People:
    house: House
    channel: MemoryChannel
    questions: MemoryObjectReceiveStream[PendingApproval]
    requests: list[ModelRequest]
    steps: list[Step] = field(default_factory=list)

    async def says(self, who: str, text: str, *steps: Step, chat: str = "") -> Outcome:
        """Somebody writes; the model does these steps and then answers."""
        self.begin(steps)
        accepted = await self.channel.say(text, sender=who, chat=chat)
        assert accepted.status != "dropped", accepted
        return await self._ended(accepted.item, accepted.text)

    async def asks(self, session: str, text: str, *steps: Step) -> Outcome:
        """The owner, at the page, in any conversation."""
        self.begin(steps)
        key = SessionKey.parse(session)
        message = InboundMessage(
            id=secrets.token_hex(8),
            address=Address(channel="api", account="default", chat=session),
            sender=UserId(channel="api", stable_id="owner"),
            text=text,
            at=self.house.clock.now(),
        )
        principal = Principal(user=message.sender, role=OWNER)
        accepted = await self.house.engine.submit(Submission(message=message, principal=principal, session=key))
        return await self._ended(accepted.item, accepted.text)

    async def diary_written(self) -> None:
        """Until the daily notes tell of everything that was ended by hand."""
        store, last = self.house.store, 0
        while page := await store.events_after(last, limit=1000):
            last = page[-1][0]
        with anyio.fail_after(SECONDS):
            while int(await store.value(SPACE, PLACE) or b"0") < last:
                await anyio.lowlevel.checkpoint()

    def begin(self, steps: tuple[Step, ...]) -> None:
        self.steps[:] = steps
        self.requests.clear()

    async def _ended(self, item: int | None, text: str) -> Outcome:
        if item is None:
            return Outcome(turn="", session=SessionKey("main", "main"), status="completed", text=text)
        with anyio.fail_after(SECONDS):
            async with anyio.create_task_group() as group:
                group.start_soon(self._saying_yes)
                outcome = await self.house.engine.outcome(item)
                group.cancel_scope.cancel()
        return outcome

    async def _saying_yes(self) -> None:
        """The owner permits whatever is asked."""
        async for pending in self.questions:
            await self.house.approvals.answer(pending.id, True, by=ME)

    async def put(self, path: str, text: str, trust: Trust) -> None:
        """A file of the workspace, as if it had come there with that trust."""
        label = Label(trust=trust, sources=("file:test",))
        now = self.house.clock.now()
        put = Put(collection="_workspace", path=path, content=text.encode(), at=now, author="post:owner", label=label)
        await self.house.store.commit([put])

    @property
    def outcomes(self) -> list[ToolOutcome]:
        """What came back from the calls of this conversation."""
        said = [each for each in self.requests[-1].messages if isinstance(each, ToolMessage)]
        return [outcome for message in said for outcome in message.outcomes]

    @property
    def results(self) -> list[str]:
        return [outcome.text for outcome in self.outcomes]

    @property
    def labels(self) -> list[Label]:
        return [outcome.label for outcome in self.outcomes]

    @property
    def shown(self) -> str:
        """Everything the model was shown last."""
        request = self.requests[-1]
        return "\n".join((*request.system, repr(request.messages)))

    @property
    def tools(self) -> set[str]:
        return {tool.name for tool in self.requests[-1].tools}


def _configure(path: Path, config: dict[str, Any]) -> None:
    path.mkdir(mode=0o700, exist_ok=True)
    file = path / "ostiary.json5"
    file.write_text(json.dumps(config))
    file.chmod(0o600)


@asynccontextmanager
async def people(path: Path, **config: Any) -> AsyncIterator[People]:
    _configure(path, configuration(**config))
    channel = MemoryChannel(CHANNEL)
    send, questions = anyio.create_memory_object_stream[PendingApproval](10)
    steps: list[Step] = []
    requests: list[ModelRequest] = []

    def answer(request: ModelRequest) -> Step:
        requests.append(request)
        return steps.pop(0) if steps else say("Done.")

    async with send, questions, open_house(path, ENVIRON, channels={CHANNEL: channel}) as house:
        house.newest.models = replace(house.newest.models, client=ScriptedModel(answer))
        told = house.approvals.tell

        def tell(pen: Pen, address: Address, pending: PendingApproval, now: float) -> None:
            told(pen, address, pending, now)
            pen.then(lambda: send.send_nowait(pending))

        house.approvals.tell = tell
        yield People(house=house, channel=channel, questions=questions, requests=requests, steps=steps)
