"""Take the pictures of the guide anew: python -m tests.browser.pictures"""

import asyncio
from pathlib import Path
from urllib.parse import quote

from playwright.async_api import Browser, async_playwright

from tests.browser.conftest import CHROMIUM, DESKTOP, FLAGS, MAIN, PHONE
from tests.browser.fake_gateway import FakeGateway, running

FOLDER = Path(__file__).parents[2] / "docs/pictures"
CLOCK = "agent:main:webchat:direct:clock"
DESK = {
    "chat": f"chat/{MAIN}",
    "code": f"chat/{CLOCK}",
    "timeline": f"sessions/{MAIN}",
    "sessions": "sessions",
    "usage": "usage",
    "models": "models",
    "configuration": "config",
    "devices": "devices",
    "logs": "logs",
    "health": "health",
}
HAND = {"chat": f"chat/{MAIN}", "timeline": f"sessions/{MAIN}", "usage": "usage"}


async def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    async with running() as gateway, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        await _shoot(browser, gateway, DESK, scheme="light")
        await _shoot(browser, gateway, {"chat": DESK["chat"], "code": DESK["code"]}, scheme="dark")
        await _shoot(browser, gateway, HAND, scheme="light", is_phone=True)
        await browser.close()


async def _shoot(browser: Browser, gateway: FakeGateway, places: dict[str, str], *, scheme: str, is_phone: bool = False) -> None:
    size = PHONE if is_phone else DESKTOP
    context = await browser.new_context(viewport=size, color_scheme=scheme, is_mobile=is_phone, has_touch=is_phone)  # type: ignore[arg-type]
    page = await context.new_page()
    await page.goto(gateway.link())
    await page.wait_for_selector(".prose")
    for name, place in places.items():
        await page.evaluate("hash => { location.hash = hash }", "/" + "/".join(quote(part, safe="") for part in place.split("/")))
        await page.wait_for_selector(".prose, .card")
        await page.wait_for_timeout(500)
        kind = "phone" if is_phone else scheme
        await page.screenshot(path=FOLDER / f"web-{name}-{kind}.png")
    await context.close()


if __name__ == "__main__":
    asyncio.run(main())
