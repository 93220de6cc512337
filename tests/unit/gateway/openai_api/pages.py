"""The pages as the door serves them, with a caller already let in."""

import json
from typing import Any

import anyio

from ostiary.contracts.identity import SessionKey
from ostiary.core.routing.scopes import api_scope
from ostiary.gateway.auth.callers import Caller, of_device, owner
from ostiary.gateway.errors import ApiError
from ostiary.gateway.limits import Limits
from ostiary.gateway.openai_api.choosing import Desk
from ostiary.gateway.openai_api.pages import openai_pages
from tests.unit.gateway.fakes import FakeCatalogue, FakeEngine

OWNER = owner("token")
BOTH = frozenset({"chatCompletions", "responses"})


def device(*scopes: str) -> Caller:
    return of_device("dev1", scopes)


class Pages:
    def __init__(self, engine: FakeEngine | None = None, *, on: frozenset[str] = BOTH, caller: Caller = OWNER) -> None:
        self.engine = engine or FakeEngine()
        self.caller = caller
        desk = Desk(
            engine=self.engine,
            catalogue=FakeCatalogue(),
            agents=lambda: ("main", "home"),
            session_for=lambda agent, user: SessionKey(agent, api_scope(user)),
            limits=Limits(keep_alive_seconds=5.0, turn_seconds=1.0),
            now=lambda: 1_800_000_000.0,
        )
        self.pages = openai_pages(desk, on.__contains__)

    async def call(self, method: str, page: str, body: object = None, *, path: str = "", **headers: str) -> tuple[int, bytes]:
        """`page` is the key of the pages; `path` what was really asked for, where that is more."""
        scope: dict[str, Any] = {
            "type": "http", "method": method, "path": path or page, "query_string": b"", "scheme": "http",
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
            "ostiary.caller": self.caller,
        }  # fmt: skip
        unread = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]
        status, written = 0, b""

        async def receive() -> Any:
            if not unread:
                await anyio.sleep_forever()
            return unread.pop()

        async def send(event: Any) -> None:
            nonlocal status, written
            status = event.get("status", status)
            written += event.get("body", b"")

        try:
            with anyio.fail_after(5):
                await self.pages[page][method](scope, receive, send)
        except ApiError as error:
            return error.status, json.dumps(error.body()).encode()
        return status, written

    async def respond(self, **body: object) -> Any:
        status, written = await self.call("POST", "/v1/responses", {"model": "ostiary", "input": "hi", **body})
        assert status == 200, written
        return json.loads(written)

    async def events(self, **body: object) -> list[Any]:
        _, written = await self.call("POST", "/v1/responses", {"model": "ostiary", "input": "hi", "stream": True, **body})
        return [
            json.loads(part.partition("\ndata: ")[2]) for part in written.decode().split("\n\n") if part.startswith("event: ")
        ]
