"""What a soak run does to a gateway: turns over HTTP and sockets at a steady rate, clients that come and go, hot reloads."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp

from ostiary.client.link import Identity, open_link

SESSIONS = 6
# A conversation is kept in memory while it is used: those of the soak begin afresh, so that what still grows is a leak.
TURNS_EACH = 25
_HTTP_EVERY = 0.1
_SOCKET_EVERY = 0.2
_RECONNECT_EVERY = 0.5
_RELOAD_EVERY = 10.0


class Load:
    """Use `run` until cancelled. `problems` are what went wrong; one is too many."""

    def __init__(self, url: str, token: str, config: Path) -> None:
        self._url = url
        self._token = token
        self._config = config
        self.turns = 0
        self.connects = 0
        self.reloads = 0
        self.problems: list[str] = []

    async def run(self) -> None:
        headers = {"Authorization": f"Bearer {self._token}"}
        async with aiohttp.ClientSession(headers=headers) as session, asyncio.TaskGroup() as group:
            for number in range(2):
                group.create_task(self._over_http(session, number))
                group.create_task(self._over_socket(number))
                group.create_task(self._come_and_go())
            for _ in range(5):
                group.create_task(self._watch())
            group.create_task(self._reload())

    async def figures(self) -> dict[str, float]:
        """The gateway's own, by name, those without labels."""
        async with (
            aiohttp.ClientSession(headers={"Authorization": f"Bearer {self._token}"}) as session,
            session.get(f"{self._url}/metrics") as response,
        ):
            lines = (await response.text()).splitlines()
        return {line.split()[0]: float(line.split()[1]) for line in lines if not line.startswith("#") and "{" not in line}

    async def _over_http(self, session: aiohttp.ClientSession, number: int) -> None:
        count = 0
        while True:
            count += 1
            if count % (SESSIONS * TURNS_EACH) == 0:
                # A socket of its own for the moment: one that nobody reads would be cut off.
                control = await self._join()
                for place in range(SESSIONS):
                    await self._begin_afresh(control, f"agent:main:api:soak-{number}-{place}")
                await control.close()
            said = {"model": "ostiary", "user": f"soak-{number}-{count % SESSIONS}", "stream": bool(count % 2)}
            body = {**said, "messages": [{"role": "user", "content": "hi"}]}
            async with session.post(f"{self._url}/v1/chat/completions", json=body) as response:
                text = await response.text()
                self._note(response.status == 200 and "word9" in text, f"HTTP {response.status}: {text[:200]}")
            await asyncio.sleep(_HTTP_EVERY)

    async def _over_socket(self, number: int) -> None:
        connection = await self._join()
        key, count = f"agent:main:soak{number}", 0
        await connection.send(_asked("follow", "sessions.subscribe", {"keys": [key]}))
        while True:
            count += 1
            if count % TURNS_EACH == 0:
                await self._begin_afresh(connection, key)
            params = {"key": key, "text": "hi", "idempotencyKey": uuid4().hex}
            await connection.send(_asked(f"t{count}", "chat.send", params))
            while True:
                frame = json.loads(await connection.recv())
                payload = frame.get("payload") or {}
                is_bad = frame.get("ok") is False or payload.get("state") == "error"
                if is_bad or payload.get("state") == "final":
                    self._note(not is_bad, f"socket: {str(frame)[:200]}")
                    break
            await asyncio.sleep(_SOCKET_EVERY)

    async def _begin_afresh(self, connection: Any, key: str) -> None:
        """Between two turns, for it would end one."""
        request = uuid4().hex
        await connection.send(_asked(request, "sessions.reset", {"key": key, "idempotencyKey": request}))
        while (frame := json.loads(await connection.recv())).get("id") != request:
            pass
        if not frame["ok"]:
            self.problems.append(f"reset: {str(frame)[:200]}")

    async def _come_and_go(self) -> None:
        while True:
            connection = await self._join()
            self.connects += 1
            await connection.send(_asked("history", "chat.history", {"key": "agent:main:soak0", "limit": 5}))
            await connection.recv()
            if self.connects % 2:
                await connection.close()
            else:
                # As a phone that goes out of reach.
                connection.transport.abort()
            await asyncio.sleep(_RECONNECT_EVERY)

    async def _watch(self) -> None:
        connection = await self._join()
        await connection.send(_asked("follow", "sessions.subscribe", {"keys": ["*"]}))
        async for _ in connection:
            pass

    async def _reload(self) -> None:
        """Another prefix of replies, back and forth: the whole configuration is read and put in force each time."""
        while True:
            await asyncio.sleep(_RELOAD_EVERY)
            content: dict[str, Any] = json.loads(self._config.read_text())
            self.reloads += 1
            content["messages"] = {"responsePrefix": "" if self.reloads % 2 else " "}
            draft = self._config.with_suffix(".draft")
            draft.write_text(json.dumps(content))
            draft.chmod(0o600)
            os.replace(draft, self._config)

    async def _join(self) -> Any:
        who = Identity(token=self._token, mode="soak", client_id="soak", instance_id=uuid4().hex)
        return (await open_link(self._url, who, None))[0]

    def _note(self, is_good: bool, problem: str) -> None:
        self.turns += is_good
        if not is_good:
            self.problems.append(problem)


def _asked(request: str, method: str, params: object) -> str:
    return json.dumps({"type": "req", "id": request, "method": method, "params": params})
