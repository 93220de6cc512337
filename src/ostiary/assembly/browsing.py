"""The browser, not even imported before the assistant first wants a page."""

from typing import TYPE_CHECKING

import anyio

from ostiary.adapters.browser.records import Bound, Limits, Order, ProxyAddress, Settings, View
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import Busy
from ostiary.contracts.identity import Principal, SessionKey

if TYPE_CHECKING:
    from ostiary.adapters.browser.browser import Browser
    from ostiary.assembly.config.browser import Browser as BrowserConfig
    from ostiary.assembly.outlet import Outlet

OPEN_SECONDS = 30.0


class LazyBrowser:
    """Implements adapters.tools.browsing.Pages; good while `hold` runs."""

    def __init__(self, config: "BrowserConfig", outlet: "Outlet", clock: Clock) -> None:
        self._config = config
        self._outlet = outlet
        self._clock = clock
        self._wanted, self._ready = anyio.Event(), anyio.Event()
        self._browser: Browser | None = None

    async def hold(self) -> None:
        """Until cancelled; nothing is left behind then."""
        await self._wanted.wait()
        from ostiary.adapters.browser.browser import running_browser

        config = self._config
        limits = Limits(rooms=config.max_sessions, idle=float(config.idle_seconds), memory_bytes=config.memory_mb * 1024 * 1024)
        settings = Settings(executable=config.executable_path, limits=limits)
        outlet = self._outlet

        def proxy_of(principal: Principal) -> ProxyAddress:
            return ProxyAddress(url=f"unix:{outlet.socket_of(principal.role)}")

        async with running_browser(settings, proxy_of=proxy_of, refuses=outlet.refuses, clock=self._clock) as self._browser:
            self._ready.set()
            await anyio.sleep_forever()

    async def perform(self, session: SessionKey, principal: Principal, order: Order) -> View:
        return await (await self._open()).perform(session, principal, order)

    async def look(self, session: SessionKey, principal: Principal, ref: str) -> Bound:
        return await (await self._open()).look(session, principal, ref)

    def end(self, reason: str) -> bool:
        """Tells whether there was anything to end."""
        return self._browser is not None and self._browser.end(reason)

    async def _open(self) -> "Browser":
        self._wanted.set()
        with anyio.move_on_after(OPEN_SECONDS):
            await self._ready.wait()
        if self._browser is None:
            raise Busy("the browser is not there yet", hint="Try again in a moment.")
        return self._browser
