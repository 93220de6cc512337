"""What strangers write stays text; nothing is fetched from elsewhere; the page stays light."""

from playwright.async_api import expect

from tests.browser.conftest import MAIN, Watched

NASTY = "<img src=x onerror=\"document.title='owned'\"></script><script>document.title='owned'</script><svg onload=alert(1)>"


async def test_html_in_a_message_stays_text(desk: Watched) -> None:
    await desk.say("echo " + NASTY)
    await desk.answer("<img src=x")
    assert "owned" not in await desk.page.title()
    turn = desk.page.locator(".turn").last
    assert await turn.locator(".prose img, .prose script, .prose svg, .bubble img").count() == 0
    await expect(turn.locator(".prose")).to_contain_text("</script><script>")


async def test_html_in_names_stays_text(desk: Watched) -> None:
    desk.gateway.conversations[MAIN]["title"] = NASTY
    desk.gateway.devices[1]["displayName"] = NASTY
    desk.gateway.profiles[0]["id"] = NASTY
    for path in ("sessions", "devices", "models", f"chat/{MAIN}"):
        await desk.show(path)
        await desk.page.reload()
        await desk.page.wait_for_selector(".shell main")
        await expect(desk.page.locator("main")).to_contain_text("<img src=x")
        assert await desk.page.locator("main img[src='x'], main script").count() == 0


BAD_LINKS = (
    *("javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,<script>1</script>", "vbscript:x", "file:///etc/passwd"),
    *("/etc/passwd", "//elsewhere.example", "java&#115;cript:alert(1)", "http:alert(1)", "&#x6A;avascript:alert(1)"),
)


async def test_a_link_leads_only_to_the_web_and_to_mail(desk: Watched) -> None:
    bad = "\n".join(f"- [press](<{link}>)" for link in BAD_LINKS)
    await desk.say(f"echo {bad}\n- [good](https://example.org/a)\n- <me@example.org>\n\nEnd.")
    await desk.answer("End.")
    turn = desk.page.locator(".turn").last
    await expect(turn.locator(".prose li", has_text="press")).to_have_count(len(BAD_LINKS))
    links = turn.locator(".prose a")
    assert await links.evaluate_all("all => all.map((a) => a.href)") == ["https://example.org/a", "mailto:me@example.org"]
    assert await links.first.get_attribute("rel") == "noopener noreferrer nofollow"


async def test_pictures_named_by_a_model_are_links_and_never_loaded(desk: Watched) -> None:
    await desk.say("echo ![the secret](https://elsewhere.example/?secret=1) ![local](ui/x.png)")
    await desk.answer("the secret")
    turn = desk.page.locator(".turn").last
    assert await turn.locator("img").count() == 0
    await expect(turn.locator(".prose a")).to_have_text("🖼 the secret")
    assert not any("elsewhere" in request.url for request in desk.requests)


async def test_markdown_that_comes_in_pieces_ends_as_if_it_had_come_whole(desk: Watched) -> None:
    text = (
        "# Head\n\n- a\n  - b\n\n    c\n- [x] d\n\n| a | b |\n|---|--:|\n| 1 | `|` |\n\n```js\nlet x = '<b>';\n```\n\n"
        "> q\n> r\n\nsee [ref]\n\n[ref]: https://example.org/ref\n\n&lt;b&gt; &#x1F600; \\*no\\*"
    )
    await desk.say("echo " + text)
    await desk.answer("no")
    await expect(desk.page.locator(".turn").last.locator(".hl-keyword")).to_have_count(1)
    streamed = await desk.page.locator(".turn").last.locator(".prose").evaluate("node => node.innerHTML")
    await desk.page.reload()
    await desk.answer("no")
    await expect(desk.page.locator(".turn").last.locator(".hl-keyword")).to_have_count(1)
    fresh = await desk.page.locator(".turn").last.locator(".prose").evaluate("node => node.innerHTML")
    assert streamed == fresh
    assert 'href="https://example.org/ref"' in fresh
    assert "&lt;b&gt; 😀 *no*" in fresh


async def test_no_script_of_a_page_can_write_markup(desk: Watched) -> None:
    outcome = await desk.page.evaluate(
        "(() => { try { document.body.innerHTML = '<b>x</b>'; return 'written' } catch (e) { return e.name } })()"
    )
    assert outcome == "TypeError"
    desk.problems = [each for each in desk.problems if "TrustedHTML" not in each and "trusted type" not in each.lower()]


async def test_the_first_load_is_light(stranger: Watched) -> None:
    await stranger.page.goto(stranger.gateway.link())
    await stranger.page.wait_for_selector(".prose")
    sizes = await stranger.page.evaluate(
        """[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
          .filter((entry) => !/highlight|sw.js/.test(entry.name)).reduce((sum, entry) => sum + entry.decodedBodySize, 0)"""
    )
    assert 100_000 < sizes <= 300_000
