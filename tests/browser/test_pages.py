"""Every page besides the chat, and what holds for all of them."""

import time

from playwright.async_api import expect

from tests.browser.conftest import MAIN, Watched
from tests.browser.fake_house import question

SHOWN = {
    "chat": ".prose",
    "sessions": ".grid-table",
    f"sessions/{MAIN}": ".turn-block",
    "vault": ".collections",
    "vault/_workspace": ".docs",
    "memory": ".memory-entry",
    "memory/unconfirmed": ".memory-entry.waits",
    "approvals": ".profiles li",
    "rules": ".tool-table tr",
    "control": ".tool-grid li",
    "audit": ".entry",
    "usage": ".plot",
    "models": ".model-list li",
    "config": ".setting",
    "devices": ".request",
    "logs": ".log-line",
    "health": ".figures",
}
PAGES = [*SHOWN]


async def test_a_phone_never_scrolls_sideways(phone: Watched) -> None:
    now = time.time()
    long = "curl --data-binary @" + "a/very/long/path" * 12
    grant = {"id": "g1", "tool": "exec", "pattern": long, "fixed": {"cwd": long}, "agent": "main", "who": "owner"}
    phone.gateway.house.grants = [{**grant, "until": now + 900, "by": "api:token", "givenAt": now}]
    phone.gateway.house.switches = [{"pattern": "group:runtime", "until": now + 900, "on": True}]
    await phone.gateway.house.ask(question("aaaa", MAIN, "t1", long))
    widths: dict[str, int] = {}
    for path in PAGES:
        await phone.show(path)
        await phone.page.wait_for_selector(f"{SHOWN[path]} >> visible=true")
        widths[path] = await phone.page.evaluate(
            "Math.max(document.documentElement.scrollWidth, ...[...document.querySelectorAll('main')].map((m) => m.scrollWidth))"
        )
    assert widths == dict.fromkeys(PAGES, 360)


async def test_on_a_phone_the_drawer_holds_conversations_and_pages(phone: Watched) -> None:
    await phone.page.get_by_role("button", name="Open menu").click()
    await phone.page.get_by_role("link", name="A web server that tells the time").click()
    await expect(phone.page.locator("h1")).to_have_text("A web server that tells the time")
    await phone.page.get_by_role("button", name="Open menu").click()
    await phone.page.get_by_role("link", name="Health").locator("visible=true").click()
    await expect(phone.page.get_by_text("All is well")).to_be_visible()
    await phone.page.get_by_role("button", name="Open menu").click()
    await phone.page.get_by_role("link", name="Usage").click()
    await expect(phone.page.get_by_role("img", name="tokens per day")).to_be_visible()


async def test_a_turn_is_opened_by_its_link_and_shows_verdicts(desk: Watched) -> None:
    await desk.show(f"sessions/{MAIN}/t1")
    await expect(desk.page.locator(".turn-block.wanted")).to_be_visible()
    await desk.page.get_by_text("Allowed web_search").click()
    await expect(desk.page.get_by_text("READ and NETWORK are allowed for the owner", exact=True)).to_be_visible()
    await desk.page.get_by_text("was refused").click()
    await expect(desk.page.locator(".event.bad .event-body")).to_contain_text("taint")
    await desk.page.locator(".event", has_text="Asked").click()
    await expect(desk.page.locator(".event", has_text="Asked")).to_contain_text("18,422")


async def test_a_turn_is_run_again_from_a_step_in_a_branch(desk: Watched) -> None:
    await desk.show(f"sessions/{MAIN}")
    await desk.page.locator(".event", has_text="Asked").click()
    await desk.page.get_by_role("button", name="Run again from here").click()
    await desk.page.get_by_role("dialog").get_by_role("button", name="Run again").click()
    await expect(desk.page.locator("h1")).to_have_text("A web server that tells the time")
    (asked,) = desk.gateway.house.rerun
    assert (asked["key"], asked["turn"], asked["step"]) == (MAIN, "t1", 1)


async def test_a_key_is_added_and_only_its_mask_is_seen_afterwards(desk: Watched) -> None:
    await desk.show("models")
    await desk.page.get_by_role("button", name="Add a key").click()
    await desk.page.get_by_label("Provider").fill("openai")
    field = desk.page.get_by_label("Key", exact=True)
    assert await field.get_attribute("type") == "password"
    await field.fill("sk-secret-0123456789")
    await desk.page.get_by_role("button", name="Save the key").click()
    await expect(desk.page.get_by_text("sk-s…6789")).to_be_visible()
    kept = await desk.page.evaluate("JSON.stringify([document.body.innerHTML, { ...localStorage }, { ...sessionStorage }])")
    assert "sk-secret-0123456789" not in kept


async def test_a_key_is_removed_after_asking(desk: Watched) -> None:
    await desk.show("models")
    await desk.page.get_by_role("button", name="Remove google:work").click()
    await desk.page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(desk.page.get_by_text("google:work")).to_have_count(0)
    assert [row["id"] for row in desk.gateway.profiles] == ["anthropic:default"]


async def test_a_setting_is_changed_in_the_form_and_comments_stay(desk: Watched) -> None:
    await desk.show("config")
    await desk.page.get_by_role("button", name="Gateway", exact=True).click()
    await desk.page.get_by_label("Port", exact=True).fill("70000")
    await expect(desk.page.get_by_text("At most 65535.")).to_be_visible()
    await expect(desk.page.get_by_role("button", name="Save")).to_be_disabled()
    await desk.page.get_by_label("Port", exact=True).fill("19000")
    await desk.page.get_by_role("button", name="Save").click()
    await expect(desk.page.get_by_text("Saved. It is in force.")).to_be_visible()
    assert "port: 19000" in desk.gateway.config_text
    assert "// The owner of this house" in desk.gateway.config_text


async def test_a_conflicting_change_is_told_and_nothing_is_lost(desk: Watched) -> None:
    await desk.show("config")
    await desk.page.get_by_role("button", name="Gateway", exact=True).click()
    await desk.page.get_by_label("Port", exact=True).fill("19000")
    desk.gateway.config_text = '{ posture: "team" }\n'
    await desk.page.get_by_role("button", name="Save").click()
    await expect(desk.page.get_by_text("The file was changed by somebody else meanwhile.")).to_be_visible()
    await expect(desk.page.get_by_label("Port", exact=True)).to_have_value("19000")
    await desk.page.get_by_role("button", name="Save").click()
    await expect(desk.page.get_by_text("Saved. It is in force.")).to_be_visible()
    assert "team" in desk.gateway.config_text
    assert "19000" in desk.gateway.config_text


async def test_an_invalid_file_is_refused_with_the_reason(desk: Watched) -> None:
    await desk.show("config")
    await desk.page.get_by_role("tab", name="Text").click()
    await desk.page.get_by_label("The configuration file").fill("{ gateway: { prot: 1 } }")
    await desk.page.get_by_role("button", name="Save").click()
    await expect(desk.page.locator(".error-note")).to_contain_text("prot")
    assert "prot: 1" not in desk.gateway.config_text


async def test_a_device_is_let_in_with_fewer_rights_than_it_asked_for(desk: Watched) -> None:
    await desk.show("devices")
    await expect(desk.page.get_by_text("417 203")).to_be_visible()
    await desk.page.get_by_role("checkbox", name="approve").uncheck()
    await desk.page.get_by_role("button", name="The codes match: let it in").click()
    await expect(desk.page.get_by_text("417 203")).to_have_count(0)
    assert desk.gateway.devices[-1]["scopes"] == ["read", "chat"]
    await desk.page.get_by_role("button", name="Send away").last.click()
    await desk.page.get_by_role("dialog").get_by_role("button", name="Send away").click()
    await expect(desk.page.locator(".profiles li")).to_have_count(2)


async def test_logs_are_filtered_by_level_and_words(desk: Watched) -> None:
    await desk.show("logs")
    await expect(desk.page.locator(".log-line.info").first).to_be_visible()
    await desk.page.get_by_role("button", name="error").click()
    await expect(desk.page.locator(".log-line.info")).to_have_count(0)
    await expect(desk.page.locator(".log-line.error").first).to_be_visible()
    await desk.page.get_by_label("Search the log").fill("no such words")
    await expect(desk.page.get_by_text("Nothing found")).to_be_visible()


async def test_usage_is_drawn_and_also_a_table(desk: Watched) -> None:
    await desk.show("usage")
    await expect(desk.page.locator(".plot rect")).to_have_count(30)
    await expect(desk.page.get_by_role("cell", name="google/gemini-3-flash")).to_be_visible()
    await desk.page.get_by_role("button", name="7 days").click()
    await expect(desk.page.locator(".plot rect")).to_have_count(7)


async def test_problems_are_said_in_words(desk: Watched) -> None:
    desk.gateway.problems = ["The disk is nearly full: 120 MB are left."]
    await desk.show("health")
    await expect(desk.page.get_by_text("One thing needs attention")).to_be_visible()
    await expect(desk.page.get_by_text("The disk is nearly full: 120 MB are left.")).to_be_visible()
