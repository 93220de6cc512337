"""One conversation's browser: its own cookies and storage, its tabs, and what is done in them. Runs inside the fence."""

import base64
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import anyio
from playwright.async_api import BrowserContext, Dialog, Download, Error, Page, Route
from playwright.async_api import TimeoutError as TooLate

from ostiary.adapters.browser.outline import MAX_WORDS, Outline, clean, outline, words_of
from ostiary.adapters.browser.records import Element, Limits

Refuses = Callable[[str], Awaitable[str]]
"""Why this URL may not be asked for; empty if it may."""

_MAX_NOTES = 20
_MOMENT = 0.25
_QUALITIES = (70, 45, 25)
_MOST_ELEMENTS = 25_000
_COUNT = "() => document.getElementsByTagName('*').length"
_WORDS = f"() => (document.body ? document.body.innerText : '').slice(0, {MAX_WORDS})"
_TARGET = """e => { const link = e.closest('a[href]'); if (link) return link.href;
 const form = e.form || e.closest('form'); return form ? form.action : '' }"""


class Failed(Exception):
    """What the model is told instead of a view."""


class Room:
    """Serves one order at a time. Every one ends within `limits.order` seconds; a page that does not answer is closed."""

    def __init__(self, context: BrowserContext, refuses: Refuses, limits: Limits) -> None:
        self._context = context
        self._refuses = refuses
        self._limits = limits
        self._tabs: list[Page] = []
        self._notes: list[str] = []
        self._dialogs = 0
        self._refused = ""
        self._lost = ""
        self._shown: tuple[str, Mapping[str, Element]] = ("", {})
        self._turn = anyio.Lock()
        self._acts: Mapping[str, Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]] = {
            "open": self._open,
            "read": self._read,
            "click": self._click,
            "type": self._type,
            "screenshot": self._screenshot,
            "back": self._back,
            "look": self._look,
        }

    async def prepare(self) -> None:
        self._context.set_default_timeout(self._limits.act * 1000)
        self._context.set_default_navigation_timeout(self._limits.load * 1000)
        self._context.on("page", self._on_page)
        self._context.on("page", self._close_extra)
        await self._context.route("**/*", self._on_request)

    async def perform(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """Raises Failed."""
        async with self._turn:
            self._dialogs = 0
            self._refused = ""
            try:
                with anyio.fail_after(self._limits.order):
                    return await self._acts[order["act"]](order)
            except TooLate:
                raise Failed(await self._stuck()) from None
            except TimeoutError:
                raise Failed(await self._stuck()) from None
            except Error as error:
                if "has been closed" in str(error):
                    raise Failed(self._said(self._lost or "The page was closed.")) from None
                blocked = self._refused and "ERR_BLOCKED_BY_CLIENT" in str(error)
                raise Failed(self._said(f"Refused: {self._refused}." if blocked else _reason(error))) from None

    def _note(self, text: str) -> None:
        if len(self._notes) < _MAX_NOTES:
            self._notes.append(clean(text, 300))

    async def close(self) -> None:
        with contextlib.suppress(Error), anyio.move_on_after(self._limits.act):
            await self._context.close()

    async def _open(self, order: Mapping[str, Any]) -> dict[str, Any]:
        page = self._tabs[-1] if self._tabs else await self._context.new_page()
        self._lost = ""
        try:
            answer = await page.goto(order["url"], wait_until="domcontentloaded")
        except TooLate:
            if page.url == "about:blank":
                await self._drop(page)
                raise Failed(self._said(f"The page did not begin to load within {self._limits.load:g} s.")) from None
            self._note(f"It was still loading after {self._limits.load:g} s.")
        except Error:
            # What is left is half of an error page; the next page would trip over it.
            await self._drop(page)
            raise
        else:
            if answer is not None and answer.status >= 400:
                self._note(f"The server answered with status {answer.status}.")
        return await self._settled()

    async def _read(self, order: Mapping[str, Any]) -> dict[str, Any]:
        return await self._view(await self._current(), int(order.get("page", 1)))

    async def _click(self, order: Mapping[str, Any]) -> dict[str, Any]:
        page, ref = await self._current(), order["ref"]
        await self._still_there(page, ref)
        try:
            await page.locator(f"aria-ref={ref}").click()
        except TooLate:
            raise Failed(self._said(f"{ref} could not be clicked: it is hidden, covered or moving.")) from None
        return await self._settled()

    async def _type(self, order: Mapping[str, Any]) -> dict[str, Any]:
        page, ref = await self._current(), order["ref"]
        await self._still_there(page, ref)
        field = page.locator(f"aria-ref={ref}")
        try:
            if await field.evaluate("e => e.tagName") == "SELECT":
                await field.select_option(label=order["text"])
            else:
                await field.fill(order["text"])
            if order.get("submit"):
                await field.press("Enter")
        except TooLate:
            raise Failed(
                self._said(f"Nothing could be entered into {ref}: it is hidden, disabled or has no such option.")
            ) from None
        return await self._settled()

    async def _screenshot(self, order: Mapping[str, Any]) -> dict[str, Any]:
        page = await self._current()
        for quality in _QUALITIES:
            image = await page.screenshot(type="jpeg", quality=quality, scale="css", animations="disabled", caret="hide")
            if len(image) <= self._limits.image_bytes:
                break
        else:
            raise Failed("The picture is larger than may be kept.")
        facts = await self._facts(page)
        return {**facts, "image": base64.b64encode(image).decode(), "media_type": "image/jpeg"}

    async def _back(self, order: Mapping[str, Any]) -> dict[str, Any]:
        page = await self._current()
        if await page.go_back(wait_until="domcontentloaded") is None and page.url == (await self._current()).url:
            if len(self._tabs) < 2:
                raise Failed("There is nothing to go back to.")
            await self._drop(page)
            self._note("The tab was closed; this is the one it was opened from.")
        return await self._settled()

    async def _look(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """What an approval of a click or a typing is bound to."""
        page, ref = await self._current(), order["ref"]
        element = await self._still_there(page, ref)
        target = element.target
        with contextlib.suppress(Error):
            target = str(await page.locator(f"aria-ref={ref}").evaluate(_TARGET)) or target
        return {"url": page.url, "role": element.role, "name": element.name, "target": clean(target, 2000)}

    async def _settled(self) -> dict[str, Any]:
        """Give the page a moment to draw itself, judge where it went, and look."""
        # What a click sets off (a tab, a navigation) is not yet there when the click is done.
        await anyio.sleep(_MOMENT)
        page = None
        while page is not (newest := await self._current()):
            page = newest
            with contextlib.suppress(TooLate):
                await page.wait_for_load_state("domcontentloaded")
                await page.wait_for_load_state("networkidle", timeout=self._limits.settle * 1000)
        return await self._view(page, 1)

    async def _view(self, page: Page, number: int) -> dict[str, Any]:
        await self._judge_place(page)
        seen = await self._seen(page)
        self._shown = (page.url, seen.elements)
        text, parts = seen.part(number)
        if seen.is_cut:
            self._note("The page is too long; its end is not shown.")
        return {**await self._facts(page), "text": text, "page": min(number, parts), "pages": parts}

    async def _seen(self, page: Page) -> Outline:
        """Its outline, or the words alone where that takes too long. Raises TimeoutError for a page that answers nothing."""
        with anyio.fail_after(2 * self._limits.look):
            count = await page.evaluate(_COUNT)
        if not isinstance(count, int) or count <= _MOST_ELEMENTS:
            with contextlib.suppress(TooLate):
                return await self._outline(page)
        with anyio.fail_after(2 * self._limits.look):
            words = await page.evaluate(_WORDS)
        self._note("The page is too large to be used: these are its words, without refs.")
        return words_of(str(words))

    async def _outline(self, page: Page) -> Outline:
        return outline(await page.aria_snapshot(mode="ai", timeout=self._limits.look * 1000))

    async def _facts(self, page: Page) -> dict[str, Any]:
        title = clean(await page.title(), 200)
        notes, self._notes = self._notes, []
        return {"url": page.url[:4000], "title": title, "tabs": len(self._tabs), "notes": notes}

    async def _current(self) -> Page:
        """The newest tab. Raises Failed when there is none."""
        if not self._tabs:
            raise Failed(self._said(f"{self._lost} No page is open; open one first.".lstrip()))
        return self._tabs[-1]

    async def _still_there(self, page: Page, ref: str) -> Element:
        """The element as the page has it now. Raises Failed unless it is what the model last read under this ref."""
        url, elements = self._shown
        before = elements.get(ref)
        now = (await self._outline(page)).elements.get(ref)
        if before is None or now is None or page.url != url or (before.role, before.name) != (now.role, now.name):
            raise Failed(self._said(f"{ref} is not on the page as you last read it; read it again."))
        return now

    async def _judge_place(self, page: Page) -> None:
        """A redirect is not judged on its way, and some addresses are never asked for: the place itself is judged again."""
        place = urlsplit(page.url)
        if page.url == "about:blank" or (place.scheme == "blob" and page.url.startswith("blob:http")):
            return
        reason = await self._refuses(page.url) if place.scheme in ("http", "https") else f"{place.scheme}: pages are not shown"
        if page.url.startswith("chrome-error:"):
            reason = self._refused or "the page could not be loaded"
        if reason:
            await self._drop(page)
            raise Failed(self._said(f"The page was closed: {reason}."))

    async def _stuck(self) -> str:
        """Close the page that does not answer, and say so."""
        for page in self._tabs[-1:]:
            await self._drop(page)
        return self._said("The page did not answer in time and was closed.")

    def _said(self, text: str) -> str:
        notes, self._notes = self._notes, []
        return " ".join([text, *notes])

    async def _drop(self, page: Page) -> None:
        with contextlib.suppress(ValueError):
            self._tabs.remove(page)
        with contextlib.suppress(Error), anyio.move_on_after(self._limits.act):
            await page.close()

    async def _on_request(self, route: Route) -> None:
        url = route.request.url
        allowed = urlsplit(url).scheme in ("http", "https")
        reason = await self._refuses(url) if allowed else "only web addresses are opened"
        with contextlib.suppress(Error):
            if reason:
                self._refused = self._refused or reason
                await route.abort("blockedbyclient")
            else:
                await route.continue_()

    def _on_page(self, page: Page) -> None:
        page.on("dialog", self._on_dialog)
        page.on("download", self._on_download)
        page.on("crash", self._on_crash)
        page.on("close", self._on_close)
        if len(self._tabs) >= self._limits.tabs:
            self._note("The page opened another tab, which was closed: there are enough.")
            return
        if self._tabs:
            self._note("A new tab was opened; it is shown now. back returns.")
        self._tabs.append(page)

    async def _close_extra(self, page: Page) -> None:
        if page not in self._tabs:
            await self._drop(page)

    async def _on_dialog(self, dialog: Dialog) -> None:
        self._dialogs += 1
        with contextlib.suppress(Error):
            if self._dialogs > self._limits.dialogs and dialog.page is not None:
                self._lost = "The page kept opening dialogs and was closed."
                await self._drop(dialog.page)
            elif dialog.type == "beforeunload":
                await dialog.accept()
            else:
                self._note(f'The page showed a dialog, dismissed: {dialog.type} "{clean(dialog.message, 150)}".')
                await dialog.dismiss()

    async def _on_download(self, download: Download) -> None:
        self._note(f'A download was refused: "{clean(download.suggested_filename, 100)}".')
        with contextlib.suppress(Error):
            await download.cancel()

    async def _on_crash(self, page: Page) -> None:
        self._lost = _CRASHED
        await self._drop(page)

    def _on_close(self, page: Page) -> None:
        with contextlib.suppress(ValueError):
            self._tabs.remove(page)


_CRASHED = "The page crashed or took too much memory, and was ended."
_REASONS = {
    "ERR_TUNNEL_CONNECTION_FAILED": "The address was refused or cannot be reached.",
    "ERR_PROXY_CONNECTION_FAILED": "The way out is closed right now.",
    "ERR_NAME_NOT_RESOLVED": "There is no such host.",
    "ERR_CERT": "The server's certificate is not valid.",
    "ERR_ABORTED": "The address did not lead to a page (a download, or nothing).",
    "ERR_BLOCKED_BY_ADMINISTRATOR": "Only web addresses are opened.",
    "Download is starting": "It is a download, and downloads are refused.",
    "crashed": _CRASHED,
    "Element is not an <input>": "Nothing can be typed there: it is not a field.",
}


def _reason(error: Error) -> str:
    text = str(error)
    for mark, sentence in _REASONS.items():
        if mark in text:
            return sentence
    return f"The browser could not do that: {clean(text.partition(chr(10))[0], 200)}"
