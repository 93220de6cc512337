"""A sender of deliveries, an engine that notes what it is handed, and a store that remembers values."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from ostiary.contracts.channel import Accepted
from ostiary.contracts.engine import Submission
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.store import SetValue
from ostiary.gateway.auth import Gate
from ostiary.gateway.errors import ApiError
from ostiary.gateway.hooks.door import Hooks
from ostiary.gateway.hooks.rules import Hook, HookRules
from tests.unit.gateway.fakes import FakeCatalogue

TOKEN = "hook-token-0123456789"
NOW = 1_800_000_000.0


def token() -> str:
    return TOKEN


def hook(name: str, **more: Any) -> Hook:
    return Hook(**{"name": name, "path": name, "session": SessionKey("main", f"hook:{name}"), "token": token, **more})


def rules(*mapped: Hook, **more: Any) -> HookRules:
    return HookRules(**{"token": token, "wake": hook("wake"), "agent": hook("agent"), "mapped": mapped, **more})


class InboxOnly:
    """Takes every message once, as the inbox does."""

    def __init__(self) -> None:
        self.submitted: list[Submission] = []
        self._ids: dict[tuple[object, str], int] = {}

    async def submit(self, submission: Submission) -> Accepted:
        key = (submission.message.address, submission.message.id)
        if key in self._ids:
            return Accepted(status="duplicate", item=self._ids[key], session=submission.session)
        self.submitted.append(submission)
        self._ids[key] = len(self.submitted)
        return Accepted(status="accepted", item=len(self.submitted), session=submission.session)


class Values:
    def __init__(self, clock: "Clock") -> None:
        self._clock = clock
        self._values: dict[tuple[str, str], SetValue] = {}

    async def value(self, space: str, key: str) -> bytes | None:
        found = self._values.get((space, key))
        await anyio.lowlevel.checkpoint()
        return found.value if found is not None and found.expires_at > self._clock.at else None

    async def commit(self, writes: Sequence[SetValue]) -> tuple[int, ...]:
        await anyio.lowlevel.checkpoint()
        self._values.update({(write.space, write.key): write for write in writes})
        return tuple(0 for _ in writes)


@dataclass
class Clock:
    at: float = NOW

    def __call__(self) -> float:
        return self.at


@dataclass
class Reply:
    status: int
    code: str = ""
    body: Any = None
    unread: bool = False


@dataclass
class Sender:
    rules: HookRules | None
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.engine = InboxOnly()
        self.hooks = Hooks(
            engine=self.engine,  # type: ignore[arg-type]
            store=Values(self.clock),  # type: ignore[arg-type]
            catalogue=FakeCatalogue(),
            gate=Gate(lambda: "the-gateways-own-token-123", monotonic=self.clock),
            rules=lambda: self.rules,
            now=self.clock,
            monotonic=self.clock,
        )

    @property
    def submitted(self) -> list[Submission]:
        return self.engine.submitted

    async def send(
        self,
        name: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        *,
        query: str = "",
        method: str = "POST",
        with_token: bool = True,
        address: str = "127.0.0.1",
        chunks: Sequence[bytes] = (),
    ) -> Reply:
        """404 also for what no hook serves at all. `chunks` instead of a body are sent as they are asked for."""
        content = body if isinstance(body, bytes) else json.dumps(body if body is not None else {}).encode()
        given = {
            "host": "127.0.0.1",
            "content-type": "application/json",
            **({"authorization": f"Bearer {TOKEN}"} if with_token else {}),
        }
        given |= {key.lower(): value for key, value in (headers or {}).items()}
        path = name if name.startswith("/") else f"/hooks/{name}"
        scope = {
            "type": "http", "method": method, "path": path, "query_string": query.encode(), "scheme": "http",
            "client": (address, 5555), "server": ("127.0.0.1", 18789),
            "headers": [(key.encode(), value.encode("latin-1")) for key, value in given.items() if value != "(none)"],
        }  # fmt: skip
        waiting = list(chunks) or [content]
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

        async def send(event: Any) -> None:
            sent.append(event)

        page = self.hooks.page(path)
        if page is None:
            return Reply(404, unread=True)
        try:
            with anyio.fail_after(5):
                await page(scope, receive, send)
        except ApiError as error:
            return Reply(error.status, error.code, error.message, unread=bool(waiting))
        return Reply(sent[0]["status"], body=json.loads(sent[1]["body"]))
