"""The process behind the fence: it drives one Chromium for the whole house and speaks frames over its standard input.

Its first act is to open a door for every room, a listening socket in its own network namespace, and hand them to the gateway:
whatever a room's pages connect to arrives at its door, and nothing else exists for them to connect to.
"""

import contextlib
import os
import socket
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, cast

import anyio
from anyio.abc import UNIXSocketStream
from playwright.async_api import Browser, Error, ProxySettings, ViewportSize, async_playwright

from ostiary.adapters.browser.chromium import DROPPED, flags
from ostiary.adapters.browser.fence import HOME
from ostiary.adapters.browser.frames import BadFrame, Frame, Line
from ostiary.adapters.browser.memory import keep_within, limit_each
from ostiary.adapters.browser.records import Limits
from ostiary.adapters.browser.room import Failed, Room

_VIEWPORT = ViewportSize(width=1280, height=800)
_NOWHERE = "http://127.0.0.1:9"
_REFUSED = "the house did not say that it may"


def main() -> None:
    """Until the gateway closes the socket."""
    os.makedirs(HOME, exist_ok=True)
    anyio.run(_serve)


async def _serve() -> None:
    stream = await UNIXSocketStream.from_socket(socket.socket(fileno=0))
    line = Line(stream)
    first = await line.hear()
    limits = Limits(**first["limits"])
    limit_each(max(2 * limits.memory_bytes, 2 * 1024**3))
    doors = [socket.create_server(("127.0.0.1", 0), backlog=128) for _ in range(limits.rooms)]
    proxies = [f"http://127.0.0.1:{door.getsockname()[1]}" for door in doors]
    await stream.send_fds(b"p", [door.fileno() for door in doors])
    for door in doors:
        door.close()
    try:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=first["executable"],
                chromium_sandbox=True,
                headless=True,
                ignore_default_args=list(DROPPED),
                args=flags(limits.memory_bytes),
                # What belongs to no room has no way out at all.
                proxy={"server": _NOWHERE},
                timeout=limits.start * 1000,
            )
            await line.say({"ready": browser.version})
            with contextlib.suppress(BadFrame):
                await _House(browser, line, limits, proxies).serve()
            # Nobody is there to be told any more: the fence falls and takes everything with it.
            os._exit(0)
    except Error as error:
        await line.say({"failed": str(error)[:2000]})


class _House:
    """Every room there is, and the one conversation with the gateway about them."""

    def __init__(self, browser: Browser, line: Line, limits: Limits, proxies: list[str]) -> None:
        self._browser = browser
        self._line = line
        self._limits = limits
        self._proxies = proxies
        self._rooms: dict[str, Room] = {}
        self._making = anyio.Lock()
        self._questions = count(1)
        self._verdicts: dict[int, Callable[[str], None]] = {}
        self._running: dict[int, anyio.CancelScope] = {}

    async def serve(self) -> None:
        """Raises BadFrame when the gateway is gone."""
        async with anyio.create_task_group() as group:
            group.start_soon(keep_within, self._limits.memory_bytes)
            while True:
                frame = await self._hear(group)
                if "verdict" in frame:
                    self._verdicts.pop(frame["verdict"], _nobody)(frame["reason"])
                elif "forget" in frame:
                    self._running.get(frame["forget"], anyio.CancelScope()).cancel()
                else:
                    group.start_soon(self._answer, frame)

    async def _hear(self, group: anyio.abc.TaskGroup) -> Frame:
        try:
            return await self._line.hear()
        except BadFrame:
            group.cancel_scope.cancel()
            raise

    async def _answer(self, frame: Frame) -> None:
        number = frame["id"]
        answer: dict[str, Any] = {"id": number}
        with anyio.CancelScope() as scope:
            self._running[number] = scope
            try:
                answer["done"] = await self._perform(frame)
            except Failed as failure:
                answer["failed"] = str(failure)
            except Exception as error:  # noqa: BLE001 - one order that breaks must not end everybody's browser
                answer["failed"] = f"The browser could not do that ({type(error).__name__})."
        self._running.pop(number, None)
        if not scope.cancelled_caught:
            await self._line.say(answer)

    async def _perform(self, frame: Frame) -> dict[str, Any]:
        name = frame["room"]
        if frame["act"] == "close":
            if name in self._rooms:
                await self._rooms.pop(name).close()
            return {}
        async with self._making:
            if name not in self._rooms:
                if frame["act"] != "open":
                    raise Failed("No page is open; open one first.")
                self._rooms[name] = await self._make(frame["slot"], frame["credential"])
        return await self._rooms[name].perform(frame)

    async def _make(self, slot: int, credential: dict[str, str]) -> Room:
        context = await self._browser.new_context(
            proxy=cast(ProxySettings, {"server": self._proxies[slot], **credential}),
            accept_downloads=False,
            service_workers="block",
            viewport=_VIEWPORT,
            permissions=[],
            ignore_https_errors=False,
        )
        room = Room(context, self._asker(slot), self._limits)
        await room.prepare()
        return room

    def _asker(self, slot: int) -> Callable[[str], Awaitable[str]]:
        async def refuses(url: str) -> str:
            number, heard, reasons = next(self._questions), anyio.Event(), [_REFUSED]

            def take(reason: str) -> None:
                reasons[0] = reason
                heard.set()

            self._verdicts[number] = take
            with anyio.move_on_after(self._limits.judge):
                await self._line.say({"judge": number, "slot": slot, "url": url[:8000]})
                await heard.wait()
            self._verdicts.pop(number, None)
            return reasons[0]

        return refuses


def _nobody(reason: str) -> None:
    """The question was given up before its answer came."""


if __name__ == "__main__":
    main()
