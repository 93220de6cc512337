"""The pages with which the owner rules the house: approvals, rules, control, audit."""

import time

from playwright.async_api import expect

from tests.browser.conftest import MAIN, Watched
from tests.browser.fake_house import entry, question


async def test_what_waits_anywhere_is_answered_on_one_page(desk: Watched) -> None:
    await desk.show("approvals")
    await expect(desk.page.get_by_text("Nothing waits")).to_be_visible()
    await desk.gateway.house.ask(question("aaaa", "agent:main:telegram:direct:4711", "x1", "make"))
    card = desk.page.locator(".question")
    await expect(card.get_by_role("link", name="Groceries")).to_be_visible()
    await card.get_by_role("button", name="Refuse").click()
    await expect(desk.page.locator(".answered.denied")).to_be_visible()
    await expect(desk.page.get_by_text("Nothing waits")).to_be_visible()


async def test_a_standing_yes_is_listed_with_its_end_and_taken_back(desk: Watched) -> None:
    now = time.time()
    desk.gateway.house.grants = [
        {"id": "g1", "tool": "exec", "pattern": "git status", "fixed": {"cwd": '"/w"'}, "agent": "main", "who": "owner",
         "until": now + 7250, "by": "api:token", "givenAt": now - 60}
    ]  # fmt: skip
    await desk.show("approvals")
    row = desk.page.locator(".profiles li")
    await expect(row).to_contain_text("git status")
    await expect(row).to_contain_text("2 h 1 min left")
    await row.get_by_role("button", name="Take back").click()
    await desk.page.get_by_role("dialog").get_by_role("button", name="Take back").click()
    await expect(desk.page.locator(".profiles li")).to_have_count(0)
    assert desk.gateway.house.grants == []


async def test_the_chain_of_layers_is_explained_with_the_deciding_one_marked(desk: Watched) -> None:
    await desk.show("rules")
    await desk.page.get_by_label("Tool", exact=True).fill("exec")
    await desk.page.get_by_label("Arguments").fill('{"command": "ls"}')
    await desk.page.get_by_role("button", name="Explain").click()
    await expect(desk.page.get_by_role("heading", name="A person is asked")).to_be_visible()
    await expect(desk.page.locator(".chain [aria-current=step]")).to_contain_text("confirm")
    await expect(desk.page.locator(".explained header")).to_contain_text("The layer confirm decides.")
    await expect(desk.page.locator(".explained header")).to_contain_text("exec takes no such argument.")
    await expect(desk.page.locator(".chain li")).to_have_count(11)
    await desk.page.get_by_label("The conversation holds text from outside").check()
    await desk.page.get_by_label("… and private things").check()
    await desk.page.get_by_role("button", name="Explain").click()
    await expect(desk.page.get_by_role("heading", name="It is refused")).to_be_visible()
    await expect(desk.page.locator(".chain [aria-current=step]")).to_contain_text("taint")
    asked = [params for method, params in desk.gateway.methods if method == "policy.explain"]
    assert asked[0]["arguments"] == {"command": "ls"}


async def test_arguments_that_are_no_object_are_not_sent(desk: Watched) -> None:
    await desk.show("rules")
    await desk.page.get_by_label("Tool", exact=True).fill("exec")
    await desk.page.get_by_label("Arguments").fill("ls -l")
    await desk.page.get_by_role("button", name="Explain").click()
    await expect(desk.page.locator(".problem")).to_contain_text("not a JSON object")
    assert "policy.explain" not in [method for method, _ in desk.gateway.methods]


async def test_every_tool_is_listed_with_its_effects_and_how_it_stands(desk: Watched) -> None:
    await desk.show("rules")
    await expect(desk.page.get_by_role("row", name="exec")).to_contain_text("executeasksconfirm: it cannot be taken back")
    await expect(desk.page.get_by_role("row", name="browser")).to_contain_text("hidden")
    await desk.page.get_by_role("button", name="write").click()
    await expect(desk.page.get_by_role("heading", name="It runs")).to_be_visible()


async def test_the_house_is_put_to_sleep_and_woken(desk: Watched) -> None:
    await desk.show("control")
    await desk.page.get_by_role("button", name="Sleep").click()
    await expect(desk.page.get_by_role("heading", name="The house is asleep")).to_be_visible()
    await expect(desk.page.locator(".rail .house-chip")).to_have_text("asleep")
    await desk.page.get_by_role("button", name="Wake").click()
    await expect(desk.page.get_by_role("heading", name="The house is awake")).to_be_visible()
    assert desk.gateway.house.state == "awake"


async def test_a_tool_is_switched_on_for_a_time_and_off_again(desk: Watched) -> None:
    await desk.show("control")
    await desk.page.get_by_label("Switch on", exact=True).fill("exec, group:web")
    await desk.page.get_by_label("For how long").select_option("8 hours")
    await desk.page.get_by_role("button", name="Switch on", exact=True).click()
    rows = desk.page.locator(".plain-list li")
    await expect(rows).to_have_count(2)
    await expect(rows.first).to_contain_text("on for 8 h 0 min")
    await rows.first.get_by_role("button", name="Switch off").click()
    await expect(rows).to_have_count(1)
    await desk.page.get_by_role("button", name="All off").click()
    await expect(rows).to_have_count(0)
    assert desk.gateway.house.switches == []


async def test_a_kill_is_confirmed_and_tells_what_it_stopped(desk: Watched) -> None:
    await desk.page.get_by_role("button", name="Stop everything").click()
    dialog = desk.page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Cancel").click()
    assert desk.gateway.house.state == "awake"
    await desk.show("control")
    await desk.page.locator("main").get_by_role("button", name="Stop everything").click()
    await dialog.get_by_role("button", name="Stop everything").click()
    await expect(dialog).to_contain_text("Everything is stopped")
    await expect(dialog.locator("li")).to_have_text(["2 turns stopped", "1 queued message stopped", "3 processes stopped"])
    await dialog.locator("footer").get_by_role("button", name="Close").click()
    await expect(desk.page.get_by_role("heading", name="The house is stopped")).to_be_visible()


async def test_a_kill_that_is_not_done_yet_says_so(desk: Watched) -> None:
    desk.gateway.house.unfinished = ["processes: one did not end"]
    await desk.show("control")
    await expect(desk.page.get_by_text("processes: one did not end")).to_be_visible()


async def test_the_audit_log_is_filtered_followed_and_opened(desk: Watched) -> None:
    await desk.show("audit")
    await expect(desk.page.locator(".entry")).to_have_count(40)
    await desk.page.get_by_label("Kind").select_option("approvals")
    await expect(desk.page.locator(".entry")).to_have_count(10)
    desk.gateway.house.entries.append(entry(41))
    desk.gateway.house.entries.append(entry(42))
    await expect(desk.page.locator(".entry")).to_have_count(12)
    await desk.page.locator(".entry summary").first.click()
    await expect(desk.page.locator(".entry-body").first.get_by_role("link", name=MAIN)).to_be_visible()


async def test_the_chain_is_verified_and_a_broken_one_is_named(desk: Watched) -> None:
    await desk.show("audit")
    await desk.page.get_by_role("button", name="Verify").click()
    await expect(desk.page.get_by_text("The chain holds over all 40 entries.")).to_be_visible()
    desk.gateway.house.broken = "Entry 17 was changed."
    await desk.page.get_by_role("button", name="Verify").click()
    await expect(desk.page.get_by_text("Entry 17 was changed.")).to_be_visible()


async def test_pages_of_a_gateway_without_them_are_not_offered(desk: Watched) -> None:
    desk.gateway.lacks = {"audit.list", "policy.explain"}
    await desk.page.reload()
    await desk.page.wait_for_selector(".prose")
    await expect(desk.page.get_by_role("link", name="Audit")).to_have_count(0)
    await desk.show("rules")
    await expect(desk.page.locator(".tool-table")).to_be_visible()
    await expect(desk.page.get_by_role("button", name="Explain")).to_have_count(0)


async def test_a_house_moved_elsewhere_is_followed_at_once(desk: Watched) -> None:
    chip = desk.page.locator(".rail .house-chip")
    await expect(chip).to_have_text("awake")
    await desk.gateway.house.changed_elsewhere("dormant")
    await expect(chip).to_have_text("asleep")
    await desk.show("control")
    await expect(desk.page.get_by_text("Wake it first.")).to_be_visible()
    await desk.gateway.house.changed_elsewhere("awake")
    await expect(desk.page.get_by_role("heading", name="The house is awake")).to_be_visible()


async def test_nothing_is_left_to_stop_in_a_house_that_is_stopped(desk: Watched) -> None:
    stop = desk.page.locator(".rail").get_by_role("button", name="Stop everything")
    await expect(stop).to_be_visible()
    await desk.gateway.house.changed_elsewhere("shutdown")
    await expect(stop).to_have_count(0)
    await desk.page.locator("main").get_by_role("button", name="Wake").click()
    await expect(stop).to_be_visible()
    assert desk.gateway.house.state == "awake"


async def test_a_single_tool_and_a_group_are_switched_with_one_press(desk: Watched) -> None:
    await desk.show("control")
    await desk.page.get_by_label("For how long").select_option("until it sleeps")
    await desk.page.get_by_role("button", name="Switch on exec").click()
    await desk.page.get_by_role("button", name="group:web").click()
    rows = desk.page.locator(".plain-list li")
    await expect(rows).to_have_text(["execon until it sleepsSwitch off", "group:webon until it sleepsSwitch off"])
    await desk.page.locator(".tool-grid").get_by_role("button", name="Switch off exec").click()
    await expect(rows).to_have_count(1)


async def test_the_audit_log_is_narrowed_by_outcome_words_and_time(desk: Watched) -> None:
    await desk.show("audit")
    rows = desk.page.locator(".entry")
    await expect(rows).to_have_count(40)
    await desk.page.get_by_label("Outcome").select_option("refused or failed")
    await expect(rows).to_have_count(5)
    await expect(desk.page.get_by_role("status").filter(has_text="entries")).to_have_text("5 entries")
    await desk.page.get_by_label("Find in the entries").fill("nobody said this")
    await expect(desk.page.get_by_text("Nothing of this kind yet")).to_be_visible()
    await desk.page.get_by_role("button", name="Show everything").click()
    await expect(rows).to_have_count(40)
    bars = desk.page.locator(".what-when .stack[tabindex]")
    await bars.last.press("Enter")
    await expect(bars.last).to_have_attribute("aria-pressed", "true")
    await expect(rows).not_to_have_count(40)
    await bars.last.press("Enter")
    await expect(rows).to_have_count(40)
