"""The house's one browser: started when somebody first needs it, ended when nobody does."""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
from anyio.abc import TaskGroup

from ostiary.adapters.browser.outline import clean
from ostiary.adapters.browser.process import BrowserProcess
from ostiary.adapters.browser.records import PAGE_BYTES, Bound, Element, Order, ProxyAddress, Settings, View
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import Busy, ToolError
from ostiary.contracts.identity import Principal, SessionKey

_NOTHING = "No page is open; open one first."

Refuses = Callable[[str, Principal], Awaitable[str]]
"""Why this principal may not ask for this URL; empty if it may."""

ProxyOf = Callable[[Principal], ProxyAddress]
"""The proxy that keeps this principal's rules, for every address that a name leads to as well."""


@dataclass(slots=True)
class _Room:
    """Whose it is, which door its pages go out by, and when it was last used."""

    principal: Principal
    slot: int
    used: float


class Browser:
    """A room is one conversation at one level of authority; what one room does no other can see. A room left alone for
    `limits.idle` seconds is closed, and with the last of them the process."""

    def __init__(self, settings: Settings, *, proxy_of: ProxyOf, refuses: Refuses, clock: Clock, group: TaskGroup) -> None:
        self._settings = settings
        self._proxy_of = proxy_of
        self._refuses = refuses
        self._clock = clock
        self._group = group
        self._starting = anyio.Lock()
        self._process: BrowserProcess | None = None
        self._rooms: dict[str, _Room] = {}

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.is_alive

    @property
    def version(self) -> str:
        return self._process.version if self._process is not None else ""

    async def perform(self, session: SessionKey, principal: Principal, order: Order) -> View:
        """Raises ToolError, Busy, SandboxUnavailable."""
        room = _room(session, principal)
        if order.act == "close":
            if self._rooms.pop(room, None) is None or not self.is_running:
                return View(notes=("No page was open.",))
        elif order.act == "open":
            await self._enter(room, principal)
        elif room not in self._rooms:
            raise ToolError(_NOTHING)
        frame = {name: getattr(order, name) for name in ("act", "url", "ref", "text", "submit", "page")}
        if order.act == "open":
            proxy = self._proxy_of(principal)
            frame["credential"] = {"username": proxy.username, "password": proxy.password} if proxy.username else {}
        return _view(await self._ask(room, frame, may_start=order.act == "open"), self._settings.limits.image_bytes)

    async def look(self, session: SessionKey, principal: Principal, ref: str) -> Bound:
        """What `ref` is right now. Raises ToolError."""
        room = _room(session, principal)
        seen = await self._ask(room, {"act": "look", "ref": ref}, may_start=False)
        role, name, target, url = (clean(str(seen.get(key, "")), 4000) for key in ("role", "name", "target", "url"))
        return Bound(url=url, element=Element(role=role, name=name, target=target))

    def end(self, reason: str = "the browser was ended") -> bool:
        """At once, with every page; tells whether there was anything to end."""
        was_running = self.is_running
        if self._process is not None:
            self._process.end(reason)
        self._process = None
        self._rooms.clear()
        return was_running

    async def _enter(self, room: str, principal: Principal) -> None:
        now = self._clock.monotonic()
        await self._close_idle(now)
        if room not in self._rooms:
            free = set(range(self._settings.limits.rooms)) - {each.slot for each in self._rooms.values()}
            if not free:
                raise Busy("Every place in the browser is taken by other conversations.", hint="Try again in a few minutes.")
            self._rooms[room] = _Room(principal, min(free), now)
        self._rooms[room].used = now

    async def _close_idle(self, now: float) -> None:
        idle = [name for name, each in self._rooms.items() if now - each.used >= self._settings.limits.idle]
        for name in idle:
            del self._rooms[name]
            if self._process is not None and self._process.is_alive:
                await self._process.ask({"act": "close", "room": name})

    async def _ask(self, room: str, frame: dict[str, Any], *, may_start: bool) -> dict[str, Any]:
        process = await self._running(may_start=may_start)
        if process is None:
            raise ToolError(_NOTHING)
        try:
            known = self._rooms.get(room)
            return dict(await process.ask({**frame, "room": room, "slot": known.slot if known else 0}))
        finally:
            if room in self._rooms:
                self._rooms[room].used = self._clock.monotonic()

    async def _running(self, *, may_start: bool) -> BrowserProcess | None:
        async with self._starting:
            if self._process is not None and self._process.is_alive:
                return self._process
            self._process = None
            if not may_start:
                self._rooms.clear()
                return None
            process = await BrowserProcess.start(self._settings)
            self._process = process
            self._group.start_soon(process.live, self._judge, self._way, partial(self._end_when_idle, process))
            return process

    async def _judge(self, slot: int, url: str) -> str:
        principal = self._whose(slot)
        return "nobody asked for it" if principal is None else await self._refuses(url, principal)

    def _way(self, slot: int) -> ProxyAddress | None:
        principal = self._whose(slot)
        return None if principal is None else self._proxy_of(principal)

    def _whose(self, slot: int) -> Principal | None:
        return next((room.principal for room in self._rooms.values() if room.slot == slot), None)

    async def _end_when_idle(self, process: BrowserProcess) -> None:
        limit = self._settings.limits.idle
        while process.is_alive:
            now = self._clock.monotonic()
            last = max((room.used for room in self._rooms.values()), default=now - limit)
            if process.is_busy:
                last = now
            if now - last >= limit:
                process.end("the browser was idle and was ended")
                return
            await self._clock.sleep(limit - (now - last))


@asynccontextmanager
async def running_browser(settings: Settings, *, proxy_of: ProxyOf, refuses: Refuses, clock: Clock) -> AsyncIterator[Browser]:
    """The browser for as long as the house stands; nothing is started before it is needed, and nothing is left behind."""
    async with anyio.create_task_group() as group:
        browser = Browser(settings, proxy_of=proxy_of, refuses=refuses, clock=clock, group=group)
        try:
            yield browser
        finally:
            browser.end("the house is closing")


def _room(session: SessionKey, principal: Principal) -> str:
    """Authority never widens: in one group chat the owner's pages are not those of a guest."""
    return f"{session}|{principal.role}"


def _view(seen: dict[str, Any], image_bytes: int) -> View:
    """What is behind the fence may have been taken over by a page: sizes and shapes are checked once more."""
    try:
        image = base64.b64decode(seen.get("image", ""))
        if len(image) > image_bytes:
            raise ToolError("The picture is larger than may be kept.")
        return View(
            url=clean(str(seen.get("url", "")), 4000),
            title=clean(str(seen.get("title", "")), 200),
            text=str(seen.get("text", ""))[: 2 * PAGE_BYTES],
            page=int(seen.get("page", 1)),
            pages=int(seen.get("pages", 1)),
            tabs=int(seen.get("tabs", 0)),
            notes=tuple(clean(str(note), 300) for note in seen.get("notes", ())[:20]),
            image=image,
            media_type="image/jpeg" if image else "",
        )
    except (ValueError, TypeError):
        raise ToolError("The browser answered with nonsense; open the page again.") from None
