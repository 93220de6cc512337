"""A real Chromium and a pretended gateway. Every page is watched: errors, policy violations and requests elsewhere fail it."""

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Error, Page, Request, async_playwright

from tests.browser.fake_gateway import FakeGateway, running

CHROMIUM = Path(shutil.which("chromium") or shutil.which("google-chrome") or "/usr/bin/chromium")
# As root Chromium starts only without its own sandbox; the pages it opens here are ours.
FLAGS = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
# Not collected, rather than skipped, where there is no Chromium (Debian: chromium).
collect_ignore_glob = [] if CHROMIUM.exists() else ["test_*.py"]
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 360, "height": 740}
MAIN = "agent:main:main"


class Watched:
    """A page and everything that must not happen on it."""

    def __init__(self, page: Page, gateway: FakeGateway) -> None:
        self.page = page
        self.gateway = gateway
        self.problems: list[str] = []
        self.requests: list[Request] = []
        page.set_default_timeout(30_000)
        page.on("console", self._said)
        page.on("pageerror", self._failed)
        page.on("request", self._asked)

    def _said(self, message: ConsoleMessage) -> None:
        # What the browser says of a refused connection is its own matter; what scripts and policies say is ours.
        if message.type in ("error", "warning") and "net::ERR" not in message.text and "WebSocket connection" not in message.text:
            self.problems.append(message.text)

    def _failed(self, error: Error) -> None:
        self.problems.append(str(error))

    def _asked(self, request: Request) -> None:
        self.requests.append(request)
        where = urlsplit(request.url)
        if where.scheme not in ("data", "blob") and where.netloc != f"127.0.0.1:{self.gateway.port}":
            self.problems.append(f"asked elsewhere: {request.url}")

    async def sign_in(self) -> None:
        await self.page.goto(self.gateway.link())
        await self.page.wait_for_selector(".shell")

    async def say(self, text: str) -> None:
        await self.page.get_by_label("Message", exact=True).fill(text)
        await self.page.keyboard.press("Enter")

    async def show(self, path: str) -> None:
        await self.page.evaluate("path => { location.hash = '#/' + path.split('/').map(encodeURIComponent).join('/') }", path)

    async def answer(self, text: str) -> None:
        """Wait until a finished answer holds that text."""
        await self.page.locator(".answer:not(.live)", has_text=text).last.wait_for()


@pytest.fixture
async def gateway() -> AsyncIterator[FakeGateway]:
    async with running() as made:
        yield made


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            await browser.close()


async def _watched(browser: Browser, gateway: FakeGateway, **options: object) -> tuple[BrowserContext, Watched]:
    context = await browser.new_context(**options)  # type: ignore[arg-type]
    return context, Watched(await context.new_page(), gateway)


@pytest.fixture
async def desk(browser: Browser, gateway: FakeGateway) -> AsyncIterator[Watched]:
    """A signed-in page on a desk; it fails the test if anything went wrong on it."""
    context, watched = await _watched(browser, gateway, viewport=DESKTOP)
    await watched.sign_in()
    yield watched
    await context.close()
    assert watched.problems == []


@pytest.fixture
async def phone(browser: Browser, gateway: FakeGateway) -> AsyncIterator[Watched]:
    context, watched = await _watched(browser, gateway, viewport=PHONE, is_mobile=True, has_touch=True)
    await watched.sign_in()
    yield watched
    await context.close()
    assert watched.problems == []


@pytest.fixture
async def stranger(browser: Browser, gateway: FakeGateway) -> AsyncIterator[Watched]:
    """A page that has not signed in."""
    context, watched = await _watched(browser, gateway, viewport=DESKTOP)
    yield watched
    await context.close()
    assert watched.problems == []
