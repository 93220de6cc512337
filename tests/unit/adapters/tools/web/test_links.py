"""Links in a message are read, quickly and as data."""

import anyio
from aiohttp import web
from tests.unit.adapters.egress.sites import HERE, LOCAL, Names, serving

from ostiary.adapters.egress import Egress
from ostiary.adapters.tools.web import LinkReader, LinkSettings, Reader
from ostiary.contracts.content import Trust


async def test_links_are_read_in_order_and_what_cannot_be_read_is_told() -> None:
    never = anyio.Event()

    async def site(request: web.Request) -> web.Response:
        if request.path == "/slow":
            await never.wait()
        return web.Response(text="x" * 9000 if request.path == "/long" else f"page {request.path}")

    egress = Egress(resolve=Names(site_example=HERE))
    reader = LinkReader(lambda role: egress.agent(LOCAL), Reader(), LinkSettings(seconds=0.5, max_chars=1000))
    async with serving(site) as port:
        base = f"http://site.example:{port}"
        urls = (f"{base}/slow", f"{base}/long", "http://10.0.0.1/", f"{base}/fourth")
        slow, long, inside = await reader.read(urls, "owner")
        never.set()
    assert "could not be read" in slow.text
    assert "took too long" in slow.text
    assert "characters 0-1000 of 9000" in long.text
    assert "private" in inside.text
    assert all(text.label.trust == Trust.UNTRUSTED for text in (slow, long, inside))
    assert long.label.sources == ("web:site.example",)


async def test_no_links_are_no_work() -> None:
    egress = Egress(resolve=Names())
    assert await LinkReader(lambda role: egress.agent(LOCAL), Reader(), LinkSettings()).read((), "owner") == ()
