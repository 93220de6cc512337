"""Signing in, losing the gateway, and coming back."""

from playwright.async_api import expect

from tests.browser.conftest import MAIN, Watched
from tests.browser.fake_data import STREAMED


async def test_a_link_signs_in_once_and_leaves_the_address(stranger: Watched) -> None:
    link = stranger.gateway.link()
    await stranger.page.goto(link)
    await stranger.page.wait_for_selector(".shell")
    assert "k=" not in stranger.page.url
    code = link.rpartition("=")[2]
    assert not any(code in request.url for request in stranger.requests)
    assert await stranger.page.evaluate("document.cookie") == ""
    assert code not in await stranger.page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])")


async def test_without_a_sign_in_the_page_says_how_to_get_one(stranger: Watched) -> None:
    await stranger.page.goto(stranger.gateway.url)
    await expect(stranger.page.get_by_text("ostiary gateway link")).to_be_visible()
    await stranger.page.get_by_label("Or paste the link").fill("wrong-code-1234")
    await stranger.page.get_by_role("button", name="Sign in").click()
    await expect(stranger.page.get_by_role("alert")).to_contain_text("used already")
    await stranger.page.get_by_label("Or paste the link").fill(stranger.gateway.link())
    await stranger.page.get_by_role("button", name="Sign in").click()
    await stranger.page.wait_for_selector(".shell")
    stranger.problems = [each for each in stranger.problems if "401" not in each]


async def test_a_gateway_killed_mid_answer_comes_back_with_the_turn_shown_once(desk: Watched) -> None:
    await desk.say("slow please")
    await expect(desk.page.locator(".answer.live .prose")).to_contain_text("Three things")
    await desk.gateway.crash()
    await expect(desk.page.get_by_text("Reconnecting to the gateway")).to_be_visible()
    desk.gateway.finish_running(STREAMED)
    await desk.gateway.start()
    await desk.answer("That is all there is to it.")
    await expect(desk.page.get_by_text("Reconnecting to the gateway")).to_have_count(0)
    await expect(
        desk.page.get_by_text("slow please", exact=False).locator("visible=true").and_(desk.page.locator(".bubble"))
    ).to_have_count(1)
    await expect(desk.page.locator(".prose", has_text="That is all there is to it.")).to_have_count(1)


async def test_a_message_written_while_the_gateway_is_away_is_sent_once_it_is_back(desk: Watched) -> None:
    await desk.gateway.crash()
    await expect(desk.page.get_by_text("Reconnecting to the gateway")).to_be_visible()
    await desk.say("are you there")
    await expect(desk.page.get_by_text("It is sent when the gateway is back.")).to_be_visible()
    await desk.gateway.start()
    await desk.answer("That is all there is to it.")
    assert [params["text"] for method, params in desk.gateway.methods if method == "chat.send"] == ["are you there"]
    await expect(desk.page.locator(".bubble", has_text="are you there")).to_have_count(1)


async def test_a_message_written_while_the_gateway_is_away_outlives_a_reload(desk: Watched) -> None:
    await desk.page.evaluate("navigator.serviceWorker.ready.then(() => 1)")
    await desk.page.reload()
    await desk.page.wait_for_selector(".session")
    await desk.page.wait_for_function("caches.open('ostiary-shell').then((c) => c.keys()).then((k) => k.length > 30)")
    await desk.gateway.crash()
    await desk.say("are you there")
    await desk.page.reload()
    await expect(desk.page.locator(".bubble", has_text="are you there")).to_be_visible()
    await desk.gateway.start()
    await desk.answer("That is all there is to it.")
    assert [params["text"] for method, params in desk.gateway.methods if method == "chat.send"] == ["are you there"]
    await expect(desk.page.locator(".bubble", has_text="are you there")).to_have_count(1)
    assert await desk.page.evaluate("sessionStorage.getItem('ostiary.unsent')") is None


async def test_lost_events_are_made_good_by_asking_again(desk: Watched) -> None:
    await desk.say("slow please")
    await expect(desk.page.locator(".answer.live .prose")).to_contain_text("Three things")
    desk.gateway.lose_events = True
    desk.gateway.release()
    await desk.gateway.idle()
    desk.gateway.lose_events = False
    await desk.gateway.push_answer(MAIN, "The next one")
    await desk.answer("That is all there is to it.")
    await desk.answer("The next one")
    await expect(desk.page.locator(".turn")).to_have_count(3)


async def test_a_browser_that_was_sent_away_has_to_sign_in_again(desk: Watched) -> None:
    desk.gateway.cookies.clear()
    await desk.gateway.close_sockets()
    await expect(desk.page.get_by_text("Knock, and be let in")).to_be_visible()


async def test_it_works_under_a_base_path(stranger: Watched) -> None:
    from tests.browser.fake_gateway import running

    async with running(base_path="/assistant") as gateway:
        stranger.gateway = gateway
        await stranger.page.goto(gateway.link())
        await stranger.page.wait_for_selector(".session")
        await stranger.show("health")
        await expect(stranger.page.get_by_text("All is well")).to_be_visible()
        outside = [path for path in gateway.requests if not path.startswith("/assistant")]
        assert outside == []


async def test_the_shell_opens_without_the_gateway_once_it_was_there(desk: Watched) -> None:
    await desk.page.evaluate("navigator.serviceWorker.ready.then(() => 1)")
    await desk.page.reload()
    await desk.page.wait_for_selector(".session")
    await desk.page.wait_for_function("caches.open('ostiary-shell').then((c) => c.keys()).then((k) => k.length > 30)")
    await desk.gateway.crash()
    await desk.page.reload()
    await expect(desk.page.get_by_text("Reconnecting to the gateway")).to_be_visible()


async def test_a_page_that_could_not_be_loaded_comes_when_the_gateway_is_back(desk: Watched) -> None:
    await desk.gateway.crash()
    await desk.show("health")
    await expect(desk.page.get_by_text("It comes by itself when the gateway is back.")).to_be_visible()
    await desk.gateway.start()
    await expect(desk.page.get_by_text("All is well")).to_be_visible()
