"""Everything a page can do to reach past the proxy. Each is tried with both fences, and with Chromium's own alone."""

from collections.abc import AsyncIterator

import pytest

from ostiary.adapters.browser.browser import Browser
from ostiary.adapters.browser.records import Limits
from tests.journeys.browser_tool.conftest import Desk, browsing
from tests.journeys.browser_tool.internet import Internet, Victim, running_victim


@pytest.fixture(scope="module", params=[True, False], ids=["both fences", "chromium's own"])
async def browser(internet: Internet, request: pytest.FixtureRequest) -> AsyncIterator[Browser]:
    async with browsing(internet, Limits(settle=0.8, rooms=32), fences_network=request.param) as made:
        yield made


@pytest.fixture
async def victim() -> AsyncIterator[Victim]:
    async with running_victim() as made:
        yield made


# Each calls done() when it is over, so that the test waits for nothing; NAME is how the proxy knows it.
TRIES = {
    "fetch": "fetch('http://127.0.0.1:TCP/NAME', {mode: 'no-cors'}).then(done, done)",
    "local": "fetch('http://localhost:TCP/NAME', {mode: 'no-cors'}).then(done, done)",
    "short": "fetch('http://127.1:TCP/NAME', {mode: 'no-cors'}).then(done, done)",
    "number": "fetch('http://2130706433:TCP/NAME', {mode: 'no-cors'}).then(done, done)",
    "mapped": "fetch('http://[::ffff:127.0.0.1]:TCP/NAME', {mode: 'no-cors'}).then(done, done)",
    "image": "let i = new Image(); i.onerror = i.onload = done; i.src = 'http://127.0.0.1:TCP/NAME'",
    "post": "let x = new XMLHttpRequest(); x.onloadend = done; x.open('POST', 'http://127.0.0.1:TCP/NAME'); x.send('a')",
    "events": "let e = new EventSource('http://127.0.0.1:TCP/NAME'); e.onerror = e.onopen = () => { e.close(); done() }",
    "beacon": "navigator.sendBeacon('http://127.0.0.1:TCP/NAME', 'a'); done()",
    "frame": "let f = document.createElement('iframe'); f.onload = done; f.src = 'http://127.0.0.1:TCP/NAME'; body.append(f)",
    "worker": """let w = new Worker(URL.createObjectURL(new Blob([
        "fetch('http://127.0.0.1:TCP/NAME').finally(() => postMessage(1))"]))); w.onmessage = w.onerror = done""",
}
# These ask the proxy for a tunnel, which has no path to be known by.
TUNNELS = """{ let s = new WebSocket('ws://127.0.0.1:TCP/x'); s.onerror = s.onopen = done }
{ let s = new WebSocket('wss://localhost:TCP/x'); s.onerror = s.onopen = done }
fetch('https://127.0.0.1:TCP/x', {mode: 'no-cors'}).then(done, done)"""


async def test_a_page_reaches_nothing_of_this_machine(desk: Desk, internet: Internet, victim: Victim) -> None:
    tries = "\n".join("{ " + script.replace("NAME", name) + " }" for name, script in TRIES.items())
    await desk.show(
        "<body><p id=p>0</p><script>let body = document.body, count = 0, done = () => { p.textContent = 'tried ' + ++count };"
        + f"{tries}\n{TUNNELS}</script>".replace("TCP", str(victim.tcp))
    )
    await desk.until(f"tried {len(TRIES) + 3}")
    tried = {line.rpartition("/")[2] for line in internet.asked if not line.split()[1].endswith(".example")}
    assert {*TRIES} - {"beacon"} <= tried
    assert [line.split()[0] for line in internet.asked].count("CONNECT") >= 3
    assert victim.connections == 0


RTC = """<p id=p>trying</p><script>
let known = {username: 'a', credential: 'b'}, peer = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:@UDP'},
  {urls: 'stun:localhost:@UDP'}, {urls: 'turn:127.0.0.1:@UDP', ...known}, {urls: 'turn:127.0.0.1:@TCP?transport=tcp', ...known}]})
peer.onicegatheringstatechange = () => { if (peer.iceGatheringState == 'complete') p.textContent = 'tried' }
peer.createDataChannel('x'); peer.createOffer().then(offer => peer.setLocalDescription(offer))
setTimeout(() => { p.textContent = 'tried' }, 3000)
</script>"""


async def test_webrtc_sends_nothing_past_the_proxy(desk: Desk, victim: Victim) -> None:
    await desk.show(RTC.replace("@UDP", str(victim.udp)).replace("@TCP", str(victim.tcp)))
    await desk.until("tried")
    assert (victim.datagrams, victim.connections) == (0, 0)


async def test_hints_and_pings_go_nowhere_but_the_proxy(desk: Desk, victim: Victim) -> None:
    place = f"127.0.0.1:{victim.tcp}"
    await desk.show(
        f'<link rel=preconnect href="http://{place}"><link rel=prefetch href="http://{place}/a">'
        f'<link rel=dns-prefetch href="//x.test">'
        f'<link rel=preload as=image href="http://{place}/b"><link rel=icon href="http://{place}/c">'
        f'<script type=speculationrules>{{"prefetch":[{{"source":"list","urls":["http://{place}/d"]}}]}}</script>'
        f'<a href="#" ping="http://{place}/e">Ping</a>'
    )
    await desk.do("click", ref=await desk.ref('"Ping"'))
    assert victim.connections == 0


async def test_a_redirect_to_this_machine_is_not_followed(desk: Desk, internet: Internet, victim: Victim) -> None:
    result = await desk.do("open", url=internet.redirect(f"http://127.0.0.1:{victim.tcp}/x"))
    assert "refused" in result.text
    assert victim.connections == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost.", "[::1]"])
async def test_a_model_cannot_open_this_machine(desk: Desk, victim: Victim, host: str) -> None:
    result = await desk.do("open", url=f"http://{host}:{victim.tcp}/")
    assert "refused" in result.text
    assert victim.connections == 0


async def test_sockets_work_through_the_proxy(desk: Desk, internet: Internet) -> None:
    await desk.show(
        "<p id=p>waits</p><script>"
        "new WebSocket('ws://site.example/ws').onmessage = e => { p.textContent = e.data + ' from afar' }</script>"
    )
    await desk.until("hello from afar")
    assert any(line.startswith("CONNECT site.example") for line in internet.asked)


async def test_the_browser_asks_for_nothing_of_its_own(desk: Desk, internet: Internet) -> None:
    internet.asked.clear()
    await desk.show("<title>Quiet</title>nothing here")
    await desk.do("screenshot")
    assert internet.hosts == {"site.example"}


async def test_nothing_passes_without_the_credential(desk: Desk, internet: Internet) -> None:
    await desk.show("<title>Proven</title>")
    assert internet.unproven > 0
