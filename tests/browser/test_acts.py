"""What the assistant does is seen while it happens, and can be taken back."""

from hashlib import sha256
from typing import Any

from playwright.async_api import expect

from tests.browser import fake_data, fake_house
from tests.browser.conftest import MAIN, Watched
from tests.browser.test_chat import PNG

LABEL = {"trust": "untrusted", "sources": ["web:evil.example"], "private": True}


def acted(desk: Watched, *calls: dict[str, Any], turn: str = "t9") -> None:
    """A finished turn that made these calls is the last of the conversation."""
    steps = [fake_data.step(1, "", calls=list(calls)), fake_data.step(2, "Done as you asked.")]
    desk.gateway.conversations[MAIN]["turns"].append(fake_data.turn(turn, 1_700_000_000, "Do it", steps))


async def opened(desk: Watched) -> None:
    """Read it anew and open its last call."""
    await desk.page.reload()
    await desk.answer("Done as you asked.")
    await desk.page.locator(".turn").last.locator(".work-line").click()
    await desk.page.locator(".turn").last.locator(".call summary").last.click()


async def test_a_running_command_shows_what_it_prints_and_then_how_it_ended(desk: Watched) -> None:
    desk.gateway.progress.clear()
    await desk.say("write and run")
    await desk.page.get_by_role("button", name="Allow once").click()
    live = desk.page.locator(".progress")
    await expect(live).to_have_text("collecting …\nHello, Ana")
    desk.gateway.progress.set()
    await desk.answer("It works: Hello, Ana")
    await expect(live).to_have_text("Hello, Ana")
    turn = desk.page.locator(".turn").last
    await turn.locator(".work-line").click()
    await turn.locator(".call summary").last.click()
    body = turn.locator(".call").last.locator(".call-body")
    await expect(body.locator("pre").first).to_have_text("python3 hello.py Ana")
    await expect(body.locator(".facts-line")).to_have_text("exit 0310 ms")
    await expect(body.locator("pre").last).to_have_text("Hello, Ana")


async def test_what_a_turn_wrote_is_shown_as_a_diff_and_undone(desk: Watched) -> None:
    await desk.say("write and run")
    await desk.page.get_by_role("button", name="Allow once").click()
    await desk.answer("It works: Hello, Ana")
    card = desk.page.locator(".changes")
    await expect(card.locator("header")).to_contain_text("Changed 1 file+3−0")
    await expect(card.locator("pre .plus")).to_have_count(3)
    await card.get_by_role("button", name="Undo").click()
    await expect(card.get_by_role("status")).to_have_text("hello.py is removed.")
    await expect(card.get_by_role("status")).to_be_focused()
    await expect(card.get_by_role("button", name="Undo")).to_have_count(0)
    assert len(desk.gateway.house.undone) == 1
    await desk.page.reload()
    await expect(desk.page.locator(".changes header")).to_contain_text("taken back")


async def test_nothing_can_be_undone_while_the_turn_still_runs(desk: Watched) -> None:
    await desk.say("write and run")
    await expect(desk.page.locator(".changes")).to_be_visible()
    await expect(desk.page.locator(".question")).to_be_visible()
    await expect(desk.page.get_by_role("button", name="Undo")).to_have_count(0)


async def test_what_somebody_changed_since_is_left_alone_and_named(desk: Watched) -> None:
    acted(desk, fake_data.call("w", "write", '{"path":"a.txt"}', "Wrote a.txt."))
    desk.gateway.house.wrote("t9", "a.txt", change="changed", before=1, after=2)
    desk.gateway.house.wrote("t9", "b.txt", change="changed", before=3, after=4, current=False)
    await desk.page.reload()
    await desk.page.get_by_role("button", name="Undo").click()
    await expect(desk.page.locator(".undone")).to_contain_text("a.txt is as it was before.")
    await expect(desk.page.locator(".undone .bad")).to_have_text("Left alone: b.txt was changed since.")


async def test_a_long_diff_is_folded_and_a_short_one_open(desk: Watched) -> None:
    acted(desk, fake_data.call("w", "apply_patch", "{}", "Changed two files."))
    desk.gateway.house.wrote("t9", "hello.py")
    desk.gateway.house.wrote("t9", "notes.md", fake_house.CONFIG_DIFF, change="changed", before=1, after=2)
    await desk.page.reload()
    folds = desk.page.locator(".changes .diff")
    await expect(folds).to_have_count(2)
    assert await folds.evaluate_all("all => all.map((each) => each.open)") == [True, False]
    await folds.last.locator("summary").click()
    await expect(folds.last.locator("pre .minus")).to_have_count(10)


async def test_an_invisible_character_in_a_diff_is_written_out(desk: Watched) -> None:
    acted(desk, fake_data.call("w", "write", '{"path":"a.py"}', "Wrote a.py."))
    desk.gateway.house.wrote("t9", "a.py", "--- a.py\n+++ a.py\n@@ -4,1 +4,1 @@\n-x = 1\n+x = 1 \u202e# </script><b>no\n")
    await desk.page.reload()
    await expect(desk.page.locator(".changes mark")).to_have_text("\\u{202E}")
    await expect(desk.page.locator(".changes pre .hunk")).to_have_text("⋯ line 4")
    assert await desk.page.locator(".changes pre b").count() == 0


async def test_a_fetched_page_names_the_address_it_ended_at(desk: Watched) -> None:
    details = {"url": "http://short.example/x", "final_url": "https://long.example/landing", "status": 200}
    acted(desk, fake_data.call("f", "web_fetch", '{"url":"http://short.example/x"}', "Welcome", details=details))
    await opened(desk)
    body = desk.page.locator(".call-body").last
    await expect(body.get_by_role("link")).to_have_attribute("href", "https://long.example/landing")
    await expect(body).to_contain_text("asked for http://short.example/x")
    assert not any("example" in request.url for request in desk.requests)


async def test_an_address_that_is_no_web_address_is_no_link(desk: Watched) -> None:
    acted(desk, fake_data.call("f", "web_fetch", "{}", "x", details={"final_url": "javascript:alert(1)"}))
    await opened(desk)
    assert await desk.page.locator(".call-body a").count() == 0


async def test_the_browsers_screenshot_is_shown(desk: Watched) -> None:
    digest = sha256(PNG).hexdigest()
    desk.gateway.blobs[digest] = (PNG, "image/png")
    details = {"url": "https://shop.example/", "title": "Shop", "screenshot": digest}
    acted(desk, fake_data.call("b", "browser", '{"action":"screenshot"}', "[screenshot]", details=details))
    await opened(desk)
    picture = desk.page.locator(".screenshot img")
    assert await picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1


async def test_a_failed_command_says_its_exit_code(desk: Watched) -> None:
    details = {"code": 3, "seconds": 1.2, "changes": [{"path": "out.txt", "change": "added", "diff": fake_house.DIFF}]}
    acted(desk, fake_data.call("e", "exec", '{"command":"make"}', "no rule\n[exit 3, 1.2 s]", isError=True, details=details))
    await opened(desk)
    await expect(desk.page.locator(".call-body .badge.bad")).to_have_text("exit 3")
    await expect(desk.page.locator(".call-body .diff")).to_contain_text("out.txt")


async def test_a_conversation_with_outside_and_private_text_is_marked_until_the_owner_vouches(desk: Watched) -> None:
    desk.gateway.label = LABEL
    await desk.page.reload()
    badge = desk.page.get_by_role("button", name="Outside + private")
    await badge.click()
    dialog = desk.page.get_by_role("dialog")
    await expect(dialog).to_contain_text("web:evil.example")
    await dialog.get_by_role("button", name="Cancel").click()
    assert desk.gateway.house.trusted == []
    await badge.click()
    await dialog.get_by_role("button", name="I vouch for it").click()
    await expect(badge).to_have_count(0)
    assert desk.gateway.house.trusted == [MAIN]
    await desk.page.reload()
    await desk.page.wait_for_selector(".prose")
    await expect(badge).to_have_count(0)


async def test_outside_text_alone_is_not_marked(desk: Watched) -> None:
    await desk.page.reload()
    await desk.page.wait_for_selector(".prose")
    await desk.show("health")
    await desk.show(f"chat/{MAIN}")
    await expect(desk.page.get_by_role("button", name="Outside + private")).to_have_count(0)
