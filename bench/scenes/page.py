"""The web page in a real browser with a cold cache: how much is loaded, how soon something is seen."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.processes import Broken
from bench.rows import Row
from bench.stage import Stage

_CHROMIUM = (Path("/usr/bin/chromium"), Path("/usr/bin/chromium-browser"), Path("/usr/bin/google-chrome"))
_PAINT = "() => performance.getEntriesByName('first-contentful-paint').map(entry => entry.startTime)"


def page(stage: Stage) -> Iterator[Row]:
    """Raises Broken if no browser is installed."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise Broken("playwright is not installed") from None
    browser_path = next((path for path in _CHROMIUM if path.exists()), None)
    if browser_path is None:
        raise Broken("Chromium is not installed")
    weights, paints, usable = [], [], []
    with stage.model() as model, sync_playwright() as playwright:
        home = stage.home(model)
        with stage.gateway(home):
            # The browser's own start is not counted, each page's cache is its own.
            browser = playwright.chromium.launch(executable_path=str(browser_path), args=["--no-sandbox"])
            for number in range(1 + max(3, stage.rounds)):
                stage.say(f"the web page {number}/{max(3, stage.rounds)}")
                link = stage.command(home, "gateway", "link").strip()
                seen = _open(browser, link)
                if number:
                    weights.append(seen[0] / 1000)
                    paints.append(seen[1] / 1000)
                    usable.append(seen[2] / 1000)
            browser.close()
    yield Row("page_weight", "the web page, loaded cold", "KB", tuple(weights), "all bytes over the wire, signed in")
    yield Row("first_paint", "first contentful paint, cold cache", "s", tuple(paints))
    yield Row("page_usable", "link opened to a field to type in", "s", tuple(usable))


def _open(browser: Any, link: str) -> tuple[float, float, float]:
    """Bytes over the wire, and milliseconds to the first paint and to the message field."""
    context = browser.new_context()
    try:
        view = context.new_page()
        wire = context.new_cdp_session(view)
        sizes: list[float] = []
        wire.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
        wire.send("Network.enable")
        view.goto(link)
        view.get_by_label("Message", exact=True).wait_for(timeout=15_000)
        usable = view.evaluate("() => performance.now()")
        view.wait_for_load_state("networkidle")
        painted = view.evaluate(_PAINT)
        if not painted:
            raise Broken("the page painted nothing")
        return sum(sizes), painted[0], usable
    finally:
        context.close()
