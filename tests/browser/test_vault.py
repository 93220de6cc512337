"""The vault's page and the memory's, over a real store and index."""

from urllib.parse import quote

from playwright.async_api import expect

from tests.browser.conftest import MAIN, Watched
from tests.browser.fake_gateway.vault import DAY

PLAN = "plans/winter.md"


async def open_page(at: Watched, *parts: str) -> None:
    await at.page.evaluate("hash => { location.hash = hash }", "/" + "/".join(quote(part, safe="") for part in parts))


async def text_of(at: Watched, path: str, collection: str = "_workspace") -> str:
    found = await at.gateway.vault.store.documents.get(collection, path)
    assert found is not None
    return found[1].decode()


async def test_folders_are_opened_down_to_a_document_and_its_markdown_is_shown(desk: Watched) -> None:
    await open_page(desk, "vault")
    await desk.page.locator(".collections").get_by_role("link", name="Workspace").click()
    await desk.page.locator(".docs").get_by_role("link", name="plans").click()
    await desk.page.locator(".docs").get_by_role("link", name="winter.md").click()
    await expect(desk.page.get_by_role("heading", name="Winter journey")).to_be_visible()
    await expect(desk.page.locator(".tree [aria-current=page]")).to_have_text("winter.md")
    await expect(desk.page.locator(".paper .whose")).to_contain_text("you")
    await desk.page.locator(".crumbs").get_by_role("link", name="Workspace").click()
    await expect(desk.page.locator(".docs li")).to_have_count(5)


async def test_a_phone_drills_down_and_never_scrolls_sideways(phone: Watched) -> None:
    await open_page(phone, "vault")
    await expect(phone.page.locator(".tree")).to_be_hidden()
    await phone.page.locator(".collections").get_by_role("link", name="Workspace").click()
    await phone.page.locator(".docs").get_by_role("link", name="plans").click()
    await phone.page.locator(".docs").get_by_role("link", name="winter.md").click()
    await expect(phone.page.locator(".versions li")).to_have_count(3)
    assert await phone.page.evaluate("document.querySelector('main').scrollWidth") == 360
    await phone.page.go_back()
    await expect(phone.page.locator(".docs").get_by_role("link", name="Up")).to_be_visible()


async def test_a_picture_is_shown_and_what_is_no_text_is_offered_for_download(desk: Watched) -> None:
    await desk.gateway.vault.put("_workspace", "data.bin", b"\x00\x01\xff")
    await open_page(desk, "vault", "_workspace", "pictures/dot.png")
    picture = desk.page.locator(".picture img")
    assert await picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
    await open_page(desk, "vault", "_workspace", "data.bin")
    await expect(desk.page.get_by_role("link", name="Download 3 B")).to_be_visible()


async def test_a_text_is_edited_in_place_and_the_change_taken_back(desk: Watched) -> None:
    await open_page(desk, "vault", "_workspace", "readme.md")
    await desk.page.get_by_role("button", name="Edit").click()
    await desk.page.get_by_label("Text of readme.md").fill("# Read me\n\nAll new.\n")
    await desk.page.keyboard.press("Control+s")
    await expect(desk.page.get_by_text("Saved as version 2.")).to_be_visible()
    await expect(desk.page.locator(".paper")).to_contain_text("All new.")
    await desk.page.get_by_role("button", name="Undo").click()
    await expect(desk.page.locator(".paper")).to_contain_text("What lies where.")
    assert await text_of(desk, "readme.md") == "# Read me\n\nWhat lies where.\n"


async def test_a_change_by_somebody_else_is_shown_and_nothing_is_overwritten(desk: Watched) -> None:
    await open_page(desk, "vault", "_workspace", "readme.md")
    await desk.page.get_by_role("button", name="Edit").click()
    await desk.gateway.vault.put("_workspace", "readme.md", "# Read me\n\nTheirs.\n", author="agent:main")
    field = desk.page.get_by_label("Text of readme.md")
    await field.fill("Mine.\n")
    await desk.page.get_by_role("button", name="Save").click()
    await expect(desk.page.get_by_role("alert").filter(has_text="agent:main wrote version 2")).to_be_visible()
    await expect(desk.page.locator(".compare")).to_contain_text("Theirs.")
    await expect(field).to_have_value("Mine.\n")
    assert "Theirs." in await text_of(desk, "readme.md")
    await desk.page.get_by_role("button", name="Write mine over it").click()
    await expect(desk.page.get_by_text("Saved as version 3.")).to_be_visible()
    assert await text_of(desk, "readme.md") == "Mine.\n"


async def test_any_two_versions_are_compared_in_one_column_or_two(desk: Watched) -> None:
    await open_page(desk, "vault", "_workspace", PLAN)
    await expect(desk.page.locator(".compare header")).to_contain_text("Version 2 → 3")
    await desk.page.get_by_label("Compare from version 1").check()
    await expect(desk.page.locator(".compare header")).to_contain_text("Version 1 → 3")
    await desk.page.get_by_role("button", name="Side by side").click()
    await expect(desk.page.locator(".beside .minus", has_text="seat 12")).to_be_visible()
    await desk.page.get_by_role("button", name="One column").click()
    await expect(desk.page.locator(".compare pre .plus", has_text="seat 41")).to_be_visible()


async def test_a_version_leads_to_its_turn(desk: Watched) -> None:
    await open_page(desk, "vault", "_workspace", PLAN)
    await desk.page.locator(".versions").get_by_role("link", name="the turn").click()
    await expect(desk.page.locator(".turn-block.wanted")).to_be_visible()


async def test_an_older_version_is_brought_back_after_a_preview(desk: Watched) -> None:
    await open_page(desk, "vault", "_workspace", PLAN)
    row = desk.page.locator(".versions li").nth(2)
    await row.get_by_role("button", name="Bring back").click()
    dialog = desk.page.get_by_role("dialog")
    await expect(dialog.locator(".plan")).to_contain_text("goes back to version 1")
    await dialog.get_by_role("button", name="Bring 1 document back").click()
    await expect(desk.page.locator(".versions li")).to_have_count(4)
    assert "seat 12" in await text_of(desk, PLAN)


async def test_yesterday_is_browsed_and_brought_back_whole(desk: Watched) -> None:
    await desk.gateway.vault.put("_workspace", "new.md", "of today")
    await open_page(desk, "vault", "_workspace")
    await expect(desk.page.locator(".docs").get_by_role("link", name="new.md")).to_be_visible()
    then = await desk.page.evaluate(
        "at => new Date(at - new Date(at).getTimezoneOffset() * 60000).toISOString().slice(0, 16)",
        (desk.gateway.vault.clock.now() - DAY) * 1000,
    )
    await desk.page.get_by_label("As of").fill(then)
    await desk.page.keyboard.press("Enter")
    await expect(desk.page.locator(".then")).to_be_visible()
    await expect(desk.page.locator(".docs").get_by_role("link", name="new.md")).to_have_count(0)
    await expect(desk.page.get_by_role("button", name="New")).to_have_count(0)
    await desk.page.get_by_role("button", name="Bring it back …").click()
    dialog = desk.page.get_by_role("dialog")
    await expect(dialog.locator(".plan")).to_contain_text("new.md")
    await dialog.get_by_role("button", name="documents back").click()
    await desk.page.get_by_role("button", name="Back to now").click()
    await expect(desk.page.locator(".docs").get_by_role("link", name="new.md")).to_have_count(0)
    await open_page(desk, "vault", "_workspace", PLAN)
    await expect(desk.page.locator(".paper")).to_contain_text("Skis for Ana")


async def test_a_document_is_made_moved_and_deleted_and_its_versions_stay(desk: Watched) -> None:
    await open_page(desk, "vault", "notes")
    await desk.page.get_by_role("button", name="New").click()
    await desk.page.get_by_role("textbox", name="New document").fill("garden/beds.md")
    await desk.page.get_by_role("button", name="Make it").click()
    await expect(desk.page.get_by_text("It is empty.").or_(desk.page.locator(".shown-text"))).to_be_visible()
    await desk.page.get_by_role("button", name="More about this document").click()
    await desk.page.get_by_role("menuitem", name="Move or rename").click()
    await desk.page.get_by_role("textbox", name="Move or rename").fill("garden/borders.md")
    await desk.page.get_by_role("button", name="Move", exact=True).click()
    await expect(desk.page.locator(".crumbs")).to_contain_text("borders.md")
    await desk.page.get_by_role("button", name="More about this document").click()
    await desk.page.get_by_role("menuitem", name="Delete").click()
    await desk.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(desk.page.locator(".docs").get_by_role("link", name="borders.md")).to_have_count(0)
    await open_page(desk, "vault", "notes", "garden/borders.md")
    await expect(desk.page.get_by_text("There is no such document")).to_be_visible()
    await expect(desk.page.locator(".versions li")).to_have_count(2)


async def test_everything_is_searched_with_the_reason_and_marked_words(desk: Watched) -> None:
    await open_page(desk, "vault")
    await desk.page.get_by_label("Search everything in the vault").fill("where does the quince tree stand")
    await desk.page.keyboard.press("Enter")
    first = desk.page.locator(".found").first
    await expect(first).to_contain_text("garden/trees.md")
    await expect(first.locator("mark.hit", has_text="quince")).to_be_visible()
    await expect(first).to_contain_text("words: quince, tree")
    await first.get_by_role("link").click()
    await expect(desk.page.locator(".plain-text .wanted")).to_be_visible()


async def test_a_hostile_document_stays_text(desk: Watched) -> None:
    hostile = "# x\n\n<img src=x onerror=\"document.title='owned'\">\n\n[go](javascript:alert(1)) \u202e\n"
    await desk.gateway.vault.put("notes", "<b>evil</b>.md", hostile)
    await desk.gateway.vault.put("notes", "evil.txt", f"left \u202e right {hostile}")
    await open_page(desk, "vault", "notes", "<b>evil</b>.md")
    await expect(desk.page.locator(".shown-text")).to_contain_text("onerror")
    assert await desk.page.locator(".vault img, .vault b:not(.few)").count() == 0
    assert await desk.page.locator('.vault a[href^="javascript"]').count() == 0
    await open_page(desk, "vault", "notes", "evil.txt")
    await expect(desk.page.locator(".plain-text mark").first).to_have_text("\\u{202E}")
    assert "owned" not in await desk.page.title()


async def test_who_may_only_read_is_offered_no_change(desk: Watched) -> None:
    changing = {"vault.put", "vault.restore", "vault.delete", "vault.move", "memory.write", "memory.forget", "memory.confirm"}
    desk.gateway.lacks = changing
    await desk.page.reload()
    await desk.page.wait_for_selector(".prose")
    await open_page(desk, "vault", "_workspace", PLAN)
    await expect(desk.page.locator(".versions li")).to_have_count(3)
    await expect(desk.page.get_by_role("button", name="Edit")).to_have_count(0)
    await expect(desk.page.get_by_role("button", name="Bring back")).to_have_count(0)
    await open_page(desk, "memory", "unconfirmed")
    await expect(desk.page.locator(".memory-entry")).to_have_count(2)
    await expect(desk.page.get_by_role("button", name="Confirm")).to_have_count(0)


async def test_what_waits_is_confirmed_or_forgotten(desk: Watched) -> None:
    await open_page(desk, "memory", "unconfirmed")
    entries = desk.page.locator(".memory-entry")
    await expect(entries).to_have_count(2)
    await expect(entries.first).to_contain_text("from web:recipes.example")
    await entries.first.get_by_role("button", name="Confirm", exact=True).click()
    await expect(entries).to_have_count(1)
    await entries.first.get_by_role("button", name="Forget").click()
    await expect(desk.page.get_by_text("Nothing waits for you")).to_be_visible()
    await desk.page.get_by_role("tab", name="Always").click()
    await expect(entries).to_have_count(3)
    await expect(entries.first).to_contain_text("555-0100")


async def test_an_entry_tells_where_it_came_from(desk: Watched) -> None:
    await open_page(desk, "memory", "long")
    entry = desk.page.locator(".memory-entry", has_text="locker")
    await entry.get_by_role("button", name="Why?").click()
    await expect(entry.locator("blockquote")).to_contain_text("My locker at the station is number 4711")
    await entry.get_by_role("link", name="the turn").click()
    await expect(desk.page.locator(".turn-block.wanted")).to_be_visible()


async def test_something_is_remembered_found_and_forgotten_for_ever(desk: Watched) -> None:
    await open_page(desk, "memory")
    await desk.page.get_by_role("button", name="Remember").click()
    await desk.page.get_by_label("What", exact=True).fill("The spare key hangs in the greenhouse.")
    await desk.page.get_by_role("dialog").get_by_role("button", name="Remember").click()
    await expect(desk.page.locator(".memory-entry", has_text="greenhouse")).to_be_visible()
    await desk.page.get_by_label("Search memory").fill("spare key")
    await expect(desk.page.locator(".found mark.hit", has_text="spare").first).to_be_visible()
    await desk.page.get_by_label("Search memory").fill("")
    await desk.page.get_by_role("button", name="Forget: The spare key").click()
    dialog = desk.page.get_by_role("dialog")
    await expect(dialog.locator(".plan")).to_contain_text("greenhouse")
    await dialog.get_by_role("button", name="Erase").click()
    await expect(desk.page.get_by_text("Backups made before now may hold it")).to_be_visible()
    await expect(desk.page.locator(".memory-entry", has_text="greenhouse")).to_have_count(0)
    versions = await desk.gateway.vault.store.documents.history("_memory", "MEMORY.md")
    assert [each.erased for each in versions] == [False, False, True, False]


async def test_what_was_said_is_found_among_sessions_and_from_the_keyboard(desk: Watched) -> None:
    await open_page(desk, "sessions")
    await desk.page.get_by_label("Find a session").fill("locker station")
    hit = desk.page.get_by_label("Said in conversations").locator(".found").first
    await expect(hit.locator("mark.hit").first).to_be_visible()
    await hit.get_by_role("link").click()
    await expect(desk.page.locator(".turn-block.wanted")).to_be_visible()
    await desk.page.keyboard.press("Control+k")
    await desk.page.get_by_label("Find a conversation or a page").fill("locker")
    await expect(desk.page.get_by_role("option").filter(has_text="4711")).to_be_visible()
    await desk.page.keyboard.press("Enter")
    await expect(desk.page.locator("h1")).to_have_text("Planning the trip to Vienna")
    assert await desk.page.evaluate("location.hash") == f"#/sessions/{quote(MAIN, safe='')}/t1"
