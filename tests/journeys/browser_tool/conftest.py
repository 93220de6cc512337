"""A real Chromium behind its real fence, a toy proxy that is the whole internet, and a machine whose loopback listens."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

import anyio
import pytest

from ostiary.adapters.browser.browser import Browser, running_browser
from ostiary.adapters.browser.chromium import find_chromium
from ostiary.adapters.browser.records import Limits, ProxyAddress, Settings
from ostiary.adapters.tools.browsing import BrowserTool
from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import SandboxUnavailable
from ostiary.contracts.identity import OWNER, Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.contracts.tool import ToolContext, ToolResult
from ostiary.kit.clock import ManualClock
from tests.journeys.browser_tool.internet import Internet, running_internet


def _is_here() -> bool:
    try:
        return find_chromium().exists() and shutil.which("bwrap") is not None
    except SandboxUnavailable:
        return False


# Not collected, rather than skipped, where there is no Chromium or bubblewrap (Debian: chromium, bubblewrap).
collect_ignore_glob = [] if _is_here() else ["test_*.py"]
_numbers = count(1)


def context(session: SessionKey, role: str = OWNER) -> ToolContext:
    principal = Principal(user=UserId(channel="api", stable_id="me"), role=role)
    return ToolContext(principal=principal, session=session, turn="turn_1", call_key="turn_1:1:call_1")


class Desk:
    """One conversation with the browser tool; each has a session of its own."""

    def __init__(self, browser: Browser, internet: Internet, session: SessionKey | None = None, role: str = OWNER) -> None:
        self.browser = browser
        self.internet = internet
        self.session = session or SessionKey("main", f"desk:{next(_numbers)}")
        self.tool = BrowserTool(browser)
        self.context = context(self.session, role)

    async def do(self, action: str, **arguments: object) -> ToolResult:
        with anyio.fail_after(120):
            return await self.tool.call({"action": action, **arguments}, self.context)

    async def show(self, page: str) -> ToolResult:
        """Open a page with this content."""
        return await self.do("open", url=self.internet.page(page))

    async def until(self, words: str) -> str:
        """Read until the page says so."""
        text = ""
        with anyio.fail_after(20):
            while words not in text:
                text = (await self.do("read")).text
        return text

    async def ref(self, named: str) -> str:
        """The ref of the line that holds these words."""
        text = (await self.do("read")).text
        return next(line.split()[0] for line in text.split("\n") if named in line)


@asynccontextmanager
async def browsing(
    internet: Internet,
    limits: Limits | None = None,
    *,
    fences_network: bool = True,
    clock: Clock | None = None,
    guests: ProxyAddress | None = None,
) -> AsyncIterator[Browser]:
    """`guests` is the proxy of everybody but the owner, if it is another one."""
    settings = Settings(limits=limits or Limits(settle=0.8), fences_network=fences_network)
    proxy = ProxyAddress(url=internet.proxy, username=internet.username, password=internet.password)

    def proxy_of(principal: Principal) -> ProxyAddress:
        return proxy if principal.is_owner else guests or proxy

    async with running_browser(settings, proxy_of=proxy_of, refuses=internet.refuses, clock=clock or ManualClock()) as browser:
        yield browser


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def internet() -> AsyncIterator[Internet]:
    async with running_internet() as made:
        yield made


@pytest.fixture(scope="module")
async def browser(internet: Internet) -> AsyncIterator[Browser]:
    async with browsing(internet, Limits(settle=0.8, rooms=32)) as made:
        yield made


@pytest.fixture
async def desk(browser: Browser, internet: Internet) -> AsyncIterator[Desk]:
    made = Desk(browser, internet)
    yield made
    await made.do("close")
