"""Places that are not the web, and addresses that the rules forbid."""

import pytest

from ostiary.adapters.browser.browser import Browser
from ostiary.adapters.browser.records import ProxyAddress
from ostiary.contracts.errors import ToolError
from tests.journeys.browser_tool.conftest import Desk, browsing
from tests.journeys.browser_tool.internet import Internet

ELSEWHERE = [
    "file:///etc/passwd",
    "chrome://version",
    "view-source:http://site.example/",
    "data:text/html,root:",
    "devtools://x/y",
]


@pytest.mark.parametrize("address", ELSEWHERE)
async def test_a_page_cannot_lead_to_other_places(desk: Desk, address: str) -> None:
    result = await desk.show(
        f"""<title>Still here</title><a href="{address}">Go</a>
        <script>try {{ location = '{address}' }} catch (e) {{}}; window.open('{address}')</script>"""
    )
    assert "root:" not in result.text.replace(address, "")
    assert str(result.details["url"]).partition(":")[0] in ("http", "about")


async def test_a_frame_cannot_show_other_places(desk: Desk) -> None:
    result = await desk.show("".join(f'<iframe src="{address}"></iframe>' for address in ELSEWHERE))
    assert "root:" not in result.text


async def test_no_service_worker_is_installed(desk: Desk, internet: Internet) -> None:
    worker = internet.page("self.onfetch = 1", head="Content-Type: text/javascript").replace("http://site.example", "")
    await desk.show(
        f"<p id=p>asks</p><script>(navigator.serviceWorker ? navigator.serviceWorker.register('{worker}') : Promise.reject())"
        ".then(() => p.textContent = 'installed', () => p.textContent = 'no worker')</script>"
    )
    await desk.until("no worker")


async def test_a_download_is_refused_and_said(desk: Desk, internet: Internet) -> None:
    file = internet.page("MZ", head="Content-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=run.exe")
    with pytest.raises(ToolError, match="download"):
        await desk.do("open", url=file)
    await desk.show(f'<a href="{file}">Get</a>')
    assert "A download was refused" in (await desk.do("click", ref=await desk.ref('"Get"'))).text


async def test_what_the_judge_refuses_is_not_asked_for(desk: Desk, internet: Internet) -> None:
    with pytest.raises(ToolError, match="the rules forbid this address"):
        await desk.do("open", url="http://forbidden.example/")
    await desk.show("<img src=http://site.example/forbidden.png>")
    assert "http://site.example/forbidden.png" in internet.judged
    assert not any("forbidden" in line for line in internet.asked)


async def test_a_redirect_to_what_the_judge_refuses_is_not_shown(desk: Desk, internet: Internet) -> None:
    with pytest.raises(ToolError, match="the rules forbid this address"):
        await desk.do("open", url=internet.redirect("http://site.example/forbidden"))


GUEST = """<p id=p>0</p><script>let count = 0, done = () => { p.textContent = 'tried ' + ++count }
fetch('REDIRECT').then(done, done)
let s = new WebSocket('ws://owners.example/ws'); s.onerror = s.onopen = done
let w = new Worker(URL.createObjectURL(new Blob(["fetch('REDIRECT').catch(() => 1).then(() => postMessage(1))"])))
w.onmessage = done
let i = new Image(); i.onerror = i.onload = done; i.src = 'REDIRECT'</script>"""


async def test_the_rules_of_a_guest_hold_for_redirects_sockets_and_workers(browser: Browser, internet: Internet) -> None:
    guest = Desk(browser, internet, role="guest")
    await guest.show(GUEST.replace("REDIRECT", internet.redirect("http://owners.example/x")))
    await guest.until("tried 4")
    assert "owners.example" not in internet.hosts
    await guest.do("close")
    owner = Desk(browser, internet)
    await owner.show(GUEST.replace("REDIRECT", internet.redirect("http://owners.example/x")))
    await owner.until("tried 4")
    assert "owners.example" in internet.hosts
    await owner.do("close")


async def test_every_room_leaves_by_the_proxy_that_keeps_its_own_rules(internet: Internet) -> None:
    async with browsing(internet, guests=ProxyAddress(url="unix:/nowhere")) as browser:
        owner, guest = Desk(browser, internet), Desk(browser, internet, role="guest")
        assert "hello" in (await owner.show("<p>hello")).text
        with pytest.raises(ToolError):
            await guest.show("<p>hello")
