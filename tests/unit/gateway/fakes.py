"""An engine whose turns the test plays by hand, and a client that speaks ASGI to the door."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import anyio

from ostiary.contracts.channel import Accepted
from ostiary.contracts.content import Label, Text, ToolCall, ToolOutcome, Trust
from ostiary.contracts.engine import Outcome, SessionView, Stopped, Submission
from ostiary.contracts.errors import BadInput
from ostiary.contracts.events import Delta, ModelAnswered, Recorded, Shown, TurnEnded, TurnInput, TurnStarted
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import Address, InboundMessage, UserId
from ostiary.contracts.model import ModelChoice, ModelFacts, ModelRef, Usage
from ostiary.core.routing.feed import Feed
from ostiary.gateway.app import Door, api_session
from ostiary.gateway.asgi import App
from ostiary.gateway.auth import Gate
from ostiary.gateway.house import House
from ostiary.gateway.limits import Limits
from ostiary.gateway.openai_api.choosing import Desk
from ostiary.gateway.openai_api.pages import openai_pages

TOKEN = "a-token-for-tests"
OWNER_LABEL = Label(trust=Trust.OWNER)
Play = Callable[["FakeEngine", Submission, int], Any]


class FakeEngine:
    """`play` runs as the turn of each accepted message; without one the turn says hello."""

    def __init__(self, play: Play | None = None) -> None:
        self.submitted: list[Submission] = []
        self.answers: list[tuple[SessionKey, tuple[ToolOutcome, ...]]] = []
        self.stopped: list[SessionKey] = []
        self.open_calls: dict[str, int] = {}
        self.accept: Callable[[Submission], Accepted | None] = lambda submission: None
        self._play = play or (lambda engine, submission, item: engine.say(submission, item, "hello"))
        self._feed = Feed()
        self._outcomes: dict[int, Outcome] = {}
        self._ended: dict[int, anyio.Event] = {}

    async def submit(self, submission: Submission) -> Accepted:
        self.submitted.append(submission)
        other = self.accept(submission)
        if other is not None:
            return other
        item = len(self.submitted)
        self._ended.setdefault(item, anyio.Event())
        self._play(self, submission, item)
        return Accepted(status="accepted", item=item, session=submission.session)

    async def outcome(self, item: int) -> Outcome:
        await self._ended.setdefault(item, anyio.Event()).wait()
        return self._outcomes[item]

    @asynccontextmanager
    async def watch(self, session: SessionKey) -> AsyncIterator[AsyncIterator[Shown]]:
        with self._feed.watch(str(session)) as watcher:
            yield aiter(watcher)

    async def answer_calls(self, session: SessionKey, outcomes: Sequence[ToolOutcome], *, by: Principal) -> int | None:
        self.answers.append((session, tuple(outcomes)))
        return self.open_calls.get(str(session))

    async def view(self, session: SessionKey) -> SessionView:
        return SessionView(
            key=session, settings={}, usage=Usage(input=3), turns=1, messages=2, model="fake/echo", running_turn="",
            waiting_for="", queued=0, created_at=0.0, updated_at=0.0, context_tokens=12, context_report={},
        )  # fmt: skip

    async def change_setting(self, session: SessionKey, name: str, value: str, *, by: Principal) -> None: ...

    async def reset(self, session: SessionKey, *, reason: str, by: Principal) -> None: ...

    async def stop(self, session: SessionKey, *, by: Principal, reason: str = "stopped") -> Stopped:
        self.stopped.append(session)
        return Stopped(turns=1, queued=0)

    def status(self) -> Mapping[str, object]:
        return {"running": 0, "queued": 0}

    def show(self, session: SessionKey | None, *events: Shown) -> None:
        for event in events:
            self._feed.show(replace(event, session=str(session)))  # type: ignore[arg-type]

    def record(self, session: SessionKey | None, turn: str, event: Any) -> None:
        self.show(session, Recorded(session=str(session), seq=1, turn=turn, at=0.0, event=event))

    def start(self, submission: Submission, item: int, turn: str = "turn_1") -> None:
        started = TurnStarted(
            inputs=(TurnInput(item=item, parts=(Text(text=submission.message.text, label=OWNER_LABEL),), at=0.0),),
            principal=Principal(user=UserId(channel="api", stable_id="token")),
            reply_to=Address(channel="api", account="default", chat="x"),
        )
        self.record(submission.session, turn, started)

    def delta(
        self, submission: Submission, text: str, *, offset: int = 0, step: int = 1, attempt: int = 1, turn: str = "turn_1"
    ) -> None:
        self.show(
            submission.session,
            Delta(session="", turn=turn, step=step, attempt=attempt, offset=offset, text=text, stream="assistant"),
        )

    def end(self, submission: Submission, item: int, **more: Any) -> None:
        outcome = Outcome(
            **{
                "turn": "turn_1",
                "session": submission.session,
                "status": "completed",
                "usage": Usage(input=7, output=2),
                "model": "fake/echo",
                **more,
            }
        )
        status = outcome.status if outcome.status != "waiting" else "completed"
        self.record(submission.session, "turn_1", TurnEnded(status=status, reply=outcome.text))
        self.settle(item, outcome)

    def resumed(self, session: str) -> Submission:
        """A stand-in for the message whose turn goes on in `session`."""
        message = InboundMessage(
            id="m",
            address=Address(channel="api", account="default", chat="x"),
            sender=UserId(channel="api", stable_id="t"),
            text="",
            at=0.0,
        )
        return Submission(message=message, session=SessionKey.parse(session))

    def settle(self, item: int, outcome: Outcome) -> None:
        self._outcomes[item] = outcome
        self._ended.setdefault(item, anyio.Event()).set()

    def say(self, submission: Submission, item: int, text: str, stop: str = "stop") -> None:
        self.start(submission, item)
        self.delta(submission, text)
        answered = ModelAnswered(
            step=1, parts=(Text(text=text, label=OWNER_LABEL),), stop=stop, usage=Usage(input=7, output=2), model="fake/echo"
        )
        self.record(submission.session, "turn_1", answered)
        self.end(submission, item, text=text, stop=stop)


class FakeCatalogue:
    """Knows one model."""

    def facts(self, ref: ModelRef) -> ModelFacts:
        return ModelFacts(ref=ref)

    def choose(self, agent: str, override: str = "", *, with_images: bool = False) -> ModelChoice:
        ref = ModelRef.parse(override or "fake/echo")
        if str(ref) != "fake/echo":
            raise BadInput(f"there is no model {override!r}", hint="See ostiary models list.")
        return ModelChoice(primary=ref)

    def choices(self, agent: str) -> tuple[ModelFacts, ...]:
        return (ModelFacts(ref=ModelRef("fake", "echo")),)


@dataclass
class Reply:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    writes: list[bytes] = field(default_factory=list)

    @property
    def body(self) -> bytes:
        return b"".join(self.writes)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> Any:
        return self.json["error"]

    @property
    def chunks(self) -> list[Any]:
        lines = [line[6:] for line in self.body.decode().split("\n\n") if line.startswith("data: ")]
        return [json.loads(line) for line in lines if line != "[DONE]"]

    @property
    def text(self) -> str:
        deltas = [choice["delta"] for chunk in self.chunks for choice in chunk.get("choices", ())]
        return "".join(delta.get("content") or "" for delta in deltas)


def build_app(
    engine: FakeEngine,
    *,
    token: Callable[[], str] = lambda: TOKEN,
    run_token: str = "",
    limits: Limits | None = None,
    monotonic: Callable[[], float] = lambda: 0.0,
    facts: Mapping[str, object] = MappingProxyType({"version": "1"}),
) -> App:
    """A door with OpenAI's pages and the command line's."""
    limits = limits or Limits()
    house = House(engine=engine, store=None, facts=lambda: facts, limits=limits)
    desk = Desk(
        engine=engine,
        catalogue=FakeCatalogue(),
        agents=lambda: ("main", "home"),
        session_for=api_session,
        limits=limits,
        now=lambda: 1_800_000_000.0,
    )
    own: dict[str, Mapping[str, App]] = {
        "/v1/ostiary/status": {"GET": house.status},
        "/v1/ostiary/sessions": {"GET": house.sessions},
        "/v1/ostiary/session": {"GET": house.session},
        "/v1/ostiary/stop": {"POST": house.stop},
    }
    gate = Gate(token, limits, monotonic, run_token)
    return Door(gate, pages={**own, **openai_pages(desk, lambda name: True)}, limits=limits)


class Client:
    """Calls the door directly. `leave` hangs up."""

    def __init__(
        self, engine: FakeEngine | None = None, *, limits: Limits | None = None, monotonic: Callable[[], float] = lambda: 0.0
    ) -> None:
        self.engine = engine or FakeEngine()
        self.app: App = build_app(self.engine, limits=limits, monotonic=monotonic)
        self.leave = anyio.Event()

    async def call(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Reply:
        given = {"host": "127.0.0.1:18789", "authorization": f"Bearer {TOKEN}", **(headers or {})}
        raw_path, _, query = path.partition("?")
        scope = {
            "type": "http", "method": method, "path": raw_path, "query_string": query.encode(), "scheme": "http",
            "headers": [(name.lower().encode(), value.encode()) for name, value in given.items() if value != "(none)"],
        }  # fmt: skip
        reply = Reply()
        unread = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            if unread:
                return unread.pop()
            await self.leave.wait()
            return {"type": "http.disconnect"}

        async def send(event: Any) -> None:
            if event["type"] == "http.response.start":
                reply.status = event["status"]
                reply.headers = {key.decode(): value.decode() for key, value in event["headers"]}
            else:
                reply.writes.append(event.get("body", b""))

        with anyio.fail_after(5):
            await self.app(scope, receive, send)
        return reply

    async def chat(self, *messages: object, headers: Mapping[str, str] | None = None, **more: object) -> Reply:
        turns = [{"role": "user", "content": each} if isinstance(each, str) else each for each in messages]
        body = json.dumps({"model": "ostiary", "messages": turns, **more}).encode()
        return await self.call("POST", "/v1/chat/completions", body, headers)


def call(id: str = "call_1", name: str = "look", arguments: str = "{}") -> ToolCall:
    return ToolCall(id=id, name=name, arguments=arguments)
